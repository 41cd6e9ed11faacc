package ownership_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/ownership/redislease"
)

// world is a store and the nodes over it, inside a synctest bubble.
type world struct {
	*testing.T
	mini   *miniredis.Miniredis
	client *redis.Client
	// down makes every call of every node hang until its time-out.
	down atomic.Bool
	ends []func()
}

func newWorld(t *testing.T) *world {
	mini := miniredis.NewMiniRedis()
	first, err := mini.Dial() // starts the server without a listener
	require.NoError(t, err)
	require.NoError(t, first.Close())
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", MaxRetries: -1, ContextTimeoutEnabled: true, PoolSize: 512,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, far := newPipe()
			mini.Server().ServeConn(far)
			return near, nil
		},
	})
	return &world{T: t, mini: mini, client: client}
}

// end stops the nodes, last one first, then the store.
func (w *world) end() {
	w.down.Store(false)
	for i := len(w.ends) - 1; i >= 0; i-- {
		w.ends[i]()
	}
	require.NoError(w, w.client.Close())
	w.mini.Close()
}

// node is a process with its view of the store.
type node struct {
	*redislease.Store
	w      *world
	name   string
	keeper *ownership.Keeper
	watch  *ownership.Watcher
	kill   func()
	// loseReplies is how many replies to acquires get lost after they were applied; hangIndex stops index writes.
	loseReplies atomic.Int32
	hangIndex   atomic.Bool
	// away makes every call of this node fail at once.
	away     atomic.Bool
	renewals atomic.Int32
	looks    atomic.Int32

	mu    sync.Mutex
	found []found
	take  func(ctx context.Context, key string, observed ownership.Epoch) error
}

// found is a call of OnDead or OnGhost.
type found struct {
	key      string
	observed ownership.Epoch
	at       time.Time
}

func (w *world) node(name string) *node {
	n := &node{Store: redislease.New(w.client, redislease.Options{Chunk: 64}), w: w, name: name}
	n.keeper = ownership.NewKeeper(n, ownership.Config{Node: name, Proc: name + "-p"})
	n.watch = ownership.NewWatcher(n, ownership.WatcherConfig{
		Node: name, Holds: n.keeper.Holds,
		OnDead: func(ctx context.Context, key string, observed ownership.Epoch) error {
			n.mu.Lock()
			n.found = append(n.found, found{key, observed, time.Now()})
			take := n.take
			n.mu.Unlock()
			if take == nil {
				return nil
			}
			return take(ctx, key, observed)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.keeper.Run(ctx) })
	wg.Go(func() { _ = n.watch.Run(ctx) })
	n.kill = func() {
		cancel()
		wg.Wait()
	}
	w.ends = append(w.ends, n.kill)
	return n
}

// takeWith says what the node does with what it finds; without it, nothing.
func (n *node) takeWith(take func(ctx context.Context, key string, observed ownership.Epoch) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.take = take
}

func (n *node) calls() []found {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]found(nil), n.found...)
}

func (n *node) acquire(key string, o ownership.AcquireOptions) *ownership.Held {
	n.w.Helper()
	h, err := n.keeper.Acquire(n.w.Context(), key, o)
	require.NoError(n.w, err)
	return h
}

// busy makes the session exist with an active run.
func (w *world) busy(key, run string) {
	w.Helper()
	require.NoError(w, w.client.HSet(w.Context(), "hf1:{"+key+"}:head", "ver", "1", "run", run).Err())
}

func (w *world) indexed(node string) []string {
	w.Helper()
	keys, err := w.client.SMembers(w.Context(), "hf1:{node:"+node+"}").Result()
	require.NoError(w, err)
	return keys
}

func (w *world) listed(node string) bool {
	w.Helper()
	yes, err := w.client.HExists(w.Context(), "hf1:{nodes}", node).Result()
	require.NoError(w, err)
	return yes
}

// gate hangs while the store is down.
func (n *node) gate(ctx context.Context) error {
	if n.away.Load() {
		return ownership.ErrUnavailable
	}
	if !n.w.down.Load() {
		return nil
	}
	<-ctx.Done()
	return &ownership.UnknownError{Err: ctx.Err()}
}

func (n *node) Acquire(ctx context.Context, r ownership.Request) (ownership.Grant, error) {
	if err := n.gate(ctx); err != nil {
		return ownership.Grant{}, err
	}
	g, err := n.Store.Acquire(ctx, r)
	if n.loseReplies.Load() > 0 {
		n.loseReplies.Add(-1)
		return ownership.Grant{}, &ownership.UnknownError{Err: io.EOF}
	}
	return g, err
}

func (n *node) Renew(ctx context.Context, rs []ownership.Renewal) ([]ownership.Renewed, error) {
	if err := n.gate(ctx); err != nil {
		return nil, err
	}
	n.renewals.Add(1)
	return n.Store.Renew(ctx, rs)
}

func (n *node) Release(ctx context.Context, l ownership.Lease) error {
	if err := n.gate(ctx); err != nil {
		return err
	}
	return n.Store.Release(ctx, l)
}

func (n *node) Look(ctx context.Context, key string) (ownership.Lease, int64, error) {
	if err := n.gate(ctx); err != nil {
		return ownership.Lease{}, 0, err
	}
	n.looks.Add(1)
	return n.Store.Look(ctx, key)
}

func (n *node) Beat(ctx context.Context, node string) (ownership.Pulse, error) {
	if err := n.gate(ctx); err != nil {
		return ownership.Pulse{}, err
	}
	return n.Store.Beat(ctx, node)
}

func (n *node) IndexAdd(ctx context.Context, node string, keys ...string) error {
	if err := n.gate(ctx); err != nil {
		return err
	}
	if n.hangIndex.Load() {
		<-ctx.Done()
		return &ownership.UnknownError{Err: ctx.Err()}
	}
	return n.Store.IndexAdd(ctx, node, keys...)
}
