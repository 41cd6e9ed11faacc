package logtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
)

var guardCases = map[string]func(*testing.T, Backend){
	"only the active run settles":            notOwner,
	"a stop is stronger than any other end":  stopWins,
	"one run at a time":                      busySession,
	"a settlement and an acceptance at once": settleAndAccept,
	"a known command gets its receipt":       knownCommand,
	"receipts have two generations":          generations,
	"an edit has a receipt without a run":    editGuard,
	"a title passes while a run is active":   titleDuringRun,
}

// A run that was replaced, or whose record is missing, cannot write its answer.
// contract: C2, C4
// case: FC18
func notOwner(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	stale := o.settle("completed", "old answer")
	o.done(o.settle("completed", "first"))
	stale.Batch, stale.Expect = o.change(stream.KindSettled, "{}").Batch, o.change(stream.KindSettled, "").Expect
	stale.Edit.Rows = regen.ListEdit{Before: stale.Expect.Rows, Keep: stale.Expect.Rows}
	stale.Edit.Context = regen.ListEdit{Before: stale.Expect.Context, Keep: stale.Expect.Context}
	require.Empty(t, o.refused(stale.Change, stream.StatusNotOwner).Run, "idle refuses")
	o.done(o.send("k2", "more"))
	stale.Batch, stale.Expect = o.change(stream.KindSettled, "{}").Batch, o.change(stream.KindSettled, "").Expect
	stale.Edit.Rows = regen.ListEdit{Before: stale.Expect.Rows, Keep: stale.Expect.Rows}
	stale.Edit.Context = regen.ListEdit{Before: stale.Expect.Context, Keep: stale.Expect.Context}
	require.Equal(t, o.doc.Active.Run, o.refused(stale.Change, stream.StatusNotOwner).Run)

	require.NoError(t, b.Do(t.Context(), "HDEL", "hf1:{"+o.key.String()+"}:head", "run"))
	require.Empty(t, o.refused(o.settle("completed", "x").Change, stream.StatusNotOwner).Run)
}

// Once a stop was acknowledged the answer cannot end as completed, whoever settles it.
// contract: C16
func stopWins(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	run := o.doc.Active.Run
	r, err := b.Store.Cancel(t.Context(), o.key, stream.Stop{Run: run, Who: "me"})
	require.NoError(t, err)
	require.Equal(t, stream.StopResult{Answer: stream.StopAccepted, Run: run, Seq: o.at.Seq}, r)
	o.refused(o.settle("completed", "x").Change, stream.StatusStopped)
	o.refused(o.settle("failed", "").Change, stream.StatusStopped)
	o.done(o.settle("cancelled", "x"))
	require.NoError(t, b.Do(t.Context(), "HINCRBY", "hf1:{"+o.key.String()+"}:cancel", run, 1), "the record went with its run")
	o.done(o.send("k2", "more"))
	o.done(o.settle("completed", "y"))
}

// A second prompt during an answer is refused and names the run.
// contract: B1
func busySession(t *testing.T, b Backend) {
	o := newOwner(t, b)
	idle := o.doc
	o.done(o.send("k1", "hi"))
	active := o.doc
	o.doc = idle // a plan made on an old read
	s := o.send("k2", "second")
	s.Expect = stream.Expect{Version: active.Version, Rows: 1, Context: 1}
	s.Edit.Rows, s.Edit.Context = regen.ListEdit{Before: 1, Keep: 1}, regen.ListEdit{Before: 1, Keep: 1}
	require.Equal(t, active.Active.Run, o.refused(s.Change, stream.StatusBusy).Run)
}

// Recovery ends one run and starts the next with nothing between.
func settleAndAccept(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	first := o.settle("interrupted", "half")
	o.doc = first.doc
	o.at = o.at.Next()
	second := o.send("k2", "go on")
	both, started := second, second.Entries
	both.Batch = first.Batch
	both.Entries = append(both.Entries, started...)
	both.Expect, both.Settle = first.Expect, first.Settle
	both.Edit = first.Edit.Then(second.Edit)
	o.done(both)
	got := o.read(stream.Query{})
	require.Equal(t, second.Accept.Run, got.Head.Run)
	require.Equal(t, first.Settle.Run, got.Head.Last)
	require.Equal(t, o.doc, got.Document)
	require.Equal(t, o.doc.Revision(), got.Head.Revision)
}

// The same command again gets its first receipt: from its owner, and from an owner that came after.
// case: FC07
func knownCommand(t *testing.T, b Backend) {
	o := newOwner(t, b)
	s := o.send("k1", "hi")
	o.done(s)
	want := &stream.Known{Run: s.Accept.Run, Hash: "h-hi", Receipt: s.Accept.Receipt}
	require.Equal(t, want, o.refused(s.Change, stream.StatusKnown).Known)
	require.Equal(t, want, o.read(stream.Query{CommandKey: "k1", HeadOnly: true}).Known)
	require.Nil(t, o.read(stream.Query{CommandKey: "k2"}).Known)
	o.done(o.settle("completed", "x"))

	next := acquire(t, b, o.key, o.doc)
	require.Equal(t, want, o.refused(s.Change, stream.StatusKnown).Known, "the old owner's repeat under its old epoch")
	again := next.send("k1", "hi")
	require.Equal(t, want, next.refused(again.Change, stream.StatusKnown).Known)
}

// Old receipts make room in two steps, so the newest thousand are always known.
func generations(t *testing.T, b Backend) {
	o := newOwner(t, b)
	keys := "hf1:{" + o.key.String() + "}:keys"
	o.done(o.send("first", "hi"))
	o.done(o.settle("completed", "x"))
	fill := func(from, to int) {
		args := []any{"HSET", keys}
		for i := from; i < to; i++ {
			args = append(args, fmt.Sprintf("f%d", i), "r h {}")
		}
		require.NoError(t, b.Do(t.Context(), args...))
	}
	fill(0, 999)
	o.done(o.send("second", "hi")) // the thousandth moves the others into the second generation
	o.done(o.settle("completed", "x"))
	for _, known := range []string{"first", "f0", "second"} {
		require.NotNil(t, o.read(stream.Query{CommandKey: known}).Known, known)
	}
	o.refused(o.send("first", "hi").Change, stream.StatusKnown)
	fill(1000, 1999)
	o.done(o.send("third", "hi"))
	require.Nil(t, o.read(stream.Query{CommandKey: "first"}).Known)
	require.NotNil(t, o.read(stream.Query{CommandKey: "second"}).Known)
	require.NotNil(t, o.read(stream.Query{CommandKey: "third"}).Known)
}

// edit makes a change without a run under a command's key.
func (o *owner) edit(cmd regen.Command) accepted {
	o.t.Helper()
	o.clock++
	if cmd.Op != regen.OpRename {
		cmd.Revision = o.doc.Revision()
	}
	p, err := o.doc.Plan(cmd)
	require.NoError(o.t, err)
	c, err := p.Commit(regen.Mint{Generation: hexID(), At: o.clock})
	require.NoError(o.t, err)
	ch := o.change(stream.KindSession, mustJSON(o.t, stream.SessionChange{Change: "rows", Keep: c.Keep}))
	ch.Edit = c.Edit
	ch.Accept = &stream.Accept{
		Edit: hexID(), Key: cmd.Key, Hash: "h", Anytime: cmd.Op == regen.OpRename,
		Receipt: stream.Receipt{Session: o.key.Session, Cursor: stream.Cursor{Incarnation: o.inc, ID: o.at}.String(), Revision: c.Edit.Revision},
	}
	return accepted{ch, c.Document}
}

// An edit is done once under its key, leaves the session idle and cannot be stopped; during a run it is refused whole.
// contract: F3, F4
// case: FC07
func editGuard(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	o.done(o.settle("completed", "hello"))
	e := o.edit(regen.Command{Op: regen.OpClear, Key: "k2"})
	o.done(e)
	want := &stream.Known{Edit: e.Accept.Edit, Hash: "h", Receipt: e.Accept.Receipt}
	require.Equal(t, want, o.refused(e.Change, stream.StatusKnown).Known)
	got := o.read(stream.Query{CommandKey: "k2"})
	require.Equal(t, want, got.Known)
	require.Zero(t, got.Total, "keeping none keeps none (ATTACKS 21)")
	require.Empty(t, got.Document.Context)
	require.Empty(t, got.Head.Run)
	require.Equal(t, o.doc.Revision(), got.Head.Revision)
	stop, err := b.Store.Cancel(t.Context(), o.key, stream.Stop{Of: "k2"})
	require.NoError(t, err)
	require.Equal(t, stream.StopResult{Answer: stream.StopLate, Seq: o.at.Seq}, stop)

	idle := o.doc
	o.done(o.send("k3", "more"))
	active := o.doc
	o.doc = idle // a plan made on an old read
	e = o.edit(regen.Command{Op: regen.OpClear, Key: "k4"})
	e.Expect = stream.Expect{Version: active.Version, Rows: 1, Context: 1}
	e.Edit.Rows, e.Edit.Context = regen.ListEdit{Before: 1}, regen.ListEdit{Before: 1}
	require.Equal(t, active.Active.Run, o.refused(e.Change, stream.StatusBusy).Run)
}

// A stop sent for the key of an edit before it came stops nothing.
func titleDuringRun(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	run := o.doc.Active
	_, err := b.Store.Cancel(t.Context(), o.key, stream.Stop{Of: "k2"})
	require.NoError(t, err)
	e := o.edit(regen.Command{Op: regen.OpRename, Key: "k2", Title: "Chosen"})
	require.False(t, o.done(e).Stopped)
	got := o.read(stream.Query{CommandKey: "k2"})
	require.Equal(t, run, got.Head.Active)
	require.Equal(t, "Chosen", got.Document.Fields.Title)
	require.Empty(t, got.Known.Run)
	o.done(o.settle("completed", "x"))
}
