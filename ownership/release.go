package ownership

import (
	"context"
	"errors"
)

// Release ends the hold, gives the lease back and removes it from the node's index. The context ends first, with ErrReleased. It
// compares the epoch, so a late release harms nobody; calling it again after a success, or after the lease was lost to another
// owner or abandoned, does nothing and returns nil.
//
// An unknown outcome is tried again until ctx ends. Errors: those of Store; then the lease lapses at its deadline, and the Watcher
// finds the index entry. Pass a context that is still alive, with a limit.
func (h *Held) Release(ctx context.Context) error {
	defer h.k.move(h.key)()
	h.end(ErrReleased)
	if h.nothingToRelease() {
		return nil
	}
	for try := 0; ; try++ {
		err := h.k.call(ctx, "release", func(ctx context.Context) error { return h.k.store.Release(ctx, h.lease()) })
		if err == nil {
			break
		}
		var unknown *UnknownError
		if !errors.As(err, &unknown) || !pause(ctx, try) {
			return err
		}
	}
	h.mu.Lock()
	h.freed = true
	h.mu.Unlock()
	if h.k.another(h) {
		return nil // a new hold of this process needs the entry
	}
	return h.k.call(ctx, "clear index", func(ctx context.Context) error {
		return h.k.store.IndexRemove(ctx, h.k.cfg.Node, h.key)
	})
}

// Abandon ends the hold without a word to the store: the lease lapses at its deadline, and the Watcher finds the index entry. The
// context ends with ErrAbandoned.
func (h *Held) Abandon() {
	h.mu.Lock()
	h.freed = true
	h.mu.Unlock()
	h.end(ErrAbandoned)
}

func (h *Held) nothingToRelease() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lost *LostError
	return h.freed || errors.As(context.Cause(h.ctx), &lost) && lost.Reason == LostHigher
}

// another says whether key is held by a later hold than h, or is being acquired beside h's release.
func (k *Keeper) another(h *Held) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held[h.key] != nil || k.moving[h.key] > 1
}
