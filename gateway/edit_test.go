package gateway_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
)

// Every edit comes to the engine as it was said, and its answer names no run where none began.
func TestEditsReachTheEngine(t *testing.T) {
	s := newSite(t, nil)
	var got regen.Command
	s.engine.do = func(_ context.Context, key regen.Key, cmd regen.Command) (stream.Receipt, error) {
		got = cmd
		return stream.Receipt{Session: key.Session, Cursor: "inc.1:0", Revision: "r2"}, nil
	}
	p := s.dial(nil)
	for in, want := range map[string]regen.Command{
		`{"id":1,"op":"undo","session":"s1","key":"k","revision":"r"}`:                            {Op: regen.OpUndo, Key: "k", Revision: "r"},
		`{"id":1,"op":"truncate","session":"s1","key":"k","revision":"r","row":"u1"}`:             {Op: regen.OpTruncate, Key: "k", Revision: "r", Row: "u1"},
		`{"id":1,"op":"truncate","session":"s1","key":"k","revision":"r","keep":3}`:               {Op: regen.OpTruncate, Key: "k", Revision: "r", Keep: 3},
		`{"id":1,"op":"clear","session":"s1","key":"k","revision":"r"}`:                           {Op: regen.OpClear, Key: "k", Revision: "r"},
		`{"id":1,"op":"select","session":"s1","key":"k","revision":"r","turn":"t","variant":"v"}`: {Op: regen.OpSelect, Key: "k", Revision: "r", Turn: "t", Variant: "v"},
		`{"id":1,"op":"rename","session":"s1","key":"k","title":"T"}`:                             {Op: regen.OpRename, Key: "k", Title: "T"},
	} {
		p.send(in)
		p.expect(`{"re":1,"ok":{"session":"s1","revision":"r2","cursor":"inc.1:0","repeat":false}}`)
		assert.Equal(t, want, got, in)
	}
	assert.Zero(t, s.hub.readers(), "an edit without a run attaches nothing")
}

// What an edit cannot do is told as what it is.
// contract: F4
func TestEditRefusals(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	for _, why := range []error{regen.ErrNoRow, regen.ErrNoTurn, regen.ErrCount, regen.ErrNoVariant} {
		s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) { return stream.Receipt{}, why }
		p.send(`{"id":1,"op":"undo","session":"s1","revision":"r"}`)
		assert.Contains(t, p.next().raw, `"code":"bad_request","status":400`, why)
	}
}

// A reloaded page can show the answers that were replaced; nothing private is in them.
func TestReadVariants(t *testing.T) {
	s := newSite(t, nil)
	user := regen.Row{ID: "u1", Turn: "t1", Role: regen.RoleUser, Content: regen.Text("q"), Variants: []string{"v1", "v2"}}
	doc, _, err := regen.NewDocument("s1", regen.Fields{}, []regen.Row{user}, nil)
	require.NoError(t, err)
	s.reader.read = func(_ regen.Key, q stream.Query) (stream.Snapshot, error) {
		snap := stream.Snapshot{Head: stream.Head{Version: 1}, Document: doc, Total: 1}
		if len(q.Variants) > 0 {
			assert.Equal(t, []string{"v1", "v2"}, q.Variants)
			rows := []regen.Row{{ID: "a1", Turn: "t1", Role: regen.RoleAssistant, Content: regen.Text("one"), Token: "secret"}}
			snap.Variants = map[string]regen.VariantRecord{"v2": {ID: "v2", Turn: "t1", Run: run1, At: 5, Rows: rows}}
		}
		return snap, nil
	}
	for turn, want := range map[string]string{
		"t1": `{"session":"s1","turn":"t1","variants":[{"id":"v2","run":"` + run1 + `","at":5,"rows":[{"id":"a1","turn":"t1","role":"assistant","content":"one","at":0}]}]}`,
		"t9": `{"session":"s1","turn":"t9","variants":[]}`,
	} {
		res, body := s.call("GET", "/v1/sessions/s1/variants/"+turn, "", nil)
		assert.Equal(t, 200, res)
		assert.NotContains(t, body, "secret")
		assert.JSONEq(t, want, body)
	}
}
