package ownership_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

// The tests of this file were written against deliberate faults of the Keeper (tests/mutate).

// slowStore answers late, as a store does over a bad network.
type slowStore struct {
	acquire, renew time.Duration // how long a call takes
	answers        atomic.Int32  // how many renewals get an answer; the others get none
	asked          atomic.Int64  // when the last answered renewal was asked for
	under, most    atomic.Int32  // renewals under way, and the most there were at a time
}

func (s *slowStore) Acquire(context.Context, ownership.Request) (ownership.Grant, error) {
	<-time.After(s.acquire)
	return ownership.Grant{Epoch: 1, Incarnation: "i"}, nil
}

func (s *slowStore) Renew(ctx context.Context, rs []ownership.Renewal) ([]ownership.Renewed, error) {
	asked := time.Now()
	s.most.Store(max(s.most.Load(), s.under.Add(1)))
	defer s.under.Add(-1)
	if s.answers.Add(-1) < 0 {
		<-ctx.Done()
		return nil, &ownership.UnknownError{Err: errors.New("no answer")}
	}
	<-time.After(s.renew)
	s.asked.Store(asked.UnixNano())
	got := make([]ownership.Renewed, len(rs))
	for i := range got {
		got[i].Status = ownership.RenewOK
	}
	return got, nil
}

func (*slowStore) Release(context.Context, ownership.Lease) error       { return nil }
func (*slowStore) IndexAdd(context.Context, string, ...string) error    { return nil }
func (*slowStore) IndexRemove(context.Context, string, ...string) error { return nil }
func (s *slowStore) run(t *testing.T, f func(t *testing.T, k *ownership.Keeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := ownership.NewKeeper(s, ownership.Config{Node: "a", Proc: "p"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = k.Run(ctx)
		}()
		f(t, k)
		cancel()
		<-done
	})
}

// sureUntil proves that h is trusted up to the moment and no longer.
func sureUntil(t *testing.T, h *ownership.Held, moment time.Time) {
	t.Helper()
	<-time.After(time.Until(moment) - time.Millisecond)
	require.True(t, h.Sure())
	<-time.After(time.Millisecond)
	require.False(t, h.Sure())
}

// A grant that came late is trusted from when it was asked for, less the margin.
// case: FC22
func TestLateGrantIsTrustedFromTheQuestion(t *testing.T) {
	s := &slowStore{acquire: 900 * time.Millisecond}
	s.run(t, func(t *testing.T, k *ownership.Keeper) {
		asked := time.Now()
		h, err := k.Acquire(t.Context(), "t/s", ownership.AcquireOptions{})
		require.NoError(t, err)
		sureUntil(t, h, asked.Add(9*time.Second))
	})
}

// So is a renewal; and while one is under way no second one is sent.
// case: FC22
func TestLateRenewalIsTrustedFromTheQuestion(t *testing.T) {
	s := &slowStore{renew: 900 * time.Millisecond}
	s.answers.Store(3)
	s.run(t, func(t *testing.T, k *ownership.Keeper) {
		h, err := k.Acquire(t.Context(), "t/s", ownership.AcquireOptions{})
		require.NoError(t, err)
		for s.answers.Load() >= 0 { // until the renewal that gets no answer
			<-time.After(100 * time.Millisecond)
		}
		require.True(t, h.Sure())
		sureUntil(t, h, time.Unix(0, s.asked.Load()).Add(9*time.Second))
		require.EqualValues(t, 1, s.most.Load())
	})
}

// slowPeers is a store that answers heartbeats late, with the counter of a node that stands still.
type slowPeers struct {
	first, sent time.Time // the first reply, and the last question that was answered
}

func (s *slowPeers) Beat(context.Context, string) (ownership.Pulse, error) {
	sent := time.Now()
	<-time.After(900 * time.Millisecond)
	s.sent = sent
	if s.first.IsZero() {
		s.first = time.Now()
	}
	return ownership.Pulse{Counters: map[string]int64{"b": 7}, Now: time.Now().UnixMilli()}, nil
}

func (*slowPeers) Look(_ context.Context, key string) (ownership.Lease, int64, error) {
	return ownership.Lease{Key: key}, time.Now().UnixMilli(), nil
}

func (s *slowPeers) Cut(ctx context.Context, key string) (ownership.Lease, int64, error) {
	return s.Look(ctx, key)
}
func (*slowPeers) IndexAdd(context.Context, string, ...string) error    { return nil }
func (*slowPeers) IndexRemove(context.Context, string, ...string) error { return nil }
func (*slowPeers) Leave(context.Context, string) error                  { return nil }
func (*slowPeers) IndexScan(context.Context, string, uint64, int) ([]string, uint64, error) {
	return nil, 0, nil
}

// A heartbeat stands still from the reply that first showed it to the question that showed it last: what a late reply says was true
// when it was asked for, at the earliest.
// contract: B5
func TestLateReplyProvesNoStandStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowPeers{}
		dead := make(chan string, 1)
		w := ownership.NewWatcher(s, ownership.WatcherConfig{
			Node: "a", Holds: func(string) bool { return false },
			OnDead: func(context.Context, string, ownership.Epoch) error { return nil },
			Events: ownership.WatcherEvents{Dead: func(node string) { dead <- node }},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = w.Run(ctx)
		}()
		require.Equal(t, "b", <-dead)
		require.GreaterOrEqual(t, s.sent.Sub(s.first), 3*time.Second)
		cancel()
		<-done
	})
}

// raceStore gives the first acquire the lower epoch, and its answer last.
type raceStore struct {
	slowStore
	calls atomic.Int32
	late  chan struct{}
}

func (s *raceStore) Acquire(context.Context, ownership.Request) (ownership.Grant, error) {
	n := s.calls.Add(1)
	if n == 1 {
		<-s.late
	}
	return ownership.Grant{Epoch: ownership.Epoch(n), Incarnation: "i"}, nil
}

// Of two actors of one process the one with the higher epoch has the session, in whatever order the answers come.
// contract: C5
func TestLateGrantOfALowerEpochLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &raceStore{late: make(chan struct{})}
		k := ownership.NewKeeper(s, ownership.Config{Node: "a", Proc: "p"})
		first := make(chan error)
		go func() {
			_, err := k.Acquire(t.Context(), "t/s", ownership.AcquireOptions{})
			first <- err
		}()
		synctest.Wait()
		h, err := k.Acquire(t.Context(), "t/s", ownership.AcquireOptions{})
		require.NoError(t, err)
		close(s.late)
		var lost *ownership.LostError
		require.ErrorAs(t, <-first, &lost)
		require.Equal(t, h.Epoch(), lost.Higher)
		require.NoError(t, h.Context().Err())
	})
}
