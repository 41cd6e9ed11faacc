package turn_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/turn"
)

// A person asks, sees the answer word by word and finds it in the document.
func TestSendStreamsAndSettles(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	rec := n.send(t, "k1", "hello")
	r := n.read(t, rec.Cursor)
	require.Nil(t, r.view.Document, "the receipt's cursor is accepted")
	c := n.model.next(t)
	require.Equal(t, "hello", c.prompt.Rows[len(c.prompt.Rows)-1].Content.Text())
	c.text(t, "Good ", "day")
	r.textIs("Good day")
	c.end(t)
	s := r.settled()
	require.Equal(t, "completed", s.Outcome)
	require.Len(t, s.Rows, 2)
	require.NotEmpty(t, s.Revision)
	require.Equal(t, stream.EventStarted, r.events[0].Kind)
	snap := n.snapshot(t)
	require.Equal(t, s.Revision, snap.Head.Revision)
	require.Equal(t, "Good day", snap.Document.Rows[1].Row.Content.Text())
	require.Empty(t, snap.Head.Run)
}

// A second click of the same button gives the first receipt; another text under the same key is refused.
func TestRepeatedKeyGivesTheFirstReceipt(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	first := n.send(t, "k1", "hello")
	again := n.send(t, "k1", "hello")
	require.True(t, again.Repeat)
	require.Equal(t, first.Run, again.Run)
	_, err := n.do(t, regen.Command{Op: regen.OpSend, Key: "k1", Content: regen.Text("other")})
	var reused *stream.KeyReusedError
	require.ErrorAs(t, err, &reused)
	_, err = n.do(t, regen.Command{Op: regen.OpSend, Key: "k2", Content: regen.Text("other")})
	var busy *regen.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, first.Run, busy.Run)
}

// Regenerate replaces the last answer; the old one becomes a variant and the old revision is void.
// contract: A11, A12
func TestRegenerateReplacesTheAnswer(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	c.text(t, "one")
	c.end(t)
	rev := r.settled().Revision
	_, err := n.do(t, regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: rev})
	require.NoError(t, err)
	c = n.model.next(t)
	require.Len(t, c.prompt.Rows, 1)
	c.text(t, "two")
	c.end(t)
	s := r.settled()
	require.Len(t, s.Rows, 2)
	require.Len(t, s.Variants, 1)
	require.NotEqual(t, rev, s.Revision)
	_, err = n.do(t, regen.Command{Op: regen.OpRegenerate, Key: "k3", Revision: rev})
	var stale *regen.StaleRevisionError
	require.ErrorAs(t, err, &stale)
}

// Stop keeps what was shown and ends the model call.
func TestCancelKeepsThePartialText(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	rec := n.send(t, "k1", "hello")
	r := n.read(t, rec.Cursor)
	c := n.model.next(t)
	c.text(t, "some ", "words")
	r.textIs("some words")
	res, err := n.Cancel(t.Context(), key, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, res.Answer)
	s := r.settled()
	require.Equal(t, "cancelled", s.Outcome)
	require.Len(t, s.Rows, 3)
	wait(t, c.ctx.Done(), "the end of the model call")
	res, err = n.Cancel(t.Context(), key, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	require.Equal(t, stream.StopLate, res.Answer)
	n.send(t, "k2", "more")
	c = n.model.next(t)
	require.Equal(t, "some words", c.prompt.Rows[1].Content.Text())
	c.end(t)
	r.settled()
}

// A stop pressed before the receipt came stops the turn that it is about; the prompt is kept.
func TestCancelOfAKeyBeforeItsAcceptance(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	r := n.read(t, n.send(t, "k0", "first").Cursor)
	n.model.next(t).end(t)
	r.settled()
	res, err := n.Cancel(t.Context(), key, stream.Stop{Of: "k1"})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, res.Answer)
	rec := n.send(t, "k1", "hello")
	s := r.settled()
	require.Equal(t, rec.Run, s.Run)
	require.Equal(t, "cancelled", s.Outcome)
	require.Empty(t, n.model.calls, "the model is not called")
}

// A model that fails leaves a clear end, and the turn can be tried again.
func TestModelErrorSettlesFailed(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	c.text(t, "so far")
	c.fail <- &turn.SourceError{Code: "upstream_error", Message: "The model server had an error."}
	s := r.settled()
	require.Equal(t, "failed", s.Outcome)
	require.Len(t, s.Rows, 3)
	require.Contains(t, string(s.Rows[2]), "The model server had an error.")
	require.NotEmpty(t, s.Revision)

	r2 := n.read(t, "")
	require.NotNil(t, r2.view.Document)
	require.Equal(t, s.Revision, r2.view.Revision)
	_, err := n.do(t, regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: s.Revision})
	require.NoError(t, err)
	c = n.model.next(t)
	c.fail <- errors.New("secret inside")
	s = r.settled()
	require.NotContains(t, string(s.Rows[len(s.Rows)-1]), "secret")
}

// A refused command writes nothing and creates nothing.
// contract: S5
func TestRefusedCommandsChangeNothing(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	_, err := n.do(t, regen.Command{Op: regen.OpRegenerate, Key: "k1", Revision: "x"})
	require.ErrorIs(t, err, stream.ErrNotFound)
	require.False(t, n.snapshot(t).Head.Exists())
	_, err = n.do(t, regen.Command{Op: regen.OpSend, Key: "k2"})
	require.ErrorIs(t, err, regen.ErrEmptyPrompt)
	require.Empty(t, n.snapshot(t).Head.Incarnation)
	require.Zero(t, n.Owned())
}

// Late join, a reload and a second node: all see one answer.
func TestReadersOnTwoNodes(t *testing.T) {
	store := newStore(t)
	a, b := newNode(t, "a", store, nodeOptions{}), newNode(t, "b", store, nodeOptions{})
	rec := a.send(t, "k1", "hello")
	near, far := a.read(t, rec.Cursor), b.read(t, rec.Cursor)
	c := a.model.next(t)
	c.text(t, "one ", "two ")
	near.textIs("one two ")
	far.textIs("one two ")
	late := b.read(t, "")
	require.NotNil(t, late.view.Run)
	late.textIs("one two ")
	c.text(t, "three")
	for _, r := range []*reader{near, far, late} {
		r.textIs("one two three")
	}
	c.end(t)
	for _, r := range []*reader{near, far, late} {
		require.Equal(t, "completed", r.settled().Outcome)
		require.Zero(t, r.resets)
	}
}

// An idle session goes to the node that needs it, at once; the old owner's tabs see everything.
func TestIdleTakeOver(t *testing.T) {
	store := newStore(t)
	a, b := newNode(t, "a", store, nodeOptions{}), newNode(t, "b", store, nodeOptions{})
	r := a.read(t, a.send(t, "k1", "hello").Cursor)
	a.model.next(t).end(t)
	r.settled()
	for i, n := range []*node{b, a, b} {
		n.send(t, "more"+string(rune('0'+i)), "again")
		c := n.model.next(t)
		c.text(t, n.name)
		c.end(t)
		require.Equal(t, "completed", r.settled().Outcome)
	}
	require.Zero(t, r.resets)
	require.Len(t, a.snapshot(t).Document.Rows, 8)
}

// Cancel works from the node that does not own the session.
func TestCancelFromAnotherNode(t *testing.T) {
	store := newStore(t)
	a, b := newNode(t, "a", store, nodeOptions{}), newNode(t, "b", store, nodeOptions{})
	rec := a.send(t, "k1", "hello")
	r := b.read(t, rec.Cursor)
	c := a.model.next(t)
	c.text(t, "abc")
	r.textIs("abc")
	res, err := b.Cancel(t.Context(), key, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, res.Answer)
	require.Equal(t, "cancelled", r.settled().Outcome)
}

// Two commands at one moment on two nodes: one is accepted, the other is told why not.
// contract: S17, A11
func TestRaceOfTwoNodesHasOneWinner(t *testing.T) {
	store := newStore(t)
	a, b := newNode(t, "a", store, nodeOptions{}), newNode(t, "b", store, nodeOptions{})
	r := a.read(t, a.send(t, "k0", "hello").Cursor)
	a.model.next(t).end(t)
	for i := range 20 {
		rev := r.settled().Revision
		var errs [2]error
		var wg sync.WaitGroup
		id := string(rune('a' + i))
		wg.Go(func() {
			_, errs[0] = a.do(t, regen.Command{Op: regen.OpRegenerate, Key: "r" + id, Revision: rev})
		})
		wg.Go(func() {
			_, errs[1] = b.do(t, regen.Command{Op: regen.OpSend, Key: "s" + id, Content: regen.Text("next")})
		})
		wg.Wait()
		if errs[0] == nil {
			var busy *regen.BusyError
			require.ErrorAs(t, errs[1], &busy)
			a.model.next(t).end(t)
		} else {
			require.NoError(t, errs[1])
			var stale *regen.StaleRevisionError
			var busy *regen.BusyError
			require.True(t, errors.As(errs[0], &stale) || errors.As(errs[0], &busy), "%v", errs[0])
			b.model.next(t).end(t)
		}
	}
	r.settled()
	require.Zero(t, r.resets)
}

// A command may replace the run that is active: that run is stopped, its text kept, and the command is next.
func TestBusyReplace(t *testing.T) {
	store := newStore(t)
	a, b := newNode(t, "a", store, nodeOptions{}), newNode(t, "b", store, nodeOptions{})
	r := b.read(t, a.send(t, "k1", "hello").Cursor)
	a.model.next(t).text(t, "abc")
	r.textIs("abc")
	_, err := b.do(t, regen.Command{Op: regen.OpSend, Key: "k2", Content: regen.Text("rather this"), Busy: turn.BusyReplace})
	require.NoError(t, err)
	require.Equal(t, "cancelled", r.settled().Outcome)
	b.model.next(t).end(t)
	r.settled()
	require.Equal(t, "abc", a.snapshot(t).Document.Rows[1].Row.Content.Text())
}
