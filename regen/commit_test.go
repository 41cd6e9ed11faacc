package regen_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// The proof and the time of a regenerate go to this turn's prompt in both lists, not to an earlier equal one.
// contract: S12
func TestTwinPromptStaysUntouched(t *testing.T) {
	display := []regen.Row{
		{ID: "u0", Role: regen.RoleUser, Content: regen.Text("prompt")},
		{ID: "a0", Role: regen.RoleAssistant, Content: regen.Text("old")},
		{ID: "u1", Role: regen.RoleUser, Content: regen.Text("prompt")},
		{ID: "a1", Role: regen.RoleAssistant, Content: regen.Text("failed")},
	}
	k := importTalk(t, regen.Fields{}, display, []regen.Row{
		{Role: regen.RoleUser, Content: regen.Text("prompt")},
		{ID: "u1", Role: regen.RoleUser, Content: regen.Text("prompt"), Source: "webui"},
	})
	c := k.regenerate()
	user, twin, own := c.Rows[0], k.d.Context[0].Row, k.d.Context[1].Row
	require.Equal(t, c.Document.Active.StartedAt, user.At)
	require.Zero(t, twin.At)
	require.Empty(t, twin.Token)
	require.Equal(t, user.At, own.At)
	require.Equal(t, user.Token, own.Token)
	require.Equal(t, user.ID, own.ID)
	require.Empty(t, k.d.Rows[0].Row.Token)
}

// A kept prompt keeps its id, its files and everything else, and still says when it was first sent.
// contract: A14
func TestRegenerateKeepsThePrompt(t *testing.T) {
	k := newTalk(t)
	files := []json.RawMessage{[]byte(`{ "name":"a.txt", "size":1, "data":"x" }`)}
	first, err := k.do(regen.Command{Op: regen.OpSend, Content: regen.Text("q"), Attachments: files, Model: "m1"})
	require.NoError(t, err)
	k.settle(regen.Completed, "a")
	for range 2 {
		c, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision(), Model: "m2"})
		require.NoError(t, err)
		want := first.Rows[0]
		require.Equal(t, `{"name":"a.txt","size":1,"data":"x"}`, string(want.Attachments[0]))
		want.SentAt, want.At, want.RegeneratedAt = first.Rows[0].At, k.now, k.now
		want.Run, want.Token, want.Variants = c.Run, regen.Token(c.Run, k.now), c.Rows[0].Variants
		require.Equal(t, want, c.Rows[0])
		require.Equal(t, &regen.Active{Run: c.Run, Turn: want.Turn, Row: want.ID, StartedAt: k.now, Model: "m2", Regenerate: true}, c.Document.Active)
		require.Equal(t, "m2", k.settle(regen.Completed, "a").Rows[1].Model)
	}
	require.Equal(t, "q", k.d.Fields.Title)
}

// Everything before the last exchange stays, to the byte.
// contract: A12
func TestPrefixSurvives(t *testing.T) {
	k := newTalk(t)
	for i := range 5 {
		k.turn(fmt.Sprint("q", i), fmt.Sprint("a", i))
	}
	rows, context := elements(k.d)
	c := k.regenerate()
	after, contextAfter := elements(k.d)
	require.Equal(t, rows[:8], after[:8])
	require.Equal(t, context[:8], contextAfter[:8])
	require.Equal(t, regen.ListEdit{Before: 10, Keep: 9, Patch: after[8]}, c.Edit.Rows)
	require.Equal(t, regen.ListEdit{Before: 10, Keep: 9, Patch: contextAfter[8]}, c.Edit.Context)
	require.Equal(t, k.d.Rows[7].Row.ID, c.Keep)
}

// A deliberate cut can be told from a loss: it leaves its time and a new generation.
func TestCutLeavesItsMarks(t *testing.T) {
	k := newTalk(t)
	sent := k.send("q")
	require.Zero(t, k.d.Fields.Watermark)
	k.settle(regen.Completed, "a")
	k.regenerate()
	require.Equal(t, sent.Rows[0].At, k.d.Fields.Watermark)
	require.Equal(t, sent.Rows[0].At, k.d.Fields.Boundary)
	generation := k.d.Fields.ShrinkGeneration
	require.NotEmpty(t, generation)
	k.settle(regen.Completed, "a")
	next := k.send("q2")
	require.Equal(t, next.Rows[0].At, k.d.Fields.Watermark, "a later turn moves the watermark")
	require.Equal(t, sent.Rows[0].At, k.d.Fields.Boundary, "but not the boundary")
	require.Equal(t, generation, k.d.Fields.ShrinkGeneration)
}

// A good answer is not lost by pressing regenerate: the last ten stay at hand, and failures do not push them out.
// case: FC04
func TestVariants(t *testing.T) {
	k := newTalk(t)
	k.turn("q", "a0")
	for i := range 12 {
		c := k.regenerate()
		require.Len(t, c.Rows[0].Variants, min(i+1, regen.MaxVariants))
		s := k.settle(regen.Completed, fmt.Sprint("a", i+1))
		require.Equal(t, c.Rows[0].Variants, s.Variants)
	}
	require.Len(t, k.store.variants, regen.MaxVariants)
	kept := k.d.Rows[0].Row.Variants
	for i, v := range kept {
		rec, err := regen.DecodeVariant(k.store.variants[v])
		require.NoError(t, err)
		require.Equal(t, v, rec.ID)
		require.Equal(t, k.d.Rows[0].Row.Turn, rec.Turn)
		require.Equal(t, []string{fmt.Sprint("assistant:a", i+2)}, show(rec.Rows), "oldest first")
		require.Equal(t, rec.Rows[0].Run, rec.Run)
		require.Equal(t, []string{"@" + rec.Rows[0].ID}, rec.Context)
		require.Equal(t, k.store.variants[v], rec.Encode())
	}
	require.Contains(t, string(k.d.Public(*k.d.Rows[0].Row)), `"variants":[`)
	k.regenerate()
	before := k.d.Rows[0].Row.Variants
	for range 3 {
		k.settle(regen.Failed, "")
		require.Equal(t, before, k.regenerate().Rows[0].Variants, "an attempt without any answer is no variant")
	}
	k.settle(regen.Failed, "half")
	require.NotEqual(t, before, k.regenerate().Rows[0].Variants, "half an answer is one")
	_, err := regen.DecodeVariant("x")
	require.ErrorIs(t, err, regen.ErrElement)
}

// Where the model's memory never had the prompt, it gets it, once.
// contract: F5
// case: FC01
func TestPromptMissingInContext(t *testing.T) {
	display := []regen.Row{
		{ID: "u0", Role: regen.RoleUser, Content: regen.Text("q")},
		{ID: "a0", Role: regen.RoleAssistant, Content: regen.Text("x")},
		{ID: "u1", Role: regen.RoleUser, Content: regen.Text("p")},
		{ID: "a1", Role: regen.RoleAssistant, Content: regen.Text("y")},
	}
	sum := regen.Row{Role: regen.RoleSystem, Content: regen.Text("sum")}
	for _, c := range []struct {
		name          string
		context, want []regen.Row
	}{
		{"no context", nil, display[2:3]},
		{"a summary alone", []regen.Row{sum}, []regen.Row{sum, display[2]}},
		{"only the answer", display[3:], display[2:3]},
		{"only the turn before", display[:2], []regen.Row{display[0], display[1], display[2]}},
		{"an earlier prompt of its own", []regen.Row{{Role: regen.RoleUser, Content: regen.Text("q")}}, []regen.Row{display[0], display[2]}},
		{"lists in different orders", []regen.Row{display[3], sum, display[2], display[0]}, display[2:3]},
		{"an equal prompt of another turn", []regen.Row{{ID: "u0", Role: regen.RoleUser, Content: regen.Text("p")}}, []regen.Row{display[2], display[2]}},
		{"a summary and the turn", []regen.Row{sum, display[2], display[3]}, []regen.Row{sum, display[2]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := importTalk(t, regen.Fields{}, display, c.context)
			k.regenerate()
			require.Equal(t, show(c.want), k.context())
			k.settle(regen.Completed, "z")
			require.Equal(t, append(show(c.want), "assistant:z"), k.context())
		})
	}
}

// However little of a long conversation is loaded, an edit is the same; where that is too little it asks for more.
func TestWindows(t *testing.T) {
	k := newTalk(t)
	for i := range 6 {
		k.turn(fmt.Sprint("q", i), "a")
	}
	for _, op := range []regen.Op{regen.OpSend, regen.OpRegenerate} {
		var want *regen.Edit
		for n := len(k.d.Rows); n >= 0; n-- {
			d := k.store.load(t, k.d, n)
			require.Equal(t, k.d.Revision(), d.Revision())
			cmd := regen.Command{Op: op, Revision: d.Revision()}
			if op == regen.OpSend {
				cmd.Content = regen.Text("x")
			}
			p, err := d.Plan(cmd)
			if n == 0 || op == regen.OpRegenerate && n < 3 {
				require.ErrorIs(t, err, regen.ErrWindow, "%s with %d rows", op, n)
				_, minted := d.Minted()
				require.False(t, minted)
				continue
			}
			require.NoError(t, err)
			c, err := p.Commit(regen.Mint{Run: id('r', 99), Turn: id('t', 99), Row: id('u', 99), Variant: id('v', 99), Generation: id('g', 99), At: 900})
			require.NoError(t, err)
			if want == nil {
				want = &c.Edit
			}
			require.Equal(t, *want, c.Edit, "%s with %d rows", op, n)
			require.Equal(t, c.Edit.Rows.After(), c.Document.Total())
			s, err := c.Document.Settle(regen.Outcome{Run: c.Run, Kind: regen.Completed, Text: "x", At: 901, AnswerRow: id('a', 99), ErrorRow: id('e', 99)})
			require.NoError(t, err)
			require.Len(t, s.Rows, 2)
		}
	}
}

// A context window that reaches further down than the display window loses what it cannot show.
func TestNormalise(t *testing.T) {
	k := newTalk(t)
	for range 4 {
		k.turn("q", "a")
	}
	require.Same(t, k.d, k.d.Normalise())
	d := k.store.load(t, k.d, 8)
	d.Rows, d.RowsBelow, d.RowsBase = d.Rows[5:], 5, d.Rows[4].Chain
	n := d.Normalise()
	require.Equal(t, 5, n.ContextBelow)
	require.Len(t, n.Context, 3)
	require.Equal(t, k.d.Revision(), n.Revision())
	require.Same(t, n, n.Normalise())
	require.Equal(t, 0, d.ContextBelow, "the old value stays")
}

// Recovery and a new start are one step: two edits in a row are one edit.
func TestThen(t *testing.T) {
	k := newTalk(t)
	k.turn("one", "1")
	k.send("two")
	for _, kind := range []regen.OutcomeKind{regen.Completed, regen.Interrupted} {
		for _, text := range []string{"", "half"} {
			for _, op := range []regen.Op{regen.OpSend, regen.OpRegenerate} {
				s, err := k.d.Settle(regen.Outcome{Run: k.d.Active.Run, Kind: kind, Text: text, At: 300, AnswerRow: id('a', 90), ErrorRow: id('e', 90)})
				require.NoError(t, err)
				cmd := regen.Command{Op: op, Revision: s.Document.Revision()}
				if op == regen.OpSend {
					cmd.Content = regen.Text("three")
				}
				p, err := s.Document.Plan(cmd)
				require.NoError(t, err)
				c, err := p.Commit(k.mint())
				require.NoError(t, err)
				requireThen(t, k, c.Document, s.Edit, c.Edit)

				s2, err := c.Document.Settle(regen.Outcome{Run: c.Run, Kind: regen.Failed, Text: "x", At: 301, AnswerRow: id('a', 91), ErrorRow: id('e', 91)})
				require.NoError(t, err)
				requireThen(t, k, s2.Document, s.Edit.Then(c.Edit), s2.Edit)
				requireThen(t, k, s2.Document, s.Edit, c.Edit.Then(s2.Edit))

				p, err = s2.Document.Plan(regen.Command{Op: regen.OpRegenerate, Revision: s2.Document.Revision()})
				require.NoError(t, err)
				c2, err := p.Commit(k.mint())
				require.NoError(t, err)
				requireThen(t, k, c2.Document, s.Edit.Then(c.Edit).Then(s2.Edit), c2.Edit)
				requireThen(t, k, c2.Document, s.Edit, c.Edit.Then(s2.Edit).Then(c2.Edit))
			}
		}
	}
}

func requireThen(t *testing.T, k *talk, want *regen.Document, a, b regen.Edit) {
	t.Helper()
	one := newStore()
	one.rows, one.context, one.fields = k.store.rows, k.store.context, k.d.Fields.Map()
	one.apply(t, a.Then(b))
	one.requireSame(t, want)
	require.Equal(t, want.Revision(), a.Then(b).Revision)
}

// What is imported has ids and roles, or it is refused as a whole.
func TestNewDocumentRefuses(t *testing.T) {
	good := regen.Row{ID: "a", Role: regen.RoleUser}
	for _, rows := range [][]regen.Row{{{Role: regen.RoleUser}}, {good, good}, {{ID: "a", Role: "boss"}}} {
		_, _, err := regen.NewDocument("s", regen.Fields{}, rows, nil)
		require.ErrorIs(t, err, regen.ErrRows)
	}
	_, _, err := regen.NewDocument("s", regen.Fields{}, []regen.Row{good}, []regen.Row{good, good})
	require.ErrorIs(t, err, regen.ErrRows)
	var e *regen.ContentError
	for _, bad := range []regen.Row{{ID: "a", Role: regen.RoleUser, Content: regen.Text("\x00")},
		{ID: "a", Role: regen.RoleTool, ToolCalls: []json.RawMessage{[]byte("{")}}} {
		_, _, err = regen.NewDocument("s", regen.Fields{}, []regen.Row{bad}, nil)
		require.ErrorAs(t, err, &e)
	}
	d, edit, err := regen.NewDocument("s", regen.Fields{Title: "t", Extra: map[string]string{"x": "y"}}, nil, nil)
	require.NoError(t, err)
	require.Equal(t, uint64(1), d.Version)
	require.Zero(t, edit.RowsVersion)
	require.Equal(t, map[string]string{"title": "t", "x": "y"}, edit.Set)
}

// Two outcomes tried on one document do not write into each other, also when its loader left room behind the rows.
func TestDocumentsShareNothingThatChanges(t *testing.T) {
	k := newTalk(t)
	k.turn("one", "1")
	c := k.send("two")
	d := *k.d
	d.Rows = append(make([]regen.Link, 0, 20), d.Rows...)
	d.Context = append(make([]regen.ContextLink, 0, 20), d.Context...)
	o := regen.Outcome{Run: c.Run, Kind: regen.Completed, Text: "a", At: 300, AnswerRow: id('a', 90), ErrorRow: id('e', 90)}
	a, err := d.Settle(o)
	require.NoError(t, err)
	before := dump(a.Document)
	o.Text, o.AnswerRow = "b", id('a', 91)
	_, err = d.Settle(o)
	require.NoError(t, err)
	require.Equal(t, before, dump(a.Document))
}

// The revision tells apart what differs anywhere: in an older row, in the order, in the context alone, in time.
// contract: A11
func TestRevisionSeesEverything(t *testing.T) {
	row := func(rowID, text string) regen.Row {
		return regen.Row{ID: rowID, Role: regen.RoleUser, Content: regen.Text(text)}
	}
	a, b, x := row("a", "1"), row("b", "2"), row("a", "3")
	seen := map[string]bool{}
	for _, lists := range [][2][]regen.Row{{}, {{a, b}, {a, b}}, {{b, a}, {a, b}}, {{x, b}, {x, b}}, {{a, b}, {b}}, {{a, b}, {x, b}}, {{a, b}, nil}} {
		for _, session := range []string{"s1", "s2"} {
			d, _, err := regen.NewDocument(session, regen.Fields{}, lists[0], lists[1])
			require.NoError(t, err)
			require.False(t, seen[d.Revision()], "%v", lists)
			seen[d.Revision()] = true
			d.Fields.Title, d.Version = "other", d.Version+1
			require.True(t, seen[d.Revision()], "a title is no part of it")
			d.RowsVersion++
			require.False(t, seen[d.Revision()], "rows that came back byte for byte have a new revision")
		}
	}
}

// Where the prompt may lie below the loaded part of the model's memory, more is asked for instead of adding it again.
func TestContextWindowTooSmall(t *testing.T) {
	k := newTalk(t)
	k.turn("one", "1")
	k.turn("two", "2")
	d := *k.d
	d.ContextBelow, d.ContextBase, d.Context = 3, d.Context[2].Chain, d.Context[3:]
	require.Equal(t, k.d.Revision(), d.Revision())
	_, err := d.Plan(regen.Command{Op: regen.OpRegenerate, Revision: d.Revision()})
	require.ErrorIs(t, err, regen.ErrWindow)
}
