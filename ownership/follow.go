package ownership

import (
	"context"
	"hash/fnv"
	"time"
)

// courtesy is how long a node waits after the deadline when another one is the first choice for a session, so that the nodes do not
// all run for the same lease. Nothing depends on it.
const courtesy = 300 * time.Millisecond

// follow waits until the lease of key, found in the index of node, may be taken, and calls OnDead or, for the own index, OnGhost.
func (w *Watcher) follow(ctx context.Context, node, key string, own bool) {
	l, ok := w.await(ctx, node, key, own)
	if ok && !own && !w.preferred(key) {
		if !sleep(ctx, courtesy) {
			return
		}
		l, ok = w.await(ctx, node, key, own)
	}
	if ok {
		w.take(ctx, node, l, own)
	}
}

// await returns the lease when it may be taken. It gives up when the lease moves or its owner comes back: a later walk begins again.
func (w *Watcher) await(ctx context.Context, node, key string, own bool) (first Lease, ok bool) {
	for n := 0; ; n++ {
		l, now, err := w.look(ctx, key)
		if n == 0 {
			first = l
		}
		switch {
		case err != nil:
			if ctx.Err() == nil {
				w.failed(key, err)
			}
			return Lease{}, false
		case l.Node != node:
			w.clearStale(ctx, node, key)
			return Lease{}, false
		case l.Epoch != first.Epoch || l.Until > first.Until || w.revived(node, key, own):
			return Lease{}, false
		}
		w.fits(node, key)
		ready, wait := w.Observe(l, now)
		if ready {
			return l, true
		}
		if !sleep(ctx, wait) {
			return Lease{}, false
		}
	}
}

// revived says whether there is no reason any more to take key from node.
func (w *Watcher) revived(node, key string, own bool) bool {
	if own {
		return w.cfg.Holds(key)
	}
	return !w.dead(node)
}

// look reads a lease, and cuts a deadline that only a clock's step can have put so far away.
func (w *Watcher) look(ctx context.Context, key string) (l Lease, now int64, err error) {
	asked := w.inSlot(ctx, w.looks, func() {
		err = w.call(ctx, func(ctx context.Context) (err error) {
			if l, now, err = w.store.Look(ctx, key); err == nil && l.Far(now) {
				l, now, err = w.store.Cut(ctx, key)
			}
			return err
		})
	})
	if !asked {
		err = ctx.Err()
	}
	return l, now, err
}

// take hands the session to the callback and removes the index entry that led here, if the lease has moved.
func (w *Watcher) take(ctx context.Context, node string, l Lease, own bool) {
	call := w.cfg.OnDead
	if own {
		call = w.cfg.OnGhost
	}
	var err error
	if !w.inSlot(ctx, w.takes, func() { err = call(ctx, l.Key, l.Epoch) }) {
		return
	}
	if err != nil {
		if ctx.Err() == nil {
			w.failed(l.Key, err)
		}
		return
	}
	after, _, err := w.look(ctx, l.Key)
	if err == nil && after.Node != node {
		w.removeEntry(ctx, node, l.Key)
	}
}

// clearStale removes an index entry that has not fitted its lease for a TTL.
func (w *Watcher) clearStale(ctx context.Context, node, key string) {
	if node == w.cfg.Node && w.cfg.Holds(key) || !w.unfit(node, key) {
		return
	}
	w.removeEntry(ctx, node, key)
}

func (w *Watcher) removeEntry(ctx context.Context, node, key string) {
	if node == w.cfg.Node && w.cfg.Holds(key) {
		return
	}
	err := w.call(ctx, func(ctx context.Context) error { return w.store.IndexRemove(ctx, node, key) })
	if err == nil {
		w.fits(node, key)
	} else if ctx.Err() == nil {
		w.failed(key, err)
	}
}

// preferred says whether this node is the first choice for key among those alive (rendezvous hashing).
func (w *Watcher) preferred(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := weight(w.cfg.Node, key)
	for node, o := range w.peers {
		if !o.dead && weight(node, key) > mine {
			return false
		}
	}
	return true
}

func weight(node, key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key + "\n" + node)) // never fails
	return h.Sum64()
}

// sleep says false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
