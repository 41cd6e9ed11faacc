package turn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/turn"
)

// exchange is one answered prompt.
func (n *node) exchange(t *testing.T, r *reader, cmdKey, prompt, answer string) *stream.Settled {
	t.Helper()
	n.send(t, cmdKey, prompt)
	return n.answer(t, r, answer)
}

func (n *node) answer(t *testing.T, r *reader, answer string) *stream.Settled {
	t.Helper()
	c := n.model.next(t)
	if answer != "" {
		c.text(t, answer)
	}
	c.end(t)
	return r.settled()
}

func (r *reader) change() *stream.SessionChange {
	r.t.Helper()
	return r.until("a change of rows", func(e stream.Event) bool {
		return e.Kind == stream.EventSession && e.Change.Change == "rows"
	}).Change
}

// two gives two nodes on one store, and a tab on the first that has seen an answered prompt.
func two(t *testing.T, o nodeOptions) (a, b *node, tab *reader, last *stream.Settled) {
	t.Helper()
	opts := newStore(t)
	a, b = newNode(t, "a", opts, o), newNode(t, "b", opts, o)
	tab = a.read(t, a.send(t, "k0", "q0").Cursor)
	a.answer(t, tab, "a0")
	last = a.exchange(t, tab, "k1", "q1", "a1")
	return a, b, tab, last
}

// An edit on any node is seen live by the tabs of every other, is done once under its key, and makes the old revision stale.
// contract: F3, F7, A11
// case: FC07
func TestUndoOnAnotherNode(t *testing.T) {
	a, b, tab, last := two(t, nodeOptions{})
	cmd := regen.Command{Op: regen.OpUndo, Key: "u1", Revision: last.Revision}
	rec, err := b.do(t, cmd)
	require.NoError(t, err)
	require.Empty(t, rec.Run)
	ch := tab.change()
	require.Empty(t, ch.Rows)
	require.Equal(t, rec.Revision, ch.Revision)
	snap := a.snapshot(t)
	require.Equal(t, rec.Revision, snap.Head.Revision)
	require.Equal(t, 2, snap.Total)
	require.Len(t, snap.Document.Context, 2)
	require.Equal(t, snap.Document.Rows[1].Row.ID, ch.Keep)

	for _, n := range []*node{a, b} {
		again, err := n.do(t, cmd)
		require.NoError(t, err)
		require.True(t, again.Repeat)
		again.Repeat = false
		require.Equal(t, rec, again)
	}
	_, err = a.do(t, regen.Command{Op: regen.OpUndo, Key: "u2", Revision: last.Revision})
	var stale *regen.StaleRevisionError
	require.ErrorAs(t, err, &stale)
	var reused *stream.KeyReusedError
	_, err = a.do(t, regen.Command{Op: regen.OpClear, Key: "u1", Revision: rec.Revision})
	require.ErrorAs(t, err, &reused)
	require.Equal(t, snap.Head.Version, a.snapshot(t).Head.Version, "refusals write nothing")

	rec, err = a.do(t, regen.Command{Op: regen.OpTruncate, Key: "u3", Revision: rec.Revision})
	require.NoError(t, err)
	require.Empty(t, tab.change().Keep)
	require.Zero(t, b.snapshot(t).Total, "keeping none keeps none (ATTACKS 21)")
	require.NotEmpty(t, rec.Revision)
	s := b.exchange(t, tab, "k2", "anew", "yes")
	require.Len(t, s.Rows, 2)
	require.Equal(t, 2, a.snapshot(t).Total, "what was removed stays removed")
}

// An edited prompt is answered again with nothing of what came after it.
// contract: F3
func TestEditRunsAgain(t *testing.T) {
	_, b, tab, last := two(t, nodeOptions{})
	row := b.snapshot(t).Document.Rows[0].Row.ID
	rec, err := b.do(t, regen.Command{Op: regen.OpEdit, Key: "e1", Revision: last.Revision, Row: row, Content: regen.Text("better")})
	require.NoError(t, err)
	require.NotEmpty(t, rec.Run)
	started := tab.until("the start", func(e stream.Event) bool { return e.Kind == stream.EventStarted && e.Started.Run == rec.Run }).Started
	require.Empty(t, started.Keep)
	c := b.model.next(t)
	require.Len(t, c.prompt.Rows, 1)
	require.Equal(t, "better", c.prompt.Rows[0].Content.Text())
	c.text(t, "good")
	c.end(t)
	tab.settled()
	require.Equal(t, 2, b.snapshot(t).Total)
}

// During an answer rows stay as they are, whoever asks; a new title does not wait for the answer on its node.
// contract: B1
func TestEditDuringARunIsRefused(t *testing.T) {
	a, b, tab, _ := two(t, nodeOptions{})
	sent := a.send(t, "k2", "q2")
	c := a.model.next(t)
	c.text(t, "half")
	tab.textIs("half")
	rev := a.snapshot(t).Head.Revision
	for i, n := range []*node{a, b} {
		for _, op := range []regen.Op{regen.OpUndo, regen.OpClear, regen.OpTruncate} {
			_, err := n.do(t, regen.Command{Op: op, Key: string(op) + n.name, Revision: rev})
			var busy *regen.BusyError
			require.ErrorAs(t, err, &busy, "node %d", i)
			require.Equal(t, sent.Run, busy.Run)
		}
	}
	rec, err := a.do(t, regen.Command{Op: regen.OpRename, Key: "r1", Title: "Chosen"})
	require.NoError(t, err)
	require.Equal(t, rev, rec.Revision, "a title makes nothing stale")
	tab.until("the title", func(e stream.Event) bool { return e.Kind == stream.EventSession && e.Change.Title == "Chosen" })
	c.text(t, " and half")
	tab.textIs("half and half")
	c.end(t)
	require.Equal(t, "completed", tab.settled().Outcome)
	require.Equal(t, "Chosen", a.snapshot(t).Document.Fields.Title)
}

// Of an edit and a send at the same moment each is whole: the loser changed nothing.
// contract: S10, A11
func TestEditRacesSend(t *testing.T) {
	a, b, tab, last := two(t, nodeOptions{})
	for i := range 6 {
		revision := last.Revision
		sent, done := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := a.Do(t.Context(), key, regen.Command{Op: regen.OpSend, Key: string(rune('A' + i)), Content: regen.Text("more"), Revision: revision})
			sent <- err
		}()
		go func() {
			_, err := b.Do(t.Context(), key, regen.Command{Op: regen.OpUndo, Key: string(rune('a' + i)), Revision: revision})
			done <- err
		}()
		sendErr, undoErr := wait(t, sent, "the send"), wait(t, done, "the undo")
		require.True(t, (sendErr == nil) != (undoErr == nil), "exactly one wins: %v, %v", sendErr, undoErr)
		if undoErr == nil {
			last = a.exchange(t, tab, "next"+string(rune('a'+i)), "again", "yes")
			continue
		}
		last = a.answer(t, tab, "yes")
	}
	snap := b.snapshot(t)
	require.Equal(t, last.Revision, snap.Head.Revision)
	require.Len(t, snap.Document.Context, len(snap.Document.Rows))
}

// An old answer can be chosen again on any node; a delayed click from before is stale, though the rows are the same (ATTACKS 11).
// contract: A11, F6
func TestSelectOnAnotherNode(t *testing.T) {
	a, b, tab, first := two(t, nodeOptions{})
	_, err := a.do(t, regen.Command{Op: regen.OpRegenerate, Key: "g1", Revision: first.Revision})
	require.NoError(t, err)
	second := a.answer(t, tab, "better")
	require.Len(t, second.Variants, 1)
	cmd := regen.Command{Op: regen.OpSelect, Key: "v1", Revision: second.Revision, Turn: second.Turn, Variant: second.Variants[0]}
	rec, err := b.do(t, cmd)
	require.NoError(t, err)
	ch := tab.change()
	require.Len(t, ch.Rows, 2)
	require.Contains(t, string(ch.Rows[1]), `"a1"`)
	require.Equal(t, rec.Revision, ch.Revision)
	for _, rev := range []string{first.Revision, second.Revision} {
		_, err = a.do(t, regen.Command{Op: regen.OpRegenerate, Key: "late" + rev, Revision: rev})
		var stale *regen.StaleRevisionError
		require.ErrorAs(t, err, &stale)
	}
	_, err = a.do(t, regen.Command{Op: regen.OpSelect, Key: "v2", Revision: rec.Revision, Turn: second.Turn, Variant: second.Variants[0]})
	require.ErrorIs(t, err, regen.ErrNoVariant, "it is current now")
}

// With the policy of restoring, a regenerate that says nothing gives the answer before it back in its own end.
func TestRestorePolicy(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{onFailure: turn.Restore})
	tab := n.read(t, n.send(t, "k1", "q").Cursor)
	first := n.answer(t, tab, "the answer")
	_, err := n.do(t, regen.Command{Op: regen.OpRegenerate, Key: "g1", Revision: first.Revision})
	require.NoError(t, err)
	c := n.model.next(t)
	c.fail <- &turn.SourceError{Code: "upstream_error", Message: "overloaded"}
	s := tab.settled()
	require.Equal(t, "failed", s.Outcome)
	require.Len(t, s.Rows, 2)
	require.Contains(t, string(s.Rows[1]), "the answer")
	require.NotEmpty(t, s.Revision)
	require.NotEqual(t, first.Revision, s.Revision)
	_, err = n.do(t, regen.Command{Op: regen.OpRegenerate, Key: "g2", Revision: first.Revision})
	var stale *regen.StaleRevisionError
	require.ErrorAs(t, err, &stale)
}

// A title given on a node that does not own the running answer is taken when that has ended, and cuts nothing.
func TestRenameOnAnotherNodeWaitsForTheEnd(t *testing.T) {
	a, b, tab, _ := two(t, nodeOptions{})
	a.send(t, "k2", "q2")
	c := a.model.next(t)
	c.text(t, "half")
	tab.textIs("half")
	named := make(chan error, 1)
	go func() {
		_, err := b.Do(t.Context(), key, regen.Command{Op: regen.OpRename, Key: "r1", Title: "Chosen"})
		named <- err
	}()
	c.text(t, " and half")
	tab.textIs("half and half")
	require.Empty(t, named)
	c.end(t)
	require.Equal(t, "completed", tab.settled().Outcome)
	require.NoError(t, wait(t, named, "the rename"))
	require.Equal(t, "Chosen", a.snapshot(t).Document.Fields.Title)
}

// A run that is active is not stopped for an edit: its end would make the edit stale (ATTACKS 25).
func TestEditsReplaceNoRun(t *testing.T) {
	a, b, tab, _ := two(t, nodeOptions{})
	a.send(t, "k2", "q2")
	c := a.model.next(t)
	c.text(t, "half")
	tab.textIs("half")
	for _, n := range []*node{a, b} {
		_, err := n.do(t, regen.Command{Op: regen.OpUndo, Key: "u" + n.name, Revision: a.snapshot(t).Head.Revision, Busy: turn.BusyReplace})
		var busy *regen.BusyError
		require.ErrorAs(t, err, &busy)
	}
	c.end(t)
	require.Equal(t, "completed", tab.settled().Outcome)
}
