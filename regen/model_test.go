package regen_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// id makes a readable identifier of 32 hex digits: a letter's code and a number.
func id(letter byte, n int) string { return fmt.Sprintf("%02x%030d", letter, n) }

// short turns an identifier back into its letter and number, for people.
func short(s string) string {
	var letter byte
	var n int
	if len(s) != 32 {
		return s
	}
	if _, err := fmt.Sscanf(s, "%02x%d", &letter, &n); err != nil {
		return s
	}
	return fmt.Sprintf("%c%d", letter, n)
}

// store is the test's own idea of what a store does with an Edit: lists of strings and maps.
type store struct {
	rows, context    []string
	fields, variants map[string]string
	version          uint64
	run              string
}

func newStore() *store { return &store{fields: map[string]string{}, variants: map[string]string{}} }

func (s *store) apply(t testing.TB, e regen.Edit) {
	t.Helper()
	s.rows = applyList(t, s.rows, e.Rows)
	s.context = applyList(t, s.context, e.Context)
	for _, k := range e.Unset {
		delete(s.fields, k)
	}
	maps.Copy(s.fields, e.Set)
	for _, k := range e.VariantUnset {
		require.Contains(t, s.variants, k)
		delete(s.variants, k)
	}
	maps.Copy(s.variants, e.VariantSet)
	s.version, s.run = e.Version, e.Run
}

func applyList(t testing.TB, list []string, e regen.ListEdit) []string {
	t.Helper()
	require.Equal(t, len(list), e.Before, "length before")
	require.LessOrEqual(t, e.Keep, e.Before)
	out := slices.Clone(list[:e.Keep])
	if e.Patch != "" {
		require.Positive(t, e.Keep, "a patch needs a kept element")
		out[e.Keep-1] = e.Patch
	}
	return append(out, e.Append...)
}

// load reads a window of the last n rows back, as a store's loader does.
func (s *store) load(t testing.TB, like *regen.Document, n int) *regen.Document {
	t.Helper()
	d := &regen.Document{Session: like.Session, Version: like.Version, RowsVersion: like.RowsVersion, Active: like.Active,
		Fields: regen.FieldsFromMap(s.fields)}
	d.RowsBelow, d.ContextBelow = max(0, len(s.rows)-n), max(0, len(s.context)-n)
	if d.RowsBelow > 0 {
		l, err := regen.DecodeLink(s.rows[d.RowsBelow-1])
		require.NoError(t, err)
		d.RowsBase = l.Chain
	}
	if d.ContextBelow > 0 {
		l, err := regen.DecodeContextLink(s.context[d.ContextBelow-1])
		require.NoError(t, err)
		d.ContextBase = l.Chain
	}
	for _, e := range s.rows[d.RowsBelow:] {
		l, err := regen.DecodeLink(e)
		require.NoError(t, err)
		d.Rows = append(d.Rows, l)
	}
	for _, e := range s.context[d.ContextBelow:] {
		l, err := regen.DecodeContextLink(e)
		require.NoError(t, err)
		d.Context = append(d.Context, l)
	}
	return d.Normalise()
}

// requireSame proves that the store holds exactly the document, that every chain value is what a recomputation gives, and
// that all of it reads back.
func (s *store) requireSame(t testing.TB, d *regen.Document) {
	t.Helper()
	require.Equal(t, d.Version, s.version)
	d = d.Whole()
	rows, context := elements(d)
	if d.RowsBelow+d.ContextBelow > 0 {
		require.Equal(t, rows, s.rows[d.RowsBelow:])
		require.Equal(t, context, s.context[d.ContextBelow:])
		d = s.load(t, d, len(s.rows)+len(s.context))
		rows, context = elements(d)
	}
	require.Equal(t, len(rows), len(s.rows))
	require.Equal(t, len(context), len(s.context))
	require.Equal(t, strings.Join(rows, "\n"), strings.Join(s.rows, "\n"))
	require.Equal(t, strings.Join(context, "\n"), strings.Join(s.context, "\n"))
	require.Equal(t, d.Fields.Map(), s.fields)

	shown := map[string]string{}
	chain := regen.EmptyChain
	for i, e := range s.rows {
		_, payload, _ := strings.Cut(e, " ")
		chain = regen.NextChain(chain, payload)
		require.Equal(t, chain, d.Rows[i].Chain, "display chain of row %d", i)
		back, err := regen.DecodeLink(e)
		require.NoError(t, err)
		require.Equal(t, e, back.Encode())
		shown[d.Rows[i].Row.ID] = payload
	}
	chain = regen.EmptyChain
	for i, e := range s.context {
		_, payload, _ := strings.Cut(e, " ")
		if ref, ok := strings.CutPrefix(payload, "@"); ok {
			require.Contains(t, shown, ref, "a reference to a row that is not there")
			payload = shown[ref]
		}
		chain = regen.NextChain(chain, payload)
		require.Equal(t, chain, d.Context[i].Chain, "context chain of row %d", i)
		back, err := regen.DecodeContextLink(e)
		require.NoError(t, err)
		require.Equal(t, e, back.Encode())
	}
	require.Equal(t, d.Revision(), s.load(t, d, len(s.rows)+len(s.context)).Revision())
}

func elements(d *regen.Document) (rows, context []string) {
	for _, l := range d.Rows {
		rows = append(rows, l.Encode())
	}
	for _, l := range d.Context {
		context = append(context, l.Encode())
	}
	return rows, context
}

// dump is everything that a document is, with what it has at hand below its window, for comparing before and after.
func dump(d *regen.Document) string {
	d = d.Whole()
	rows, context := elements(d)
	return fmt.Sprintf("%s %d %d %d %s %d %s\n%q\n%q\n%v\n%+v", d.Session, d.Version, d.RowsVersion, d.RowsBelow, d.RowsBase,
		d.ContextBelow, d.ContextBase, rows, context, d.Fields.Map(), d.Active)
}

// contextRows resolves the context of a whole document.
func contextRows(d *regen.Document) []regen.Row {
	shown := map[string]*regen.Row{}
	for _, l := range d.Rows {
		shown[l.Row.ID] = l.Row
	}
	var rows []regen.Row
	for _, l := range d.Context {
		r := l.Row
		if r == nil {
			r = shown[l.Ref]
		}
		if r != nil {
			rows = append(rows, *r)
		}
	}
	return rows
}

// requireOneUserRow proves that each turn of display has exactly one user row, and that each turn taken here (it has a token)
// has exactly one in context too; no other turn may have two.
func requireOneUserRow(t testing.TB, d *regen.Document) {
	t.Helper()
	context := map[string]int{}
	for _, r := range contextRows(d) {
		if r.Role == regen.RoleUser && r.Turn != "" {
			context[r.Turn]++
		}
	}
	display := map[string]int{}
	for _, l := range d.Rows {
		if l.Row.Role != regen.RoleUser || l.Row.Turn == "" {
			continue
		}
		display[l.Row.Turn]++
		require.Equal(t, 1, display[l.Row.Turn], "user rows of turn %s in display", short(l.Row.Turn))
		if l.Row.Token != "" {
			require.Equal(t, 1, context[l.Row.Turn], "user rows of turn %s in context", short(l.Row.Turn))
		}
		require.LessOrEqual(t, context[l.Row.Turn], 1, "user rows of turn %s in context", short(l.Row.Turn))
	}
}

// talk is a conversation under test: a document and the model of its store, checked after every step.
type talk struct {
	t     testing.TB
	d     *regen.Document
	store *store
	n     int // the last number given to an identifier
	now   float64
}

func newTalk(t testing.TB) *talk {
	return &talk{t: t, d: &regen.Document{Session: "s1"}, store: newStore(), now: 100}
}

// importTalk begins with rows from elsewhere.
func importTalk(t testing.TB, f regen.Fields, rows, context []regen.Row) *talk {
	t.Helper()
	d, e, err := regen.NewDocument("s1", f, rows, context)
	require.NoError(t, err)
	k := newTalk(t)
	k.d = d
	k.store.apply(t, e)
	k.store.requireSame(t, d)
	return k
}

func (k *talk) mint() regen.Mint {
	k.n++
	k.now++
	return regen.Mint{Run: id('r', k.n), Turn: id('t', k.n), Row: id('u', k.n), Variant: id('v', k.n), Generation: id('g', k.n), At: k.now}
}

func (k *talk) do(cmd regen.Command) (regen.Commit, error) {
	k.t.Helper()
	before, rev := dump(k.d), k.d.Revision()
	p, err := k.d.Plan(cmd)
	if err != nil {
		require.Equal(k.t, before, dump(k.d), "a refusal leaves the document equal")
		return regen.Commit{}, err
	}
	old := k.d
	m := k.mint()
	if id := p.Variant(); id != "" {
		rec, err := regen.DecodeVariant(k.store.variants[id])
		require.NoError(k.t, err)
		m.Record = &rec
	}
	c, err := p.Commit(m)
	require.NoError(k.t, err)
	require.Equal(k.t, before, dump(old), "a commit leaves the old document alone")
	if cmd.Op == regen.OpRename {
		require.Equal(k.t, rev, c.Document.Revision(), "a title is no part of the revision")
	} else {
		require.NotEqual(k.t, rev, c.Document.Revision(), "a win changes the revision")
	}
	k.take(c.Document, c.Edit)
	return c, nil
}

func (k *talk) take(d *regen.Document, e regen.Edit) {
	k.t.Helper()
	require.Equal(k.t, d.Revision(), e.Revision)
	require.Equal(k.t, d.RowsVersion, e.RowsVersion)
	k.d = d
	k.store.apply(k.t, e)
	k.store.requireSame(k.t, d)
	if whole := d.Whole(); whole.RowsBelow+whole.ContextBelow == 0 {
		requireOneUserRow(k.t, whole)
	}
}

func (k *talk) send(text string) regen.Commit {
	k.t.Helper()
	c, err := k.do(regen.Command{Op: regen.OpSend, Content: regen.Text(text)})
	require.NoError(k.t, err)
	return c
}

func (k *talk) regenerate() regen.Commit {
	k.t.Helper()
	c, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
	require.NoError(k.t, err)
	return c
}

// end settles the active run; ids and time are filled in.
func (k *talk) end(o regen.Outcome) (regen.Settlement, error) {
	k.t.Helper()
	k.n++
	k.now++
	if o.Run == "" && k.d.Active != nil {
		o.Run = k.d.Active.Run
	}
	o.At, o.AnswerRow, o.ErrorRow = k.now, id('a', k.n), id('e', k.n)
	before, rev := dump(k.d), k.d.Revision()
	old := k.d
	s, err := k.d.Settle(o)
	require.Equal(k.t, before, dump(old), "a settlement leaves the old document alone")
	if err != nil {
		return s, err
	}
	require.NotEqual(k.t, rev, s.Document.Revision())
	k.take(s.Document, s.Edit)
	return s, nil
}

func (k *talk) settle(kind regen.OutcomeKind, text string) regen.Settlement {
	k.t.Helper()
	s, err := k.end(regen.Outcome{Kind: kind, Text: text})
	require.NoError(k.t, err)
	return s
}

// turn is a whole exchange.
func (k *talk) turn(prompt, answer string) {
	k.t.Helper()
	k.send(prompt)
	k.settle(regen.Completed, answer)
}

// show gives the texts of a list of rows as "role:text".
func show(rows []regen.Row) []string {
	var out []string
	for _, r := range rows {
		out = append(out, string(r.Role)+":"+r.Content.Text())
	}
	return out
}

func (k *talk) display() []string {
	var rows []regen.Row
	for _, l := range k.d.Whole().Rows {
		rows = append(rows, *l.Row)
	}
	return show(rows)
}

func (k *talk) context() []string { return show(contextRows(k.d.Whole())) }
