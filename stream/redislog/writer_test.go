package redislog_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/stream"
	"holdfast/stream/redislog"
	"holdfast/stream/redislog/embedded"
)

// Close writes what waits before it ends; what comes after is told that it was not written.
func TestCloseWrites(t *testing.T) {
	each(t, func(t *testing.T, o *redis.Options) {
		b := backend(t, o, redislog.Options{})
		a := newActor(t, b)
		a.accept("k1")
		s := redislog.New(redislog.Single(o), redislog.Options{})
		got := make(chan stream.AppendResult, 2)
		put := func() {
			s.Append(a.key, stream.Entry{ID: a.at.Next(), Kind: stream.KindText}, func(r stream.AppendResult) { got <- r })
		}
		put() // before Run: it waits
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wg.Go(func() { _ = s.Run(ctx) })
		require.Equal(t, stream.AppendDone, await(t, got).Status)
		wg.Wait()
		require.Error(t, s.Run(t.Context()))
		put()
		r := await(t, got)
		require.Equal(t, stream.AppendFailed, r.Status)
		require.ErrorIs(t, r.Err, stream.ErrUnavailable)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
	})
}

// What does not fit the queue is refused, and what waits in it is still written.
func TestQueueBounded(t *testing.T) {
	srv := embedded.New(embedded.Config{})
	t.Cleanup(srv.Close)
	b := backend(t, srv.Options(), redislog.Options{})
	a := newActor(t, b)
	a.accept("k1")
	s := redislog.New(redislog.Single(srv.Options()), redislog.Options{QueueBytes: 2000})
	got := make(chan stream.AppendResult, 2)
	for i, data := range []string{"small", strings.Repeat("x", 2000)} {
		id := a.at.Next()
		id.Seq += uint64(i)
		s.Append(a.key, stream.Entry{ID: id, Kind: stream.KindText, Data: data}, func(r stream.AppendResult) { got <- r })
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(context.Background()) })
	require.Equal(t, stream.AppendDone, await(t, got).Status)
	r := await(t, got)
	require.Equal(t, stream.AppendFailed, r.Status)
	require.ErrorIs(t, r.Err, stream.ErrUnavailable)
	require.NoError(t, s.Close())
	wg.Wait()
}

// A node that is alone publishes nothing of what it writes.
func TestSoloIsSilent(t *testing.T) {
	each(t, func(t *testing.T, o *redis.Options) {
		b := backend(t, o, redislog.Options{Solo: true})
		a := newActor(t, b)
		got := make(chan stream.Wake, 100)
		defer b.Store.Follow(a.key, func(w stream.Wake) { got <- w })()
		waitConfirmed(t, got)
		a.accept("k1")
		a.token("x")
		a.settle()
		require.NoError(t, b.Do(t.Context(), "PUBLISH", "hf1:{"+a.key.String()+"}:wake", "cI\n1-1 t 0\n"))
		require.Equal(t, "I", await(t, got).Incarnation, "the first wake after the confirmation")
	})
}

// Large entries wake without copies, on both ways.
func TestLargeCopies(t *testing.T) {
	each(t, func(t *testing.T, o *redis.Options) {
		b := backend(t, o, redislog.Options{CopyBytes: 10})
		a := newActor(t, b)
		got := make(chan stream.Wake, 100)
		defer b.Store.Follow(a.key, func(w stream.Wake) { got <- w })()
		waitConfirmed(t, got)
		c := a.acceptance("k1")
		c.Entries[0].Data = strings.Repeat("x", 11)
		a.must(c)
		require.Equal(t, stream.Wake{}, await(t, got))
		a.token(strings.Repeat("x", 11))
		require.Equal(t, stream.Wake{}, await(t, got))
		a.token("small")
		require.Equal(t, "small", await(t, got).Entries[0].Data)
	})
}

// A settlement brings the copy of the token before it, which may still be on its way: readers find no hole between them.
func TestWakeLeads(t *testing.T) {
	srv := embedded.New(embedded.Config{})
	t.Cleanup(srv.Close)
	hook := &publishHook{held: make(chan struct{}), release: make(chan struct{})}
	connect := func(tune func(*redis.Options)) redis.UniversalClient {
		c := redislog.Single(srv.Options())(tune)
		c.AddHook(hook)
		return c
	}
	b := backend(t, srv.Options(), redislog.Options{})
	b.Store = open(t, connect, redislog.Options{})
	a := newActor(t, b)
	a.accept("k1")
	got := make(chan stream.Wake, 100)
	defer b.Store.Follow(a.key, func(w stream.Wake) { got <- w })()
	waitConfirmed(t, got)
	a.token("x")
	await(t, hook.held)
	a.settle()
	w := await(t, got)
	close(hook.release)
	require.Len(t, w.Entries, 2)
	require.Equal(t, w.Entries[0].ID.Next(), w.Entries[1].ID)
	require.Equal(t, "x", await(t, got).Entries[0].Data)
}

// publishHook holds pipelines that publish back until it is released.
type publishHook struct {
	slotHook
	held, release chan struct{}
}

func (h *publishHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "publish" {
			close(h.held)
			<-h.release
		}
		return next(ctx, cmds)
	}
}

// All keys of a script lie in one slot of a cluster.
func TestKeysShareSlot(t *testing.T) {
	srv := embedded.New(embedded.Config{})
	t.Cleanup(srv.Close)
	hook := &slotHook{}
	connect := func(tune func(*redis.Options)) redis.UniversalClient {
		c := redislog.Single(srv.Options())(tune)
		c.AddHook(hook)
		return c
	}
	b := backend(t, srv.Options(), redislog.Options{})
	b.Store = open(t, connect, redislog.Options{})
	a := newActor(t, b)
	a.accept("k1")
	a.token("x")
	a.check()
	a.read()
	_, err := b.Store.Page(t.Context(), a.key, a.at, 1)
	require.NoError(t, err)
	_, err = b.Store.Cancel(t.Context(), a.key, stream.Stop{Run: a.run})
	require.NoError(t, err)
	hook.mu.Lock()
	defer hook.mu.Unlock()
	require.GreaterOrEqual(t, hook.scripts, 5)
	require.Empty(t, hook.mixed)
}

// slotHook looks at the keys of every script.
type slotHook struct {
	mu      sync.Mutex
	scripts int
	mixed   []string
}

func (h *slotHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *slotHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.look(cmd)
		return next(ctx, cmd)
	}
}

func (h *slotHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *slotHook) look(cmd redis.Cmder) {
	args := cmd.Args()
	if !strings.HasPrefix(strings.ToLower(cmd.Name()), "eval") {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scripts++
	n := args[2].(int)
	for _, k := range args[3 : 3+n] {
		if tag(k.(string)) != tag(args[3].(string)) {
			h.mixed = append(h.mixed, k.(string))
		}
	}
}

func tag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	t, _, _ := strings.Cut(rest, "}")
	return t
}
