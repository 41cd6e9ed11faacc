package turn_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"holdfast/ownership"
	"holdfast/ownership/redislease"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog"
	"holdfast/stream/redislog/embedded"
	"holdfast/stream/turn"
)

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{}) // a store that is away is what some tests are about
	// After a refused dial the client looks for the server once more, a second later, and ends then.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// limit is ten times what anything here needs.
const limit = 20 * time.Second

var key = regen.Key{Tenant: "main", Session: "s1"}

// node is one holdfast node without sockets, over a store that it shares with others.
type node struct {
	*turn.Engine
	name   string
	log    *redislog.Store
	keeper *ownership.Keeper
	hub    *stream.Hub
	model  *model
	cut    func()     // ends the store's connections of this node
	reach  func(bool) // whether this node reaches the store
	stop   func()     // as SIGTERM after which nothing is drained: actors end as they are
}

type nodeOptions struct {
	ttl, idle time.Duration
	watch     bool
	onFailure string
	poll      time.Duration
}

// newNode starts a node on the store at opts. It stops with the test.
func newNode(t *testing.T, name string, opts *redis.Options, o nodeOptions) *node {
	t.Helper()
	if o.ttl == 0 {
		o.ttl = 10 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{name: name, model: &model{calls: make(chan *call, 64)}}
	own := *opts
	conns := &conns{dial: opts.Dialer}
	if conns.dial == nil {
		conns.dial = redis.NewDialer(&own)
	}
	own.Dialer = conns.Dial
	opts, n.cut, n.reach = &own, conns.cut, conns.reach
	n.log = redislog.New(redislog.Single(opts), redislog.Options{PingEvery: -1, Timeout: limit})
	client := redis.NewClient(opts)
	leases := redislease.New(client, redislease.Options{})
	n.keeper = ownership.NewKeeper(leases, ownership.Config{Node: name, Proc: name + "-1", TTL: o.ttl})
	n.hub = stream.NewHub(n.log, n.log, stream.HubConfig{Poll: o.poll})
	watcher := ownership.NewWatcher(leases, ownership.WatcherConfig{
		Node: name, TTL: o.ttl, BeatEvery: o.ttl / 20, StandStill: o.ttl / 5, Holds: n.keeper.Holds,
		OnDead: func(ctx context.Context, k string, observed ownership.Epoch) error {
			sk, err := regen.ParseKey(k)
			if err != nil {
				return err
			}
			return n.Recover(ctx, sk, observed)
		},
	})
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	n.Engine = turn.New(n.log, n.keeper, watcher, n.hub, n.model, turn.Config{Node: name, IdleRelease: o.idle, OnFailure: o.onFailure, Logger: logger.With("node", name)})
	unfollow := n.log.FollowNode(name, n.Stopped)
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.log.Run(ctx) })
	wg.Go(func() { _ = n.keeper.Run(ctx) })
	if o.watch {
		wg.Go(func() { _ = watcher.Run(ctx) })
	}
	var once sync.Once
	n.stop = func() {
		once.Do(func() {
			n.hub.Close()
			unfollow()
			n.Engine.Close()
			cancel()
			wg.Wait()
			_ = n.log.Close()
			_ = client.Close()
		})
	}
	t.Cleanup(n.stop)
	return n
}

func newStore(t *testing.T) *redis.Options {
	t.Helper()
	s := embedded.New(embedded.Config{})
	t.Cleanup(s.Close)
	return s.Options()
}

// model is a source that the test drives: each run's call arrives on calls.
type model struct{ calls chan *call }

type call struct {
	prompt turn.Prompt
	ctx    context.Context
	say    chan turn.Delta
	fail   chan error
}

func (m *model) Generate(ctx context.Context, p turn.Prompt) iter.Seq2[turn.Delta, error] {
	return func(yield func(turn.Delta, error) bool) {
		c := &call{prompt: p, ctx: ctx, say: make(chan turn.Delta), fail: make(chan error)}
		m.calls <- c
		for {
			select {
			case d := <-c.say:
				if !yield(d, nil) || d.Finish != "" {
					return
				}
			case err := <-c.fail:
				yield(turn.Delta{}, err)
				return
			case <-ctx.Done():
				yield(turn.Delta{}, ctx.Err())
				return
			}
		}
	}
}

// next waits for the next run's model call.
func (m *model) next(t *testing.T) *call {
	t.Helper()
	return wait(t, m.calls, "a model call")
}

func (c *call) text(t *testing.T, words ...string) {
	t.Helper()
	for _, w := range words {
		c.send(t, turn.Delta{Kind: turn.Text, Text: w})
	}
}

func (c *call) end(t *testing.T) {
	t.Helper()
	c.send(t, turn.Delta{Finish: "stop"})
}

func (c *call) send(t *testing.T, d turn.Delta) {
	t.Helper()
	select {
	case c.say <- d:
	case <-c.ctx.Done():
		t.Fatal("the model call ended before it could say: " + d.Text)
	case <-time.After(limit):
		t.Fatal("nobody listens to the model")
	}
}

func wait[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		t.Fatal("waited too long for " + what)
	}
	panic("unreachable")
}

// reader is a tab: it folds the events of a session.
type reader struct {
	t       *testing.T
	sub     *stream.Subscription
	ready   chan struct{}
	view    stream.View
	events  []stream.Event // taken
	pending []stream.Event // pulled, not taken
	text    strings.Builder
	resets  int
}

func (n *node) read(t *testing.T, cursor string) *reader {
	t.Helper()
	r := &reader{t: t, ready: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var err error
	r.sub, r.view, err = n.hub.Attach(ctx, key, cursor, func() {
		select {
		case r.ready <- struct{}{}:
		default:
		}
	})
	require.NoError(t, err)
	t.Cleanup(r.sub.Close)
	return r
}

// until pulls events until ok says so of one.
func (r *reader) until(what string, ok func(stream.Event) bool) stream.Event {
	r.t.Helper()
	deadline := time.After(limit)
	for {
		if len(r.pending) == 0 {
			r.pending, _ = r.sub.Pull(1 << 20)
		}
		for len(r.pending) > 0 {
			ev := r.pending[0]
			r.pending = r.pending[1:]
			r.events = append(r.events, ev)
			switch ev.Kind {
			case stream.EventDelta:
				if ev.Delta == stream.KindText {
					r.text.WriteString(ev.Text)
				}
			case stream.EventReset, stream.EventStarted:
				r.text.Reset()
				if ev.Kind == stream.EventReset {
					r.resets++
				}
			}
			if ok(ev) {
				return ev
			}
		}
		select {
		case <-r.ready:
		case <-deadline:
			r.t.Fatalf("waited too long for %s; seen %+v", what, r.events)
		}
	}
}

func (r *reader) settled() *stream.Settled {
	r.t.Helper()
	return r.until("settled", func(e stream.Event) bool { return e.Kind == stream.EventSettled }).Settled
}

func (r *reader) textIs(want string) {
	r.t.Helper()
	if r.text.String() == want {
		return
	}
	r.until("text "+want, func(stream.Event) bool { return r.text.String() == want })
}

func (n *node) send(t *testing.T, cmdKey, text string) stream.Receipt {
	t.Helper()
	rec, err := n.do(t, regen.Command{Op: regen.OpSend, Key: cmdKey, Content: regen.Text(text)})
	require.NoError(t, err)
	return rec
}

func (n *node) do(t *testing.T, c regen.Command) (stream.Receipt, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return n.Do(ctx, key, c)
}

func (n *node) snapshot(t *testing.T) stream.Snapshot {
	t.Helper()
	s, err := n.log.Read(t.Context(), key, stream.Query{})
	require.NoError(t, err)
	return s
}

// damage changes the stored log behind the owner's back, as a restart of the store with older data does, and has the owner's
// writer connect anew.
func damage(t *testing.T, opts *redis.Options, n *node, change func(rdb *redis.Client, log string, ids []string)) {
	t.Helper()
	rdb := redis.NewClient(opts)
	defer func() { _ = rdb.Close() }()
	log := "hf1:{" + key.String() + "}:log"
	entries, err := rdb.XRange(t.Context(), log, "-", "+").Result()
	require.NoError(t, err)
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	change(rdb, log, ids)
	n.cut()
}

// dump and restore copy the session's keys.
func dump(t *testing.T, rdb *redis.Client) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, name := range []string{"lease", "head", "doc", "keys", "cancel"} {
		out[name] = rdb.HGetAll(t.Context(), sessionKey(name)).Val()
	}
	for _, name := range []string{"rows", "ctx"} {
		out[name] = rdb.LRange(t.Context(), sessionKey(name), 0, -1).Val()
	}
	out["log"] = rdb.XRange(t.Context(), sessionKey("log"), "-", "+").Val()
	return out
}

func restore(t *testing.T, rdb *redis.Client, saved map[string]any) {
	t.Helper()
	ctx := t.Context()
	for name, v := range saved {
		k := sessionKey(name)
		require.NoError(t, rdb.Del(ctx, k).Err())
		switch v := v.(type) {
		case map[string]string:
			if len(v) > 0 {
				require.NoError(t, rdb.HSet(ctx, k, v).Err())
			}
		case []string:
			for _, x := range v {
				require.NoError(t, rdb.RPush(ctx, k, x).Err())
			}
		case []redis.XMessage:
			for _, x := range v {
				require.NoError(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: k, ID: x.ID, Values: x.Values}).Err())
			}
		}
	}
}

func sessionKey(name string) string { return "hf1:{" + key.String() + "}:" + name }

// conns are a node's connections to the store.
type conns struct {
	dial func(context.Context, string, string) (net.Conn, error)
	mu   sync.Mutex // guards what follows
	all  []net.Conn
	away bool
}

func (c *conns) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, errors.New("the store is away")
	}
	conn, err := c.dial(ctx, network, addr)
	if err == nil {
		c.all = append(c.all, conn)
	}
	return conn, err
}

func (c *conns) reach(yes bool) {
	c.mu.Lock()
	c.away = !yes
	c.mu.Unlock()
	c.cut()
}

func (c *conns) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		_ = conn.Close()
	}
	c.all = nil
}
