package ownership

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Held is one actor's hold on one session. It moves through these states, all in this file:
//
//	sure -> doubtful   no renewal since TTL - margin before
//	doubtful -> sure   a late renewal found the same epoch
//	either -> ended    lost, released, abandoned, Keeper stopped; final
type Held struct {
	k      *Keeper
	key    string
	grant  Grant
	alive  func() bool
	onStop func(run string)

	ctx     context.Context
	cancel  context.CancelCauseFunc
	changed chan struct{}
	// sureUntil is the end of trust in the Keeper's monotonic time. It is written with mu held.
	sureUntil atomic.Int64
	ended     atomic.Bool

	// mu guards the fields below.
	mu       sync.Mutex
	run      string
	doubtful bool
	// due is when the next renewal is to be sent; inFlight says that one is under way.
	due      time.Duration
	inFlight bool
	// mute is since when the actor does not answer; 0 when it does.
	mute time.Duration
	// freed says that nothing is left to release.
	freed bool
}

func newHeld(k *Keeper, key string, g Grant, asked time.Duration, o AcquireOptions) *Held {
	h := &Held{
		k: k, key: key, grant: g, alive: o.Alive, onStop: o.OnStop, run: g.Run, changed: make(chan struct{}, 1),
		due: asked + jitter(k.cfg.RenewEvery),
	}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	h.sureUntil.Store(int64(asked + k.cfg.TTL - k.cfg.Margin))
	return h
}

// Context ends when the lease is lost, released or abandoned, or the Keeper stopped. Its cause is a *LostError, ErrReleased,
// ErrAbandoned or ErrStopped.
func (h *Held) Context() context.Context { return h.ctx }

// Sure says whether the lease is certainly still ours: no other node can have been granted it, unless the store's clock jumped.
// When false, accept, append and show nothing.
func (h *Held) Sure() bool {
	return !h.ended.Load() && int64(h.k.now()) < h.sureUntil.Load()
}

// Changed wakes when the lease became doubtful or sure again. It carries nothing and may merge wakes: ask Sure. The end is told by
// Context.
func (h *Held) Changed() <-chan struct{} { return h.changed }

// Key is the session, "tenant/session".
func (h *Held) Key() string { return h.key }

// Epoch is the lease's epoch.
func (h *Held) Epoch() Epoch { return h.grant.Epoch }

// Grant is what the store said when the lease was acquired.
func (h *Held) Grant() Grant { return h.grant }

// SetRun tells the renewals which run is active, so that they learn of its stop; "" when idle. At first it is the grant's run.
func (h *Held) SetRun(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.run = run
}

func (h *Held) lease() Lease {
	return Lease{Key: h.key, Node: h.k.cfg.Node, Proc: h.k.cfg.Proc, Epoch: h.grant.Epoch, TTL: h.k.cfg.TTL}
}

// advance moves the state to now and says whether a renewal is to be sent; the renewal then counts as in flight.
func (h *Held) advance(now time.Duration) (renew bool) {
	answers := h.alive == nil || h.alive()
	h.mu.Lock()
	lost := LostReason("")
	doubt := now - time.Duration(h.sureUntil.Load())
	turned := h.turn(doubt >= 0)
	if doubt > h.k.cfg.Doubt {
		lost = LostDoubt
	}
	switch {
	case answers:
		h.mute = 0
	case h.mute == 0:
		h.mute = max(now, 1)
	case now-h.mute > h.k.cfg.TTL:
		lost = LostWedged
	}
	if answers && lost == "" && !h.inFlight && now >= h.due {
		h.inFlight, renew = true, true
	}
	h.mu.Unlock()
	h.tell(turned, doubt >= 0)
	if lost != "" {
		h.lose(lost, 0)
	}
	return renew
}

// turn sets doubtful and says whether it changed. mu is held.
func (h *Held) turn(doubtful bool) bool {
	if h.ended.Load() || h.doubtful == doubtful {
		return false
	}
	h.doubtful = doubtful
	select {
	case h.changed <- struct{}{}:
	default:
	}
	return true
}

func (h *Held) tell(turned, doubtful bool) {
	if turned && h.k.cfg.Events.Doubt != nil {
		h.k.cfg.Events.Doubt(h.key, doubtful)
	}
}

// answered takes in the reply to a renewal for run that was sent at asked.
func (h *Held) answered(asked time.Duration, run string, r Renewed) {
	now := h.k.now()
	h.mu.Lock()
	h.inFlight = false
	turned := false
	switch r.Status {
	case RenewOK:
		h.due = asked + jitter(h.k.cfg.RenewEvery)
		lapsed := int64(now) >= h.sureUntil.Load()
		sure := asked + h.k.cfg.TTL - h.k.cfg.Margin
		if int64(sure) > h.sureUntil.Load() {
			h.sureUntil.Store(int64(sure))
		}
		if now < sure {
			turned = h.turn(false)
			if lapsed && !turned {
				select {
				case h.changed <- struct{}{}:
				default:
				}
			}
		}
	default:
		// Soon again: several tries must fit between a missed renewal and the doubt.
		h.due = now + jitter(h.k.cfg.RenewEvery/8)
	}
	h.mu.Unlock()
	h.tell(turned, false)
	switch r.Status {
	case RenewLost:
		h.lose(LostHigher, r.Higher)
	case RenewGone:
		h.lose(LostGone, 0)
	}
	if r.Stop && run != "" && h.onStop != nil && !h.ended.Load() {
		h.onStop(run)
	}
}

func (h *Held) lose(why LostReason, higher Epoch) {
	err := &LostError{Key: h.key, Epoch: h.grant.Epoch, Reason: why, Higher: higher}
	if h.end(err) && h.k.cfg.Events.Lost != nil {
		h.k.cfg.Events.Lost(err)
	}
}

// end is the last transition. It says whether it was this call that ended the Held.
func (h *Held) end(cause error) bool {
	if !h.ended.CompareAndSwap(false, true) {
		return false
	}
	h.k.forget(h)
	h.cancel(cause)
	return true
}
