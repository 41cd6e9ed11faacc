package turn_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/tests/redistest"
)

// The owner dies in mid-answer: another node settles the run once, keeps every word that was shown, and the person can go on.
// contract: C9
func TestDeadOwnerIsSettledByAnotherNode(t *testing.T) {
	store := newStore(t)
	o := nodeOptions{ttl: 2 * time.Second, watch: true}
	a, b := newNode(t, "a", store, o), newNode(t, "b", store, o)
	rec := a.send(t, "k1", "hello")
	r := b.read(t, rec.Cursor)
	c := a.model.next(t)
	c.text(t, "all ", "of ", "this")
	r.textIs("all of this")
	a.stop()
	s := r.settled()
	require.Equal(t, "interrupted", s.Outcome)
	require.Equal(t, regen.CauseOwnerLost, s.Cause)
	require.Equal(t, rec.Run, s.Run)
	require.Contains(t, string(s.Rows[1]), "all of this")
	require.Zero(t, r.resets)
	_, err := b.do(t, regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: s.Revision})
	require.NoError(t, err)
	b.model.next(t).end(t)
	r.settled()
}

// A stop that was recorded before the owner died decides how its run ends.
// contract: C10
func TestStopOutlivesTheOwner(t *testing.T) {
	store := newStore(t)
	o := nodeOptions{ttl: 2 * time.Second, watch: true}
	a, b := newNode(t, "a", store, o), newNode(t, "b", store, o)
	rec := a.send(t, "k1", "hello")
	r := b.read(t, rec.Cursor)
	a.model.next(t).text(t, "abc")
	r.textIs("abc")
	a.stop()
	res, err := b.Cancel(t.Context(), key, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, res.Answer)
	require.Equal(t, "cancelled", r.settled().Outcome)
}

// The store loses words that a person saw, without an error to anybody: the answer is stated again, whole, and the person gets a
// reset instead of a hole.
func TestStoreLosesTheTailOfTheLog(t *testing.T) {
	store := newStore(t)
	a := newNode(t, "a", store, nodeOptions{})
	r := a.read(t, a.send(t, "k1", "hello").Cursor)
	c := a.model.next(t)
	for _, w := range []string{"one ", "two ", "three "} {
		c.text(t, w)
		r.until(w, func(e stream.Event) bool { return e.Text == w })
	}
	damage(t, store, a, func(rdb *redis.Client, log string, ids []string) {
		require.NoError(t, rdb.XDel(t.Context(), log, ids[len(ids)-1]).Err())
	})
	c.text(t, "four")
	r.until("a reset", isReset)
	r.textIs("one two three four")
	c.end(t)
	s := r.settled()
	require.Equal(t, "completed", s.Outcome)
	require.Contains(t, string(s.Rows[1]), "one two three four")
}

// The store loses even the acceptance: it is made durable again, and nothing of the turn is lost.
func TestStoreLosesTheAcceptance(t *testing.T) {
	store := newStore(t)
	a := newNode(t, "a", store, nodeOptions{})
	r := a.read(t, a.send(t, "k0", "before").Cursor)
	a.model.next(t).end(t)
	r.settled()
	rdb := redis.NewClient(store)
	t.Cleanup(func() { _ = rdb.Close() })
	saved := dump(t, rdb)
	rec := a.send(t, "k1", "hello")
	c := a.model.next(t)
	c.text(t, "one ")
	r.textIs("one ")
	damage(t, store, a, func(rdb *redis.Client, _ string, _ []string) { restore(t, rdb, saved) })
	c.text(t, "two")
	r.until("a reset", isReset)
	r.textIs("one two")
	c.end(t)
	s := r.settled()
	require.Equal(t, rec.Run, s.Run)
	require.Contains(t, string(s.Rows[1]), "one two")
	snap := a.snapshot(t)
	require.Equal(t, "hello", snap.Document.Rows[len(snap.Document.Rows)-2].Row.Content.Text())
	again := a.send(t, "k1", "hello")
	require.True(t, again.Repeat)
}

// The store is away for several leases: nothing new is shown, nothing is accepted, and when it is back the same run goes on where it
// was. No answer is cut, though every lease has run out meanwhile.
func TestOutageCutsNoAnswer(t *testing.T) {
	store := newStore(t)
	o := nodeOptions{ttl: time.Second, watch: true}
	a, b := newNode(t, "a", store, o), newNode(t, "b", store, o)
	rec := a.send(t, "k1", "hello")
	r := b.read(t, rec.Cursor)
	c := a.model.next(t)
	c.text(t, "before ")
	r.textIs("before ")
	for _, n := range []*node{a, b} {
		n.reach(false)
	}
	c.text(t, "meanwhile ")
	outage := time.After(3 * o.ttl)
	_, err := a.do(t, regen.Command{Op: regen.OpSend, Key: "k2", Content: regen.Text("now?")})
	require.Error(t, err)
	<-outage
	require.Equal(t, "before ", r.text.String())
	for _, n := range []*node{a, b} {
		n.reach(true)
	}
	c.text(t, "after")
	r.textIs("before meanwhile after")
	c.end(t)
	s := r.settled()
	require.Equal(t, "completed", s.Outcome)
	require.Equal(t, rec.Run, s.Run)
	require.Zero(t, r.resets)
}

// An owner that was cut off comes back after another node took its session: it writes nothing, its model call ends, and everybody
// sees one end of the run.
// contract: C5
func TestCutOffOwnerIsFenced(t *testing.T) {
	store := newStore(t)
	o := nodeOptions{ttl: time.Second, watch: true}
	a, b := newNode(t, "a", store, o), newNode(t, "b", store, o)
	rec := a.send(t, "k1", "hello")
	near, far := a.read(t, rec.Cursor), b.read(t, rec.Cursor)
	c := a.model.next(t)
	c.text(t, "shown ")
	near.textIs("shown ")
	far.textIs("shown ")
	a.reach(false)
	c.text(t, "never shown")
	s := far.settled()
	require.Equal(t, "interrupted", s.Outcome)
	_, err := b.do(t, regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: s.Revision})
	require.NoError(t, err)
	second := b.model.next(t)
	second.text(t, "better")
	far.textIs("better")
	a.reach(true)
	wait(t, c.ctx.Done(), "the end of the old model call")
	require.Equal(t, "interrupted", near.settled().Outcome)
	second.end(t)
	require.Equal(t, "completed", near.settled().Outcome)
	require.Equal(t, "completed", far.settled().Outcome)
	require.NotContains(t, near.text.String(), "never")
	require.Zero(t, near.resets+far.resets)
}

func isReset(e stream.Event) bool { return e.Kind == stream.EventReset }

// Redis is killed and comes back without its last second, and no error reaches anybody: the answer is stated again, whole.
// attack: 1
func TestRestartedRedisLosesTheTail(t *testing.T) {
	srv := redistest.Server(t)
	a := newNode(t, "a", srv.Options(), nodeOptions{})
	r := a.read(t, a.send(t, "k1", "hello").Cursor)
	c := a.model.next(t)
	c.text(t, "one ")
	r.textIs("one ")
	rdb := redis.NewClient(srv.Options())
	require.NoError(t, rdb.Save(t.Context()).Err())
	require.NoError(t, rdb.Close())
	c.text(t, "two ")
	r.textIs("one two ")
	srv.Restart()
	c.text(t, "three")
	r.until("a reset", isReset)
	r.textIs("one two three")
	c.end(t)
	s := r.settled()
	require.Equal(t, "completed", s.Outcome)
	require.Contains(t, string(s.Rows[1]), "one two three")
}
