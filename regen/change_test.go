package regen_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// change does an edit of the conversation on its present revision.
func (k *talk) change(cmd regen.Command) (regen.Commit, error) {
	k.t.Helper()
	cmd.Revision = k.d.Revision()
	return k.do(cmd)
}

func (k *talk) changed(cmd regen.Command) regen.Commit {
	k.t.Helper()
	c, err := k.change(cmd)
	require.NoError(k.t, err)
	return c
}

// long is a conversation of n exchanges.
func long(t *testing.T, n int) *talk {
	k := newTalk(t)
	for i := range n {
		k.turn(fmt.Sprint("q", i), fmt.Sprint("a", i))
	}
	return k
}

// Whatever is cut goes from both lists at once, and leaves its marks.
// contract: F3, F7
func TestEditsCutBothLists(t *testing.T) {
	row := func(i int) func(*talk) regen.Command {
		return func(k *talk) regen.Command {
			return regen.Command{Op: regen.OpTruncate, Row: k.d.Whole().Rows[i].Row.ID}
		}
	}
	same := func(c regen.Command) func(*talk) regen.Command { return func(*talk) regen.Command { return c } }
	for name, c := range map[string]struct {
		cmd  func(*talk) regen.Command
		rows int
	}{
		"undo":                      {same(regen.Command{Op: regen.OpUndo}), 38},
		"keep an answer":            {row(3), 4},
		"keep a prompt":             {row(4), 5},
		"keep the last row":         {row(39), 40},
		"keep a number":             {same(regen.Command{Op: regen.OpTruncate, Keep: 7}), 7},
		"keep all by number":        {same(regen.Command{Op: regen.OpTruncate, Keep: 40}), 40},
		"keep none by number":       {same(regen.Command{Op: regen.OpTruncate}), 0},
		"clear":                     {same(regen.Command{Op: regen.OpClear}), 0},
		"undo in a long window (8)": {same(regen.Command{Op: regen.OpUndo}), 38},
	} {
		t.Run(name, func(t *testing.T) {
			k := long(t, 20)
			before := k.display()
			got := k.changed(c.cmd(k))
			require.Equal(t, before[:c.rows], append([]string{}, k.display()...))
			require.Equal(t, before[:c.rows], append([]string{}, k.context()...))
			require.Empty(t, got.Run)
			require.Nil(t, got.Document.Active)
			require.NotEmpty(t, k.d.Fields.ShrinkGeneration)
			if c.rows == 0 {
				require.Empty(t, got.Keep)
				require.Zero(t, k.d.Fields.Watermark)
				return
			}
			last := k.d.Whole().Rows[c.rows-1].Row
			require.Equal(t, last.ID, got.Keep)
			require.Equal(t, last.At, k.d.Fields.Watermark)
			require.Equal(t, last.At, k.d.Fields.Boundary)
		})
	}
}

// A number of rows that cannot be, a row that is not there and a turn that is not there change nothing.
// contract: F4
func TestBadEditsAreRefused(t *testing.T) {
	k := long(t, 2)
	for _, keep := range []int{-1, 5, 1 << 30} {
		_, err := k.change(regen.Command{Op: regen.OpTruncate, Keep: keep})
		require.ErrorIs(t, err, regen.ErrCount)
	}
	answer := k.d.Rows[1].Row.ID
	for _, row := range []string{"", "nowhere", answer} {
		_, err := k.change(regen.Command{Op: regen.OpEdit, Row: row, Content: regen.Text("x")})
		require.ErrorIs(t, err, regen.ErrNoRow)
	}
	_, err := k.change(regen.Command{Op: regen.OpEdit, Row: k.d.Rows[0].Row.ID, Content: regen.Text(" ")})
	require.ErrorIs(t, err, regen.ErrEmptyPrompt)
	_, err = k.change(regen.Command{Op: regen.OpSelect, Turn: k.d.Rows[2].Row.Turn, Variant: id('v', 1)})
	require.ErrorIs(t, err, regen.ErrNoVariant)
	var content *regen.ContentError
	_, err = k.do(regen.Command{Op: regen.OpRename, Title: " "})
	require.ErrorAs(t, err, &content)
	k.changed(regen.Command{Op: regen.OpClear})
	_, err = k.change(regen.Command{Op: regen.OpUndo})
	require.ErrorIs(t, err, regen.ErrNoTurn)
}

// Every edit names the state it is about; without one, or with an old one, it is stale, also while a run is active; with the right
// one an active run refuses it.
// contract: A10, A11, F7
func TestEditsAreRevisionedAndNeedAnIdleSession(t *testing.T) {
	k := long(t, 2)
	old := k.d.Revision()
	sent := k.send("now")
	for _, op := range []regen.Op{regen.OpEdit, regen.OpUndo, regen.OpTruncate, regen.OpClear, regen.OpSelect} {
		for _, rev := range []string{"", old} {
			_, err := k.do(regen.Command{Op: op, Revision: rev, Row: k.d.Rows[0].Row.ID, Content: regen.Text("x")})
			var stale *regen.StaleRevisionError
			require.ErrorAs(t, err, &stale, op)
		}
		_, err := k.change(regen.Command{Op: op, Row: k.d.Rows[0].Row.ID, Content: regen.Text("x")})
		var busy *regen.BusyError
		require.ErrorAs(t, err, &busy, op)
		require.Equal(t, sent.Run, busy.Run)
	}
}

// A title can be chosen at any time; a chosen one stays, and nothing that a client holds becomes stale by it.
func TestRenameFixesTheTitle(t *testing.T) {
	k := newTalk(t)
	k.send("first words")
	at, rows := k.d.Fields.UpdatedAt, k.d.RowsVersion
	c, err := k.do(regen.Command{Op: regen.OpRename, Title: "Chosen"})
	require.NoError(t, err)
	require.Equal(t, k.d.Active, c.Edit.Active)
	require.Equal(t, k.d.Active.Run, c.Edit.Run)
	require.Equal(t, rows, k.d.RowsVersion)
	require.Equal(t, at, k.d.Fields.UpdatedAt)
	k.settle(regen.Completed, "a")
	k.changed(regen.Command{Op: regen.OpClear})
	k.turn("other words", "b")
	require.Equal(t, "Chosen", k.d.Fields.Title)
}

// An edited prompt is asked anew with its files; the rows after it, their variants and its old words go.
// contract: F3, F6
func TestEditAsksAgain(t *testing.T) {
	k := newTalk(t)
	k.turn("q0", "a0")
	k.turn("q1", "a1")
	k.regenerate()
	k.settle(regen.Completed, "a1 again")
	require.Len(t, k.store.variants, 1)
	old := k.d.Rows[2].Row
	c := k.changed(regen.Command{Op: regen.OpEdit, Row: old.ID, Content: regen.Text("better")})
	require.Equal(t, []string{"user:q0", "assistant:a0", "user:better"}, k.display())
	require.Equal(t, k.display(), k.context())
	require.Equal(t, k.d.Rows[1].Row.ID, c.Keep)
	require.NotEqual(t, old.Turn, c.Turn, "another prompt is another turn")
	require.Empty(t, k.store.variants)
	require.False(t, k.d.Active.Regenerate)
	k.settle(regen.Completed, "fine")
	k.regenerate()
	k.settle(regen.Completed, "fine again")
	require.Equal(t, []string{"user:q0", "assistant:a0", "user:better", "assistant:fine again"}, k.display())
}

// Choosing an old answer shows it again; the present one can be chosen back; a click on what was before is stale (ATTACKS 11).
// contract: A11
func TestSelectMovesTheRevisionOn(t *testing.T) {
	k := newTalk(t)
	k.turn("q", "one")
	first := k.d.Revision()
	k.regenerate()
	k.settle(regen.Completed, "two")
	seen := []string{first, k.d.Revision()}
	for _, want := range []string{"one", "two", "one"} {
		user := k.d.Whole().Rows[0].Row
		c := k.changed(regen.Command{Op: regen.OpSelect, Turn: user.Turn, Variant: user.Variants[0]})
		require.Equal(t, []string{"user:q", "assistant:" + want}, k.display())
		require.Equal(t, k.display(), k.context())
		require.Len(t, c.Rows, 2)
		require.Len(t, c.Rows[0].Variants, 1)
		require.Len(t, k.store.variants, 1)
		_, mayAgain := k.d.Minted()
		require.True(t, mayAgain)
		for _, rev := range seen {
			require.NotEqual(t, rev, k.d.Revision())
			_, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: rev})
			var stale *regen.StaleRevisionError
			require.ErrorAs(t, err, &stale)
		}
		seen = append(seen, k.d.Revision())
	}
	_, err := k.d.Plan(regen.Command{Op: regen.OpSelect, Revision: k.d.Revision(), Turn: k.d.Rows[0].Row.Turn, Variant: id('v', 99)})
	require.ErrorIs(t, err, regen.ErrNoVariant)
}

// Where the policy asks for it, a regenerate that says nothing brings the answer before it back, under a new revision (ATTACKS 11);
// one that says something keeps what it said.
func TestRestoreBringsTheAnswerBack(t *testing.T) {
	for _, kind := range []regen.OutcomeKind{regen.Completed, regen.Failed, regen.Cancelled, regen.Interrupted} {
		k := newTalk(t)
		k.turn("q", "one")
		first := k.d.Revision()
		k.regenerate()
		o := regen.Outcome{Run: k.d.Active.Run, Kind: kind, Text: "<think>hm"}
		if kind == regen.Completed {
			o.Text = ""
		}
		variant := k.d.Restorable(o)
		rec, err := regen.DecodeVariant(k.store.variants[variant])
		require.NoError(t, err)
		o.Restore = &rec
		s, err := k.end(o)
		require.NoError(t, err)
		require.Equal(t, []string{"user:q", "assistant:one"}, k.display())
		require.Equal(t, k.display(), k.context())
		require.Empty(t, s.Variants)
		require.Empty(t, k.store.variants)
		require.Len(t, s.Rows, 2)
		require.NotEqual(t, first, k.d.Revision())
		if kind == regen.Completed {
			require.Equal(t, regen.Failed, s.Kind)
		}

		k.regenerate()
		o = regen.Outcome{Run: k.d.Active.Run, Kind: regen.Cancelled, Text: "some"}
		require.Empty(t, k.d.Restorable(o))
	}
}

// A cut far below what is loaded asks for more rows; a clear needs none.
func TestEditsBelowTheWindow(t *testing.T) {
	k := long(t, 20)
	small := k.store.load(t, k.d, 6)
	plan := func(c regen.Command) error {
		c.Revision = small.Revision()
		_, err := small.Plan(c)
		return err
	}
	require.NoError(t, plan(regen.Command{Op: regen.OpUndo}))
	require.NoError(t, plan(regen.Command{Op: regen.OpClear}))
	require.ErrorIs(t, plan(regen.Command{Op: regen.OpTruncate, Keep: 10}), regen.ErrWindow)
	require.ErrorIs(t, plan(regen.Command{Op: regen.OpTruncate, Keep: 36}), regen.ErrWindow, "what stays would not show its last exchange")
	require.ErrorIs(t, plan(regen.Command{Op: regen.OpTruncate, Row: "lost"}), regen.ErrWindow)
	require.ErrorIs(t, plan(regen.Command{Op: regen.OpTruncate, Keep: 41}), regen.ErrCount)
}
