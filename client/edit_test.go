package client_test

import (
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"holdfast/client"
	"holdfast/gateway/wire"
)

// Each edit says what it is about, and its receipt does not move the cursor of a session that is followed.
func TestEdits(t *testing.T) {
	got := make(chan wire.Command, 8)
	s := serve(t, func(ws *websocket.Conn, c wire.Command) {
		got <- c
		say(ws, string(wire.AppendReceipt(nil, c.ID, &wire.Receipt{Session: c.Session, Revision: "r2", Cursor: "x.1:3"})))
	})
	c := s.dial(client.Options{Cursors: map[string]string{"s1": "x.1:9"}})
	ctx := t.Context()
	keep := 2
	for _, call := range []struct {
		do   func() (client.Receipt, error)
		want wire.Command
	}{
		{func() (client.Receipt, error) { return c.Undo(ctx, "s1", "r", "k") }, wire.Command{Op: wire.OpUndo, Revision: "r"}},
		{func() (client.Receipt, error) { return c.Truncate(ctx, "s1", "u1", "r", "k") }, wire.Command{Op: wire.OpTruncate, Row: "u1", Revision: "r"}},
		{func() (client.Receipt, error) { return c.TruncateTo(ctx, "s1", 2, "r", "k") }, wire.Command{Op: wire.OpTruncate, Keep: &keep, Revision: "r"}},
		{func() (client.Receipt, error) { return c.Clear(ctx, "s1", "r", "k") }, wire.Command{Op: wire.OpClear, Revision: "r"}},
		{func() (client.Receipt, error) { return c.Select(ctx, "s1", "t", "v", "r", "k") }, wire.Command{Op: wire.OpSelect, Turn: "t", Variant: "v", Revision: "r"}},
		{func() (client.Receipt, error) { return c.Rename(ctx, "s1", "T", "k") }, wire.Command{Op: wire.OpRename, Title: "T"}},
		{func() (client.Receipt, error) {
			return c.Edit(ctx, "s1", "u1", "hi", "r", client.SendOptions{Key: "k"})
		}, wire.Command{Op: wire.OpEdit, Row: "u1", Content: []byte(`"hi"`), Revision: "r"}},
	} {
		rec, err := call.do()
		require.NoError(t, err)
		require.Equal(t, "r2", rec.Revision)
		require.Equal(t, "k", rec.Key)
		sent := <-got
		call.want.ID, call.want.Session, call.want.Key = sent.ID, "s1", "k"
		require.Equal(t, call.want, sent)
	}
	require.Equal(t, "x.1:9", c.Cursor("s1"))
}
