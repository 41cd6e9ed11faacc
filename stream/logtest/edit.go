package logtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
)

var editCases = map[string]func(*testing.T, Backend){
	"a turn and its regenerate":       regenerate,
	"keep nothing":                    keepNothing,
	"thousands of rows at once":       manyRows,
	"fields and variants":             fieldsAndVariants,
	"a change during a run keeps it":  editDuringRun,
	"trim keeps the top, and says so": trimmedLog,
}

// What is stored is what the document says, after a turn and after each way to cut it.
// case: FC01
func regenerate(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	require.Equal(t, o.doc, o.read(stream.Query{}).Document)
	o.done(o.settle("completed", "hello"))
	require.Equal(t, o.doc, o.read(stream.Query{}).Document)

	p, err := o.doc.Plan(regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: o.doc.Revision()})
	require.NoError(t, err)
	c, err := p.Commit(regen.Mint{Run: hexID(), Variant: hexID(), Generation: hexID(), At: 2000})
	require.NoError(t, err)
	ch := o.change(stream.KindStarted, "{}")
	ch.Edit, ch.Start = c.Edit, o.at
	ch.Accept = &stream.Accept{Run: c.Run, Key: "k2", Hash: "h"}
	o.done(accepted{ch, c.Document})
	got := o.read(stream.Query{})
	require.Equal(t, o.doc, got.Document)
	require.Equal(t, 1, got.Total)
	require.Equal(t, o.doc.Revision(), got.Head.Revision)
	require.Equal(t, o.doc.Active, got.Head.Active)
	o.done(o.settle("failed", ""))
	require.Equal(t, o.doc, o.read(stream.Query{}).Document)
}

// listChange makes an edit of the two lists, with elements of its own.
func (o *owner) listChange(keep int, rows ...string) *stream.Change {
	have := o.read(stream.Query{})
	c := o.change(stream.KindSession, "{}")
	c.Expect = stream.Expect{Version: have.Head.Version, Rows: have.Total, Context: have.Total}
	l := regen.ListEdit{Before: have.Total, Keep: keep, Append: rows}
	c.Edit = regen.Edit{Version: have.Head.Version + 1, RowsVersion: have.Head.Version + 1, Revision: "r", Rows: l, Context: l}
	return c
}

// element makes an encoded row.
func element(i int) string {
	r := regen.Row{ID: fmt.Sprintf("%032x", i), Role: regen.RoleUser, Content: regen.Text("row"), At: 1}
	return regen.Link{Chain: regen.NextChain(regen.EmptyChain, fmt.Sprint(i)), Row: &r}.Encode()
}

// Clearing a conversation leaves no row of it.
func keepNothing(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(accepted{Change: o.listChange(0, element(1), element(2))})
	o.done(accepted{Change: o.listChange(0)})
	got := o.read(stream.Query{})
	require.Zero(t, got.Total)
	require.Empty(t, got.Document.Rows)
	require.Empty(t, got.Document.Context)
	o.done(accepted{Change: o.listChange(0, element(3))})
	o.done(accepted{Change: o.listChange(0, element(4))}) // cut to nothing and begun again in one step
	require.Equal(t, []string{element(4)}, encoded(o.read(stream.Query{}).Document.Rows))
}

func encoded(ls []regen.Link) []string {
	var out []string
	for _, l := range ls {
		out = append(out, l.Encode())
	}
	return out
}

// An import of any length goes in, in order; a cut in it and a changed last row too.
func manyRows(t *testing.T, b Backend) {
	o := newOwner(t, b)
	rows := make([]string, 9001)
	for i := range rows {
		rows[i] = element(i)
	}
	o.done(accepted{Change: o.listChange(0, rows...)})
	got := o.read(stream.Query{Rows: 10_000})
	require.Equal(t, rows, encoded(got.Document.Rows))
	require.Len(t, got.Document.Context, 9001)
	c := o.listChange(5000, element(20_000))
	c.Edit.Rows.Patch, c.Edit.Context.Patch = element(10_000), element(10_001)
	o.done(accepted{Change: c})
	got = o.read(stream.Query{Rows: 3})
	require.Equal(t, 5001, got.Total)
	require.Equal(t, []string{rows[4998], element(10_000), element(20_000)}, encoded(got.Document.Rows))
	require.Equal(t, element(10_001), got.Document.Context[1].Encode())
}

// Fields and variants are set and unset with the rows, or not at all.
func fieldsAndVariants(t *testing.T, b Backend) {
	o := newOwner(t, b)
	c := o.listChange(0, element(1))
	c.Edit.Set = map[string]string{"title": "one", "system": "be kind"}
	c.Edit.VariantSet = map[string]string{"v1": `{"id":"v1"}`, "v2": `{"id":"v2"}`}
	o.done(accepted{Change: c})
	c = o.listChange(1)
	c.Edit.Set, c.Edit.Unset = map[string]string{"title": "two"}, []string{"system", "parent"}
	c.Edit.VariantUnset = []string{"v1"}
	o.done(accepted{Change: c})
	require.Equal(t, regen.Fields{Title: "two"}, o.read(stream.Query{}).Document.Fields)
	read := o.read(stream.Query{HeadOnly: true, Variants: []string{"v1", "v2", "v3"}}).Variants
	require.Equal(t, map[string]regen.VariantRecord{"v2": {ID: "v2"}}, read)
	require.Error(t, b.Do(t.Context(), "HINCRBY", "hf1:{"+o.key.String()+"}:var", "v2", 1), "v2 is there, and no number")
	require.NoError(t, b.Do(t.Context(), "HINCRBY", "hf1:{"+o.key.String()+"}:var", "v1", 1), "v1 is gone")
}

// A new title during an answer touches neither the run nor where its readers begin.
func editDuringRun(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	before := o.read(stream.Query{}).Head
	c := o.change(stream.KindSession, "{}")
	c.Edit = regen.Edit{
		Version: before.Version + 1, RowsVersion: before.RowsVersion, Revision: before.Revision,
		Set: map[string]string{"title": "new"}, Run: before.Run, Active: before.Active,
	}
	o.done(accepted{Change: c})
	after := o.read(stream.Query{})
	require.Equal(t, before.Start, after.Head.Start)
	require.Equal(t, before.Active, after.Head.Active)
	require.Equal(t, "new", after.Document.Fields.Title)
	o.doc = after.Document
	o.done(o.settle("completed", "x"))
	require.Zero(t, o.read(stream.Query{}).Head.Start)
}

// What the log no longer holds is told by the head: a reader just before the first kept entry is served, an older one is not.
func trimmedLog(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	o.token("a")
	o.done(o.settle("completed", "a"))
	before := o.at
	o = acquire(t, b, o.key, o.doc)
	o.done(o.send("k2", "more"))
	first := o.at
	o.token("b")
	s := o.settle("completed", "b")
	s.Trim, s.Before = first, before
	s.Fences = o.read(stream.Query{HeadOnly: true}).Head.Fences.Prune(first.Seq)
	o.done(s)
	p := o.page()
	require.Equal(t, []string{"4 s", "5 t", "6 e"}, o.log())
	require.Equal(t, stream.Fences{{Epoch: o.epoch, First: 4}}, p.Head.Fences)
	cursor := func(seq uint64) stream.Cursor {
		return stream.Cursor{Incarnation: o.inc, ID: stream.EntryID{Epoch: before.Epoch, Seq: seq}}
	}
	require.True(t, p.Head.Accepts(cursor(3), p.Top), "exactly one turn missed")
	require.False(t, p.Head.Accepts(cursor(2), p.Top))

	// The last entry stays whatever is trimmed.
	o.done(o.send("k3", "x"))
	s = o.settle("completed", "x")
	s.Trim, s.Before, s.Fences = s.Entries[0].ID, o.at, p.Head.Fences
	o.done(s)
	require.Equal(t, []string{"8 e"}, o.log())
	o.notAppended(o.at, "again")
}
