package ownership

import "context"

// indexAgain asks for the index entries of keys to be written again. An entry can have got lost: the index lives on another shard
// than the leases, and a peer that believed this node dead may have cleared it.
func (k *Keeper) indexAgain(keys []string) {
	if len(keys) == 0 {
		return
	}
	k.mu.Lock()
	for _, key := range keys {
		k.again[key] = struct{}{}
	}
	k.mu.Unlock()
	select {
	case k.reindex <- struct{}{}:
	default:
	}
}

// runIndex writes index entries again until ctx ends. It is a goroutine of its own, so that renewals do not wait for it; what
// comes while a write is under way is merged.
func (k *Keeper) runIndex(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.reindex:
		}
		keys := k.takeAgain()
		if len(keys) == 0 {
			continue
		}
		err := k.call(ctx, "write index again", func(ctx context.Context) error {
			return k.store.IndexAdd(ctx, k.cfg.Node, keys...)
		})
		if err != nil && ctx.Err() == nil && k.cfg.Events.IndexFailed != nil {
			k.cfg.Events.IndexFailed(err)
		}
	}
}

// takeAgain empties the list, leaving out what is no longer held.
func (k *Keeper) takeAgain() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := make([]string, 0, len(k.again))
	for key := range k.again {
		if k.held[key] != nil {
			keys = append(keys, key)
		}
	}
	clear(k.again)
	return keys
}
