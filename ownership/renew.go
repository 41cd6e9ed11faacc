package ownership

import (
	"context"
	"errors"
	"sync"
)

// renewBatch bounds the leases of one renewal call. Real Redis takes about 10 ms for so many, the embedded store 30 ms: far below the
// call's time-out.
const renewBatch = 1024

// tick moves every lease's state on and sends the renewals that are due. It does not wait for them: the clock of one lease never
// stands behind the call of another.
func (k *Keeper) tick(ctx context.Context, wg *sync.WaitGroup) {
	now := k.now()
	var due []*Held
	for _, h := range k.all() {
		if h.advance(now) {
			due = append(due, h)
		}
	}
	for len(due) > 0 {
		n := min(len(due), renewBatch)
		batch := due[:n:n]
		due = due[n:]
		wg.Go(func() { k.renew(ctx, batch) })
	}
}

// renew sends one batch and hands out the answers.
func (k *Keeper) renew(ctx context.Context, batch []*Held) {
	ask := make([]Renewal, len(batch))
	for i, h := range batch {
		h.mu.Lock()
		ask[i] = Renewal{Key: h.key, Node: k.cfg.Node, Proc: k.cfg.Proc, Epoch: h.grant.Epoch, TTL: k.cfg.TTL, Run: h.run}
		h.mu.Unlock()
	}
	var got []Renewed
	asked := k.now()
	err := k.call(ctx, "renew", func(ctx context.Context) (err error) {
		got, err = k.store.Renew(ctx, ask)
		return err
	})
	if err == nil && len(got) != len(batch) {
		err = errors.New("renew: answers do not match the leases")
	}
	if err != nil {
		got = make([]Renewed, len(batch)) // all unknown
	}
	var renewed []string
	for i, h := range batch {
		h.answered(asked, ask[i].Run, got[i])
		if got[i].Status == RenewOK {
			renewed = append(renewed, h.key)
		}
		if err == nil && got[i].Err != nil {
			err = got[i].Err
		}
	}
	k.indexAgain(renewed)
	if k.cfg.Events.Renewed != nil {
		k.cfg.Events.Renewed(len(batch), k.now()-asked, err)
	}
}
