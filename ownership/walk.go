package ownership

import (
	"context"
	"sync"
)

// walkPage is how many index entries are asked for at a time.
const walkPage = 256

// walkDead walks the index of a node whose heartbeat stands still, and takes the node off the list when nothing is left.
func (w *Watcher) walkDead(ctx context.Context, wg *sync.WaitGroup, node string) {
	err := w.walk(ctx, wg, node, false)
	w.mu.Lock()
	if o := w.peers[node]; o != nil {
		o.walking = false
	}
	w.mu.Unlock()
	if err == nil && w.drained(node) {
		err = w.call(ctx, func(ctx context.Context) error { return w.store.Leave(ctx, node) })
	}
	if err != nil && ctx.Err() == nil {
		w.failed(node, err)
	}
}

// drained says whether node has been dead for so long that none of its calls can still arrive. Leave looks into the index itself.
func (w *Watcher) drained(node string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.peers[node]
	return o != nil && o.dead && w.now()-o.since > w.cfg.StandStill+w.cfg.TTL
}

// walk reads the index of node page by page and follows each session in it.
func (w *Watcher) walk(ctx context.Context, wg *sync.WaitGroup, node string, own bool) error {
	for cursor := uint64(0); ; {
		var keys []string
		err := w.call(ctx, func(ctx context.Context) (err error) {
			keys, cursor, err = w.store.IndexScan(ctx, node, cursor, walkPage)
			return err
		})
		if err != nil {
			return err
		}
		for _, key := range keys {
			if own && w.cfg.Holds(key) {
				w.fits(node, key)
				continue
			}
			if w.claim(key) {
				wg.Go(func() {
					defer w.unclaim(key)
					w.follow(ctx, node, key, own)
				})
			}
		}
		if cursor == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// claim says whether key has no follower yet; then it has one until unclaim.
func (w *Watcher) claim(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.followed[key]; ok {
		return false
	}
	w.followed[key] = struct{}{}
	return true
}

func (w *Watcher) unclaim(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followed, key)
}

// fits notes that an index entry agrees with its lease.
func (w *Watcher) fits(node, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.stale, [2]string{node, key})
}

// unfit notes that an index entry disagrees with its lease, and says whether it did so for a TTL. An entry is written before its
// session is acquired, so one look proves nothing.
func (w *Watcher) unfit(node, key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := [2]string{node, key}
	since, ok := w.stale[id]
	if !ok {
		w.stale[id] = w.now()
		return false
	}
	return w.now()-since >= w.cfg.TTL*9/10 // walks are a TTL apart, give or take
}
