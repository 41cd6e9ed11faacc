package logtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/stream"
)

var appendCases = map[string]func(*testing.T, Backend){
	"an id is taken once":                appendOnce,
	"a marker fences":                    appendFenced,
	"a missing log is not made":          appendMissing,
	"the check sees a hole":              checkHole,
	"the check sees who came":            checkFenced,
	"many sessions at once":              appendMany,
	"any bytes":                          appendBytes,
	"the count says which check is good": appendCounted,
}

// A token that is sent again is in the log once.
// contract: E4
func appendOnce(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	o.token("a")
	o.notAppended(o.at, "a")
	require.Equal(t, []string{"0 m", "1 s", "2 t"}, o.log())
}

// A writer that was replaced appends nothing from the moment its successor has the lease.
// contract: C5
// case: FC21
func appendFenced(t *testing.T, b Backend) {
	old := newOwner(t, b)
	old.done(old.send("k1", "hi"))
	old.done(old.settle("completed", "x"))
	next := acquire(t, b, old.key, old.doc)
	unchanged(t, b, old.key, func() { old.notAppended(old.at.Next(), "late") })
	next.done(next.send("k2", "more"))
	next.token("mine")
	old.notAppended(stream.EntryID{Epoch: old.epoch, Seq: 99}, "late")
}

// An append never brings a session to life.
func appendMissing(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.key = newKey()
	unchanged(t, b, o.key, func() { o.notAppended(stream.EntryID{Epoch: o.epoch, Seq: 1}, "x") })
}

// A log that lost its end under its owner takes the next token; the check shows the hole before it.
func checkHole(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	o.token("a")
	o.token("b")
	tail := o.check()
	require.Equal(t, o.at, tail.Top)
	require.Equal(t, stream.EntryID{Epoch: o.epoch, Seq: o.at.Seq - 1}, tail.Prev)
	require.False(t, tail.TopMarker)
	require.NoError(t, b.Do(t.Context(), "XDEL", "hf1:{"+o.key.String()+"}:log", o.at.String()))
	o.token("c") // accepted, behind the hole
	tail = o.check()
	require.Equal(t, o.at, tail.Top)
	require.NotEqual(t, tail.Top, tail.Prev.Next(), "the last two do not follow each other")
}

// The check shows a new owner, its marker, the run and the batch.
func checkFenced(t *testing.T, b Backend) {
	o := newOwner(t, b)
	tail := o.check()
	require.True(t, tail.TopMarker)
	require.Zero(t, tail.Prev)
	require.Zero(t, tail.Version)
	o.done(o.send("k1", "hi"))
	tail = o.check()
	require.Equal(t, o.inc, tail.Incarnation)
	require.Equal(t, o.epoch, tail.Epoch)
	require.Equal(t, o.doc.Active.Run, tail.Run)
	require.EqualValues(t, 1, tail.Batch)
	require.EqualValues(t, 1, tail.Version)
	require.True(t, tail.PrevMarker)
	o.done(o.settle("completed", "x"))
	next := acquire(t, b, o.key, o.doc)
	tail = o.check()
	require.Equal(t, next.epoch, tail.Epoch)
	require.Equal(t, next.at, tail.Top)
	require.True(t, tail.TopMarker)
	require.Zero(t, tail.Batch)
}

// Sessions share one writer and still each have all of their tokens in order.
// contract: E4
func appendMany(t *testing.T, b Backend) {
	const owners, tokens = 40, 25
	all := make([]*owner, owners)
	ended := make(chan bool, owners)
	for i := range all {
		o := newOwner(t, b)
		o.done(o.send("k1", "hi"))
		all[i] = o
	}
	for _, o := range all {
		left := tokens
		id := o.at
		var next func(r stream.AppendResult)
		next = func(r stream.AppendResult) {
			if r.Status != stream.AppendDone || left == 0 {
				ended <- r.Status == stream.AppendDone
				return
			}
			left--
			id = id.Next()
			b.Store.Append(o.key, stream.Entry{ID: id, Kind: stream.KindText, Data: o.key.Session}, next)
		}
		next(stream.AppendResult{Status: stream.AppendDone})
	}
	for range all {
		require.True(t, await(t, ended))
	}
	for _, o := range all {
		entries := o.page().Entries
		require.Len(t, entries, tokens+2)
		for i, e := range entries[2:] {
			require.EqualValues(t, i+2, e.ID.Seq)
			require.Equal(t, o.key.Session, e.Data)
		}
	}
}

// Text comes back as it went in.
func appendBytes(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	texts := []string{" ", "\r\n$5\r\n", "日本語", "\"}\\", strings.Repeat("x", 300_000)}
	for _, s := range texts {
		o.token(s)
	}
	for i, e := range o.page().Entries[2:] {
		require.Equal(t, texts[i], e.Data)
	}
}

// While the writer's connection holds, its appends are as good as the last check.
func appendCounted(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	tail := o.check()
	require.Positive(t, tail.Conn)
	require.Equal(t, tail.Conn, o.append(o.at.Next(), "a").Conn)
	require.Equal(t, tail.Conn, o.check().Conn)
}
