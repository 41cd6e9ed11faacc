package ownership_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

// settle is what an engine does with a session whose owner is gone.
func (n *node) settle(ctx context.Context, key string, observed ownership.Epoch) error {
	h, err := n.keeper.Acquire(ctx, key, ownership.AcquireOptions{Observed: observed})
	if err != nil {
		return err
	}
	n.w.busy(key, "")
	return h.Release(ctx)
}

// What a killed node was doing is ended by the others within a TTL and a second, once each, and nothing is left of the node.
// contract: B5, B6
// case: FC25
func TestKilledOwnerIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a := w.node("a")
		others := []*node{w.node("b"), w.node("c")}
		for _, n := range others {
			n.takeWith(n.settle)
		}
		time.Sleep(5 * time.Second)
		held := map[string]ownership.Epoch{}
		for i := range 300 { // more than one page
			key := fmt.Sprintf("t/s%d", i)
			held[key] = a.acquire(key, ownership.AcquireOptions{}).Epoch()
			w.busy(key, "r"+key)
		}
		time.Sleep(30 * time.Second)
		for _, n := range others {
			require.Empty(t, n.calls())
		}
		a.kill()
		died := time.Now()
		time.Sleep(11 * time.Second)
		got := map[string]ownership.Epoch{}
		for _, n := range others {
			require.Greater(t, len(n.calls()), 50, "the work is shared")
			for _, f := range n.calls() {
				require.Less(t, f.at.Sub(died), 11*time.Second)
				require.GreaterOrEqual(t, f.at.Sub(died), 5500*time.Millisecond)
				got[f.key] = f.observed
			}
		}
		require.Equal(t, held, got)
		require.Equal(t, 300, len(others[0].calls())+len(others[1].calls()), "courtesy kept the second from running too")
		require.Empty(t, w.indexed("a"))
		time.Sleep(25 * time.Second)
		require.False(t, w.listed("a"))
		require.Empty(t, w.indexed("b"))
	})
}

// A store that is away for longer than the leases last cuts no run: owners renew before anybody may take anything.
// contract: B5
func TestOutageCutsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a, b := w.node("a"), w.node("b")
		b.takeWith(b.settle)
		var all []*ownership.Held
		for i := range 100 {
			h := a.acquire(fmt.Sprintf("t/s%d", i), ownership.AcquireOptions{})
			w.busy(h.Key(), "r1")
			all = append(all, h)
		}
		time.Sleep(20 * time.Second)
		w.down.Store(true)
		a.away.Store(true)
		time.Sleep(12 * time.Second)
		beats := w.mini.HGet("hf1:{nodes}", "b")
		w.down.Store(false) // for b first
		for w.mini.HGet("hf1:{nodes}", "b") == beats {
			time.Sleep(10 * time.Millisecond)
		}
		for i := range 150 { // clients come to b again and again
			time.Sleep(100 * time.Millisecond)
			if i == 34 { // longer than StandStill, shorter than a renewal period and a second
				a.away.Store(false)
			}
			b.refuses("t/s7")
		}
		for _, h := range all {
			require.True(t, h.Sure(), h.Key())
		}
		require.Empty(t, b.calls())
	})
}

// refuses looks at a session as a client's contact does and wants that it may not be taken.
func (n *node) refuses(key string) {
	n.w.Helper()
	l, now, err := n.Look(n.w.Context(), key)
	require.NoError(n.w, err)
	ready, wait := n.watch.Observe(l, now)
	require.False(n.w, ready)
	require.Positive(n.w, wait)
}

// A client that meets a dead owner's session first may have it, not before its deadline and three seconds of standing still.
func TestObserveContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		b := w.node("b")
		lease := func(until int64) ownership.Lease {
			return ownership.Lease{Key: "t/s", Node: "gone", Epoch: 7, Until: until, TTL: 10 * time.Second}
		}
		now := func() int64 { return time.Now().UnixMilli() }
		synctest.Wait()
		until := now() + 5000
		ready, wait := b.watch.Observe(lease(until), now())
		require.False(t, ready)
		require.InDelta(t, 5, wait.Seconds(), 0.01)
		time.Sleep(wait)
		ready, _ = b.watch.Observe(lease(until), now())
		require.True(t, ready)

		// It moved: its owner lives, and the watch begins anew.
		until++
		ready, wait = b.watch.Observe(lease(until), now())
		require.False(t, ready)
		require.InDelta(t, 3, wait.Seconds(), 0.01)
		time.Sleep(2900 * time.Millisecond)
		ready, _ = b.watch.Observe(lease(until), now())
		require.False(t, ready)
		time.Sleep(200 * time.Millisecond)
		ready, _ = b.watch.Observe(lease(until), now())
		require.True(t, ready)

		// A store that is silent proves nothing.
		w.down.Store(true)
		time.Sleep(2500 * time.Millisecond)
		ready, _ = b.watch.Observe(lease(until), now())
		require.False(t, ready)
	})
}

// Nobody judges before the first answer of the store.
func TestObserveWithoutAnswer(t *testing.T) {
	w := ownership.NewWatcher(nil, ownership.WatcherConfig{
		Node: "a", Holds: func(string) bool { return false },
		OnDead: func(context.Context, string, ownership.Epoch) error { return nil },
	})
	ready, wait := w.Observe(ownership.Lease{Key: "t/s", Node: "b", Epoch: 1}, 1)
	require.False(t, ready)
	require.Positive(t, wait)
}

// A step of the store's clock, forward or back, cuts no living run, and a dead owner is found all the same.
// case: FC22
func TestClockStep(t *testing.T) {
	for _, step := range []time.Duration{time.Minute, -2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.end()
			a, b := w.node("a"), w.node("b")
			b.takeWith(b.settle)
			var all []*ownership.Held // many, so that some renewals come late
			for i := range 50 {
				h := a.acquire(fmt.Sprintf("t/s%d", i), ownership.AcquireOptions{})
				w.busy(h.Key(), "r1")
				all = append(all, h)
			}
			time.Sleep(20 * time.Second)
			var offset atomic.Int64
			offset.Store(int64(step))
			stop := w.clock(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
			defer stop()
			for range 20 {
				for _, h := range all {
					b.refuses(h.Key())
				}
				time.Sleep(250 * time.Millisecond)
			}
			for _, h := range all {
				require.True(t, h.Sure())
			}
			require.Empty(t, b.calls())

			a.kill()
			died := time.Now()
			offset.Add(-int64(2 * time.Minute)) // and once more, while nobody renews
			time.Sleep(30 * time.Second)
			require.Len(t, b.calls(), 50)
			for _, f := range b.calls() {
				require.Less(t, f.at.Sub(died), 20*time.Second, "a far deadline was cut")
			}
		})
	}
}

// clock sets the store's clock every 10 ms until the returned func is called.
func (w *world) clock(now func() time.Time) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.mini.SetTime(now())
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			w.mini.SetTime(now())
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// A node that stood still for a while and came back keeps what nobody needed to take.
func TestPausedOwnerComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		b := w.node("b")
		ctx := t.Context()
		ask := ownership.Request{Key: "t/s", Node: "a", Proc: "p", Req: "q", TTL: 10 * time.Second, Incarnation: "i"}
		g, err := b.Store.Acquire(ctx, ask)
		require.NoError(t, err)
		w.busy("t/s", "r1")
		require.NoError(t, b.Store.IndexAdd(ctx, "a", "t/s"))
		_, err = b.Store.Beat(ctx, "a")
		require.NoError(t, err)
		time.Sleep(8 * time.Second) // a's counter stands still, b waits for the deadline
		again := []ownership.Renewal{{Key: "t/s", Node: "a", Proc: "p", Epoch: g.Epoch, TTL: 10 * time.Second}}
		looks := int32(0)
		for i := range 25 {
			if i == 12 {
				looks = b.looks.Load()
			}
			_, err = b.Store.Beat(ctx, "a")
			require.NoError(t, err)
			got, err := b.Store.Renew(ctx, again)
			require.NoError(t, err)
			require.Equal(t, ownership.RenewOK, got[0].Status)
			time.Sleep(time.Second)
		}
		require.Empty(t, b.calls())
		require.Equal(t, looks, b.looks.Load(), "b waits for nothing any more")
		require.Equal(t, []string{"t/s"}, w.indexed("a"))
		time.Sleep(15 * time.Second) // now it is dead
		require.NotEmpty(t, b.calls())
	})
}

// A node that is started again under its name ends what the process before it left.
// case: FC25
func TestRestartedNodeFindsItsPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		n := w.node("a")
		ask := ownership.Request{Key: "t/s", Node: "a", Proc: "earlier", Req: "q", TTL: 10 * time.Second, Incarnation: "i"}
		g, err := n.Store.Acquire(t.Context(), ask)
		require.NoError(t, err)
		w.busy("t/s", "r1")
		require.NoError(t, n.Store.IndexAdd(t.Context(), "a", "t/s"))
		n.takeWith(n.settle)
		time.Sleep(25 * time.Second)
		require.Len(t, n.calls(), 1)
		require.Equal(t, g.Epoch, n.calls()[0].observed)
		require.Empty(t, w.indexed("a"))
	})
}

// A callback that failed is called again, and what it could not end stays in the index.
func TestFailedCallbackIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a, b := w.node("a"), w.node("b")
		b.takeWith(func(context.Context, string, ownership.Epoch) error { return ownership.ErrUnavailable })
		a.acquire("t/s", ownership.AcquireOptions{})
		w.busy("t/s", "r1")
		time.Sleep(2 * time.Second)
		a.kill()
		time.Sleep(50 * time.Second)
		require.GreaterOrEqual(t, len(b.calls()), 3)
		require.Equal(t, []string{"t/s"}, w.indexed("a"))
		require.True(t, w.listed("a"))
	})
}

// A node that leaves in order is off the list at once.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		a, b := w.node("a"), w.node("b")
		h := a.acquire("t/s", ownership.AcquireOptions{})
		time.Sleep(3 * time.Second)
		require.True(t, w.listed("a"))
		require.NoError(t, h.Release(t.Context()))
		a.kill()
		require.False(t, w.listed("a"))
		time.Sleep(30 * time.Second)
		require.Empty(t, b.calls())
	})
}
