package ownership

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Keeper holds the leases of one process: it acquires, renews and gives back. Make one with NewKeeper; it renews while Run runs.
// Its methods may be called from many goroutines.
type Keeper struct {
	store Backend
	cfg   Config
	// base is where this Keeper's monotonic time begins.
	base time.Time
	// reindex wakes the goroutine that writes index entries again.
	reindex chan struct{}

	// mu guards the fields below. It is never held across a call to the store or to a callback.
	mu      sync.Mutex
	stopped bool
	held    map[string]*Held
	// moving counts, per key, the acquires and releases under way.
	moving map[string]int
	// again are the keys whose index entries are to be written again.
	again map[string]struct{}
}

// NewKeeper returns a Keeper over store. It panics on a configuration that Config.Validate refuses.
func NewKeeper(store Backend, cfg Config) *Keeper {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	return &Keeper{
		store: store, cfg: cfg.withDefaults(), base: time.Now(), reindex: make(chan struct{}, 1),
		held: map[string]*Held{}, moving: map[string]int{}, again: map[string]struct{}{},
	}
}

// Run renews until ctx ends, waits for the calls under way, ends the contexts of what is still held with ErrStopped (without
// releasing) and returns nil. Release before ending ctx. Run may be called once.
func (k *Keeper) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { k.runIndex(ctx) })
	// A fiftieth of the TTL is well within the margin, so a lease is told to be doubtful while it is still safe.
	tick := time.NewTicker(max(k.cfg.TTL/50, 2*time.Millisecond))
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			k.tick(ctx, &wg)
		}
	}
	wg.Wait()
	k.stop()
	return nil
}

func (k *Keeper) stop() {
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	for _, h := range k.all() {
		h.end(ErrStopped)
	}
}

// Holds says whether key is held, being acquired or being released here. The Watcher leaves such keys alone.
func (k *Keeper) Holds(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held[key] != nil || k.moving[key] > 0
}

// Len is how many leases are held.
func (k *Keeper) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.held)
}

func (k *Keeper) all() []*Held {
	k.mu.Lock()
	defer k.mu.Unlock()
	hs := make([]*Held, 0, len(k.held))
	for _, h := range k.held {
		hs = append(hs, h)
	}
	return hs
}

// move marks key as being acquired or released until the returned func is called.
func (k *Keeper) move(key string) func() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.moving[key]++
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.moving[key]--; k.moving[key] == 0 {
			delete(k.moving, key)
		}
	}
}

// keep makes h the holder of its key. It refuses a grant that another one of this process has overtaken.
func (k *Keeper) keep(h *Held) error {
	k.mu.Lock()
	old := k.held[h.key]
	switch {
	case k.stopped:
		k.mu.Unlock()
		return ErrStopped
	case old != nil && old.Epoch() > h.Epoch():
		k.mu.Unlock()
		return &LostError{Key: h.key, Epoch: h.Epoch(), Reason: LostHigher, Higher: old.Epoch()}
	}
	k.held[h.key] = h
	k.mu.Unlock()
	if old != nil {
		old.lose(LostHigher, h.Epoch())
	}
	return nil
}

func (k *Keeper) forget(h *Held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[h.key] == h {
		delete(k.held, h.key)
	}
}

// now is this Keeper's monotonic time.
func (k *Keeper) now() time.Duration { return time.Since(k.base) }

// call makes one bounded call to the store.
func (k *Keeper) call(ctx context.Context, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.CallTimeout)
	defer cancel()
	if err := f(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// pause waits before the next try of a call; it says false if ctx ended. It grows from 10 ms to about a second.
func pause(ctx context.Context, try int) bool {
	t := time.NewTimer(jitter(10 * time.Millisecond << min(try, 6)))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
