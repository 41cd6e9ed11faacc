package ownership

import (
	"context"
	"sync"
	"time"
)

// Watcher tells the other nodes that this one lives, and finds the sessions of those that do not. Make one with NewWatcher; it works
// while Run runs. Observe may be called from many goroutines, also before and after Run; without Run nothing is ever ready.
//
// It has its own opinion of time: heartbeats and deadlines are observed on this process' monotonic clock, and only while the store
// answers. After a silence of the store, a pause of this process or a step of the store's clock all observations begin again, and
// nothing busy is taken for one renewal period and a second, so that living owners can renew first.
type Watcher struct {
	store Peers
	cfg   WatcherConfig
	base  time.Time
	// looks and takes bound the looks and the callbacks under way; a callback that hangs stops no look.
	looks, takes chan struct{}

	// mu guards the fields below. It is never held across a call to the store or to a callback.
	mu sync.Mutex
	// beaten says that there was a heartbeat; answered is when the last one was answered, storeTime what the store's clock said.
	beaten    bool
	answered  time.Duration
	storeTime int64
	// quiet is until when nothing busy is taken.
	quiet time.Duration
	peers map[string]*peer
	seen  map[string]*sight
	// stale is since when an index entry, by node and key, did not fit its lease.
	stale map[[2]string]time.Duration
	// followed are the sessions with a goroutine that waits for their deadline.
	followed map[string]struct{}
}

// peer is a heartbeat under observation.
type peer struct {
	counter int64
	// since is when the counter was first seen to have this value; dead says that it stood still for long enough.
	since time.Duration
	dead  bool
	// walked is when the last walk over its index began, walking that one is under way.
	walked  time.Duration
	walking bool
}

// sight is a deadline under observation.
type sight struct {
	epoch Epoch
	until int64
	since time.Duration
	last  time.Duration
}

// NewWatcher returns a Watcher over store. It panics on a configuration that WatcherConfig.Validate refuses.
func NewWatcher(store Peers, cfg WatcherConfig) *Watcher {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	cfg = cfg.withDefaults()
	return &Watcher{
		store: store, cfg: cfg, base: time.Now(), looks: make(chan struct{}, cfg.Workers), takes: make(chan struct{}, cfg.Workers),

		peers: map[string]*peer{}, seen: map[string]*sight{}, stale: map[[2]string]time.Duration{}, followed: map[string]struct{}{},
	}
}

// Run beats, observes and walks until ctx ends, waits for its callbacks, takes this node off the list if its index is empty, and
// returns nil. Run may be called once.
func (w *Watcher) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { w.runOwn(ctx, &wg) })
	w.runBeat(ctx, &wg)
	wg.Wait()
	// A node that leaves something behind stays on the list, so that the others walk its index.
	_ = w.call(context.WithoutCancel(ctx), func(ctx context.Context) error { return w.store.Leave(ctx, w.cfg.Node) })
	return nil
}

// runBeat sends heartbeats. The next one does not wait for what the last one found.
func (w *Watcher) runBeat(ctx context.Context, wg *sync.WaitGroup) {
	tick := time.NewTicker(w.cfg.BeatEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		sent := w.now()
		var p Pulse
		err := w.call(ctx, func(ctx context.Context) (err error) {
			p, err = w.store.Beat(ctx, w.cfg.Node)
			return err
		})
		if ctx.Err() != nil {
			return
		}
		if w.cfg.Events.Beat != nil {
			w.cfg.Events.Beat(w.now()-sent, err)
		}
		if err == nil {
			for _, node := range w.pulse(p, sent, w.now()) {
				wg.Go(func() { w.walkDead(ctx, wg, node) })
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// runOwn walks this node's own index, at once and then every TTL: a session there that this process does not hold was acquired
// without an answer, or left by an actor or by the process before this one.
func (w *Watcher) runOwn(ctx context.Context, wg *sync.WaitGroup) {
	tick := time.NewTicker(w.cfg.TTL)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := w.walk(ctx, wg, w.cfg.Node, true); err != nil && ctx.Err() == nil {
			w.failed(w.cfg.Node, err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (w *Watcher) now() time.Duration { return time.Since(w.base) }

func (w *Watcher) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.CallTimeout)
	defer cancel()
	return f(ctx)
}

func (w *Watcher) failed(key string, err error) {
	if w.cfg.Events.Failed != nil {
		w.cfg.Events.Failed(key, err)
	}
}

// inSlot runs f when one of slots is free; it says false if ctx ended first.
func (w *Watcher) inSlot(ctx context.Context, slots chan struct{}, f func()) bool {
	select {
	case <-ctx.Done():
		return false
	case slots <- struct{}{}:
	}
	defer func() { <-slots }()
	f()
	return true
}
