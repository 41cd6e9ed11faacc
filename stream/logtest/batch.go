package logtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/stream"
)

var batchCases = map[string]func(*testing.T, Backend){
	"repeat changes nothing":               repeatedBatch,
	"only the next number applies":         wrongNumber,
	"position, version and lengths":        wrongExpectation,
	"another epoch is fenced":              fencedBatch,
	"another incarnation is fenced":        wrongIncarnation,
	"a session without head is fenced":     headMissing,
	"entries alone leave the document":     entriesAlone,
	"a missing log is a conflict":          logMissing,
	"what no store could apply is refused": malformedChange,
}

// A settlement whose answer was lost is sent again and counts once.
// contract: C13
func repeatedBatch(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	s := o.settle("completed", "hello")
	o.done(s)
	o.refused(s.Change, stream.StatusRepeat)
	o.done(o.send("k2", "again")) // an older one is a repeat too
	o.refused(s.Change, stream.StatusRepeat)
}

// A batch from a forgotten past or from beyond a lost one does not apply.
func wrongNumber(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	s := o.settle("completed", "hello")
	s.N++
	require.Equal(t, "batch", o.refused(s.Change, stream.StatusConflict).Reason)
}

// A change that was planned on another state than the stored one does not apply.
// contract: A10
func wrongExpectation(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	for what, spoil := range map[string]func(c *stream.Change){
		"position": func(c *stream.Change) { c.At = c.At.Next(); c.Entries[0].ID = c.At.Next() },
		"version":  func(c *stream.Change) { c.Expect.Version++ },
		"rows":     func(c *stream.Change) { c.Expect.Rows++; c.Edit.Rows.Before++; c.Edit.Rows.Keep++ },
		"context":  func(c *stream.Change) { c.Expect.Context++; c.Edit.Context.Before++; c.Edit.Context.Keep++ },
	} {
		s := o.settle("completed", "hello")
		spoil(s.Change)
		require.Equal(t, what, o.refused(s.Change, stream.StatusConflict).Reason)
	}
	// An append that the owner does not know of moved the top.
	require.Equal(t, stream.AppendDone, o.append(o.at.Next(), "x").Status)
	require.Equal(t, "position", o.refused(o.settle("completed", "hello").Change, stream.StatusConflict).Reason)
}

// An owner that was replaced writes nothing, and learns by whom.
// contract: C5
// case: FC16
func fencedBatch(t *testing.T, b Backend) {
	old := newOwner(t, b)
	old.done(old.send("k1", "hi"))
	old.done(old.settle("completed", "hello"))
	late := old.send("k2", "late")
	next := acquire(t, b, old.key, old.doc)
	require.Equal(t, next.epoch, old.refused(late.Change, stream.StatusFenced).Epoch)
	next.done(next.send("k3", "mine"))
	require.Equal(t, next.epoch, old.refused(late.Change, stream.StatusFenced).Epoch)
}

// A life of the log that is over takes no writes.
func wrongIncarnation(t *testing.T, b Backend) {
	o := newOwner(t, b)
	s := o.send("k1", "hi")
	s.Incarnation = "0123456789abcdef"
	o.refused(s.Change, stream.StatusFenced)
}

// A record that is missing refuses; it never permits.
// contract: C6
func headMissing(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.key = newKey()
	require.Zero(t, o.refused(o.send("k1", "hi").Change, stream.StatusFenced).Epoch)
}

// A restated entry goes into the log without touching the document or the run.
func entriesAlone(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	before := o.read(stream.Query{})
	o.done(accepted{Change: o.change(stream.KindRestated, `{"run":"r"}`)})
	after := o.read(stream.Query{})
	require.Equal(t, before.Document, after.Document)
	require.Equal(t, before.Head.Run, after.Head.Run)
	require.Equal(t, before.Head.Start, after.Head.Start)
	require.Equal(t, o.at, after.Top)
	o.done(o.settle("completed", "hello"))
}

// A log that vanished is not begun again in silence.
func logMissing(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	require.NoError(t, b.Do(t.Context(), "DEL", "hf1:{"+o.key.String()+"}:log"))
	require.Equal(t, "log missing", o.refused(o.settle("completed", "x").Change, stream.StatusConflict).Reason)
}

// A change that contradicts itself is a fault of the caller and is not sent.
func malformedChange(t *testing.T, b Backend) {
	o := newOwner(t, b)
	for what, spoil := range map[string]func(c *stream.Change){
		"hole":              func(c *stream.Change) { c.Entries[0].ID = c.Entries[0].ID.Next() },
		"other epoch":       func(c *stream.Change) { c.Entries[0].ID.Epoch++ },
		"marker":            func(c *stream.Change) { c.Entries[0].Kind = stream.KindMarker },
		"trim beyond all":   func(c *stream.Change) { c.Trim = c.Entries[0].ID.Next() },
		"no batch":          func(c *stream.Change) { c.N = 0 },
		"no key":            func(c *stream.Change) { c.Accept.Key = "" },
		"another run":       func(c *stream.Change) { c.Accept.Run = hexID() },
		"settles nothing":   func(c *stream.Change) { c.Settle = &stream.Settle{} },
		"keeps too much":    func(c *stream.Change) { c.Edit.Rows.Keep++ },
		"patches nothing":   func(c *stream.Change) { c.Edit.Rows.Patch = "x" },
		"other length":      func(c *stream.Change) { c.Expect.Rows = 7 },
		"edits, no version": func(c *stream.Change) { c.Accept, c.Edit.Version = nil, 0 },
	} {
		s := o.send("k1", "hi")
		spoil(s.Change)
		unchanged(t, b, o.key, func() {
			_, err := b.Store.Write(t.Context(), o.key, s.Change)
			require.Error(t, err, what)
		})
	}
}
