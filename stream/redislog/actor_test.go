package redislog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/logtest"
)

// actor is the owner of one session, as short as these tests need it.
type actor struct {
	t     testing.TB
	b     logtest.Backend
	key   regen.Key
	inc   string
	epoch ownership.Epoch
	n     uint64
	at    stream.EntryID
	ver   uint64
	run   string
}

func hexID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

func stopOf(key string) stream.Stop { return stream.Stop{Of: key} }

func newActor(t testing.TB, b logtest.Backend) *actor {
	t.Helper()
	a := &actor{t: t, b: b, key: regen.Key{Tenant: "t", Session: "s" + hexID()}}
	g, err := b.Leases.Acquire(t.Context(), ownership.Request{
		Key: a.key.String(), Node: "n", Proc: "p", Req: hexID(), TTL: time.Minute, Incarnation: hexID()[:16],
	})
	require.NoError(t, err)
	a.inc, a.epoch, a.at = g.Incarnation, g.Epoch, stream.EntryID{Epoch: g.Epoch, Seq: g.Seq}
	return a
}

// change makes the next batch: one entry, no row.
func (a *actor) change(kind stream.Kind) *stream.Change {
	return &stream.Change{
		Batch: stream.Batch{
			Incarnation: a.inc, Epoch: a.epoch, N: a.n + 1, At: a.at,
			Entries: []stream.Entry{{ID: a.at.Next(), Kind: kind, Data: "{}"}},
		},
		Expect: stream.Expect{Version: a.ver},
		Edit:   regen.Edit{Version: a.ver + 1, RowsVersion: a.ver + 1, Revision: "r"},
	}
}

func (a *actor) acceptance(key string) *stream.Change {
	c := a.change(stream.KindStarted)
	run := hexID()
	c.Start = a.at
	c.Accept = &stream.Accept{Run: run, Key: key, Hash: "h", Receipt: stream.Receipt{Session: a.key.Session, Run: run}}
	c.Edit.Run, c.Edit.Active = run, &regen.Active{Run: run, StartedAt: 1}
	return c
}

func (a *actor) settlement() *stream.Change {
	c := a.change(stream.KindSettled)
	c.Settle = &stream.Settle{Run: a.run}
	return c
}

func (a *actor) accept(key string) { a.t.Helper(); a.must(a.acceptance(key)) }
func (a *actor) settle()           { a.t.Helper(); a.must(a.settlement()) }

func (a *actor) must(c *stream.Change) {
	a.t.Helper()
	r, err := a.b.Store.Write(a.t.Context(), a.key, c)
	require.NoError(a.t, err)
	require.Equal(a.t, stream.StatusDone, r.Status, "%+v", r)
	a.moved(c)
}

func (a *actor) moved(c *stream.Change) {
	a.n, a.at, a.ver, a.run = c.N, c.Entries[len(c.Entries)-1].ID, c.Edit.Version, c.Edit.Run
}

func (a *actor) append(id stream.EntryID, data string) stream.AppendResult {
	a.t.Helper()
	got := make(chan stream.AppendResult, 1)
	a.b.Store.Append(a.key, stream.Entry{ID: id, Kind: stream.KindText, Data: data}, func(r stream.AppendResult) { got <- r })
	return await(a.t, got)
}

func (a *actor) token(data string) stream.AppendResult {
	a.t.Helper()
	r := a.append(a.at.Next(), data)
	require.Equal(a.t, stream.AppendDone, r.Status, "%v", r.Err)
	a.at = a.at.Next()
	return r
}

func (a *actor) read() stream.Snapshot {
	a.t.Helper()
	s, err := a.b.Store.Read(a.t.Context(), a.key, stream.Query{})
	require.NoError(a.t, err)
	return s
}

func (a *actor) check() stream.Tail {
	a.t.Helper()
	tail, err := a.b.Store.Check(a.t.Context(), a.key)
	require.NoError(a.t, err)
	return tail
}

func await[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		require.Fail(t, "nothing came")
	}
	return v
}
