package ownership_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

func lost(t *testing.T, h *ownership.Held) *ownership.LostError {
	t.Helper()
	var l *ownership.LostError
	require.ErrorAs(t, context.Cause(h.Context()), &l)
	require.False(t, h.Sure())
	return l
}

// A store that does not answer for 12 seconds makes an owner silent, not dead: it goes on where it was.
// contract: B5
func TestLateRenewalResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		h := n.acquire("t/s", ownership.AcquireOptions{})
		time.Sleep(time.Minute)
		require.True(t, h.Sure())
		require.Positive(t, n.renewals.Load())
		select {
		case <-h.Changed():
			t.Fatal("nothing changed")
		default:
		}

		w.down.Store(true)
		start := time.Now()
		<-h.Changed()
		require.False(t, h.Sure())
		require.InDelta(t, 7, time.Since(start).Seconds(), 2.5, "TTL - margin after the last renewal")
		time.Sleep(12*time.Second - time.Since(start))
		require.NoError(t, h.Context().Err())
		w.down.Store(false)
		<-h.Changed()
		require.True(t, h.Sure())
		require.Less(t, time.Since(start), 14*time.Second)
		require.NoError(t, h.Context().Err())
	})
}

// An owner stops trusting its lease a margin before anybody else can be granted it, counted from before it asked.
// case: FC22
func TestSureEndsBeforeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		h := n.acquire("t/s", ownership.AcquireOptions{})
		w.down.Store(true)
		time.Sleep(9*time.Second - time.Millisecond)
		require.True(t, h.Sure())
		time.Sleep(time.Millisecond)
		require.False(t, h.Sure())
		w.down.Store(false)
		l, now, err := n.Look(t.Context(), "t/s")
		require.NoError(t, err)
		require.GreaterOrEqual(t, l.Until-now, int64(990))
	})
}

// Whoever was overtaken learns it with the next renewal and stops.
// contract: C5
// case: FC24
func TestHigherEpochEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a, b := w.node("a"), w.node("b")
		h := a.acquire("t/s", ownership.AcquireOptions{})
		o := b.acquire("t/s", ownership.AcquireOptions{})
		start := time.Now()
		<-h.Context().Done()
		require.Less(t, time.Since(start), 4100*time.Millisecond)
		l := lost(t, h)
		require.Equal(t, ownership.LostHigher, l.Reason)
		require.Equal(t, o.Epoch(), l.Higher)
		require.NoError(t, h.Release(t.Context()))
		require.True(t, o.Sure())
		require.False(t, a.keeper.Holds("t/s"))
	})
}

// A lease that the store forgot is no permission.
// contract: C6
// case: FC18
func TestForgottenLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		h := w.node("a").acquire("t/s", ownership.AcquireOptions{})
		w.mini.FlushAll()
		<-h.Context().Done()
		require.Equal(t, ownership.LostGone, lost(t, h).Reason)
		require.False(t, w.mini.Exists("hf1:{t/s}:lease"))
	})
}

// A doubt that lasts a minute ends: a model is not paid for ever for an answer that nobody can be shown.
func TestDoubtEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		h := w.node("a").acquire("t/s", ownership.AcquireOptions{})
		w.down.Store(true)
		start := time.Now()
		<-h.Context().Done()
		require.Equal(t, ownership.LostDoubt, lost(t, h).Reason)
		require.InDelta(t, 69, time.Since(start).Seconds(), 0.5)
	})
}

// An actor that hangs loses its session instead of blocking it for ever; one that hangs for a moment does not.
// contract: B4
func TestWedgedActorIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		start := time.Now()
		h := n.acquire("t/s", ownership.AcquireOptions{Alive: func() bool {
			up := time.Since(start)
			return up < 30*time.Second || up > 39*time.Second && up < time.Minute
		}})
		time.Sleep(50 * time.Second)
		require.True(t, h.Sure())
		<-h.Context().Done()
		require.Equal(t, ownership.LostWedged, lost(t, h).Reason)
		require.InDelta(t, 70, time.Since(start).Seconds(), 0.5)
		l, now, err := n.Look(t.Context(), "t/s")
		require.NoError(t, err)
		require.Less(t, l.Until, now)

		// The next actor has the session; what the wedged one does in the end takes nothing from it.
		next := n.acquire("t/s", ownership.AcquireOptions{})
		require.NoError(t, h.Release(t.Context()))
		require.Equal(t, []string{"t/s"}, w.indexed("a"))
		require.True(t, next.Sure())
		require.Equal(t, "a", w.mini.HGet("hf1:{t/s}:lease", "node"))
	})
}

// A stop whose wake got lost arrives with a renewal.
// contract: C13, C16
func TestStopComesWithRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		stops := make(chan string, 100)
		h := n.acquire("t/s", ownership.AcquireOptions{OnStop: func(run string) { stops <- run }})
		h.SetRun("r2")
		w.mini.HSet("hf1:{t/s}:cancel", "r1", "1 x")
		time.Sleep(20 * time.Second)
		require.Empty(t, stops)
		w.mini.HSet("hf1:{t/s}:cancel", "r2", "1 x")
		start := time.Now()
		require.Equal(t, "r2", <-stops)
		require.Less(t, time.Since(start), 4100*time.Millisecond)
	})
}

// A reply that got lost is asked for again: one grant, one epoch, one marker.
func TestUnknownAcquireIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		n.loseReplies.Store(3)
		h := n.acquire("t/s", ownership.AcquireOptions{})
		entries, err := w.mini.Stream("hf1:{t/s}:log")
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.True(t, h.Grant().Fresh)
		require.True(t, strings.HasPrefix(entries[0].ID, w.mini.HGet("hf1:{t/s}:lease", "epoch")+"-"))
	})
}

// An acquire given up without an answer is found by the node itself, although its heart beats.
func TestGhostIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		n.takeWith(func(ctx context.Context, key string, observed ownership.Epoch) error {
			h, err := n.keeper.Acquire(ctx, key, ownership.AcquireOptions{Observed: observed})
			if err != nil {
				return err
			}
			return h.Release(ctx)
		})
		n.loseReplies.Store(1000)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := n.keeper.Acquire(ctx, "t/s", ownership.AcquireOptions{})
		var unknown *ownership.UnknownError
		require.ErrorAs(t, err, &unknown)
		require.False(t, n.keeper.Holds("t/s"))
		n.loseReplies.Store(0)
		time.Sleep(25 * time.Second)
		require.Len(t, n.calls(), 1)
		require.Empty(t, w.indexed("a"))
		require.Empty(t, w.mini.HGet("hf1:{t/s}:lease", "node"))
		require.False(t, w.mini.Exists("hf1:{t/s}:log"), "nothing is left of a session that never was")
	})
}

// A busy session is refused by name, and asking leaves nothing behind for long.
// contract: B2
func TestBusyIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a, b := w.node("a"), w.node("b")
		h := a.acquire("t/s", ownership.AcquireOptions{})
		w.busy("t/s", "r1")
		_, err := b.keeper.Acquire(t.Context(), "t/s", ownership.AcquireOptions{})
		var held *ownership.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, "a", held.Owner)
		require.Equal(t, "r1", held.Run)
		time.Sleep(45 * time.Second)
		require.Empty(t, w.indexed("b"))
		require.Empty(t, b.calls())
		require.True(t, h.Sure())
	})
}

// A release gives the session back once, and leaves nothing to look for.
// contract: C7
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a, b := w.node("a"), w.node("b")
		h := a.acquire("t/s", ownership.AcquireOptions{})
		require.Equal(t, []string{"t/s"}, w.indexed("a"))
		w.busy("t/s", "")
		require.NoError(t, h.Release(t.Context()))
		require.ErrorIs(t, context.Cause(h.Context()), ownership.ErrReleased)
		require.Empty(t, w.indexed("a"))
		require.Zero(t, a.keeper.Len())
		o := b.acquire("t/s", ownership.AcquireOptions{})
		require.NoError(t, h.Release(t.Context()))
		time.Sleep(10 * time.Second)
		require.True(t, o.Sure())
		require.Greater(t, o.Epoch(), h.Epoch())
	})
}

// What was abandoned lapses, and is found.
func TestAbandon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		h := n.acquire("t/s", ownership.AcquireOptions{})
		w.busy("t/s", "r1")
		h.Abandon()
		require.ErrorIs(t, context.Cause(h.Context()), ownership.ErrAbandoned)
		require.NoError(t, h.Release(t.Context()))
		time.Sleep(25 * time.Second)
		require.NotEmpty(t, n.calls())
		require.Equal(t, found{"t/s", h.Epoch(), n.calls()[0].at}, n.calls()[0])
	})
}

// An epoch belongs to one actor: the second one of a process ends the first.
// contract: C4
// case: FC16
func TestSecondActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		h := n.acquire("t/s", ownership.AcquireOptions{})
		w.busy("t/s", "r1")
		again := n.acquire("t/s", ownership.AcquireOptions{})
		require.Greater(t, again.Epoch(), h.Epoch())
		require.Equal(t, ownership.LostHigher, lost(t, h).Reason)
		require.NoError(t, h.Release(t.Context()))
		require.True(t, again.Sure())
		require.Equal(t, []string{"t/s"}, w.indexed("a"))
		time.Sleep(time.Minute)
		require.True(t, again.Sure())
	})
}

// Renewals wait for nothing: not for an index that cannot be written.
func TestRenewalsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		var all []*ownership.Held
		for _, key := range []string{"t/1", "t/2", "t/3", "t/4"} {
			all = append(all, n.acquire(key, ownership.AcquireOptions{}))
		}
		n.hangIndex.Store(true)
		w.mini.Del("hf1:{node:a}")
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			for _, h := range all {
				require.True(t, h.Sure())
			}
		}
		require.Empty(t, w.indexed("a"))
		n.hangIndex.Store(false)
		time.Sleep(6 * time.Second)
		require.ElementsMatch(t, []string{"t/1", "t/2", "t/3", "t/4"}, w.indexed("a"), "a lost index comes back")
	})
}

// When the keeper stops, nobody believes to own anything any more.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		h := n.acquire("t/s", ownership.AcquireOptions{})
		n.kill()
		require.ErrorIs(t, context.Cause(h.Context()), ownership.ErrStopped)
		require.False(t, h.Sure())
		_, err := n.keeper.Acquire(t.Context(), "t/r", ownership.AcquireOptions{})
		require.ErrorIs(t, err, ownership.ErrStopped)
		require.Empty(t, w.mini.HGet("hf1:{t/r}:lease", "node"))
	})
}

// A configuration that cannot keep a lease is refused at the start, all of it at once.
func TestConfig(t *testing.T) {
	require.NoError(t, ownership.Config{Node: "a", Proc: "p"}.Validate())
	err := ownership.Config{TTL: time.Second, RenewEvery: time.Second}.Validate()
	require.ErrorContains(t, err, "process id")
	require.ErrorContains(t, err, "cannot keep")
	require.Panics(t, func() { ownership.NewKeeper(nil, ownership.Config{}) })
	require.Panics(t, func() { ownership.NewWatcher(nil, ownership.WatcherConfig{}) })
}
