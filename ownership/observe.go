package ownership

import "time"

// observeAgain is how long to wait when there is nothing better to wait for.
const observeAgain = 100 * time.Millisecond

// Observe says whether the busy lease l, just read from the store at the store's time now, may be taken with its epoch as
// Request.Observed. It may when the deadline has passed, and the owner's heartbeat stood still or this very deadline was seen
// unchanged for StandStill, and the store answered all the while. If not, wait is how long to wait before reading and asking again,
// never 0; a living owner will have moved the deadline by then.
//
// l.TTL may be 0 (a HeldError does not tell it); then a far deadline is waited for.
func (w *Watcher) Observe(l Lease, now int64) (ready bool, wait time.Duration) {
	mono := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.beaten || mono-w.answered > w.cfg.Silence {
		// Nothing is proven before the first answer, and a silence going on will end in a damping.
		return false, max(w.cfg.RenewEvery, observeAgain)
	}
	s := w.seen[l.Key]
	if s == nil || s.epoch != l.Epoch || s.until != l.Until {
		s = &sight{epoch: l.Epoch, until: l.Until, since: mono}
		w.seen[l.Key] = s
	}
	s.last = mono
	wait = max(w.quiet-mono, l.Left(now))
	if p := w.peers[l.Node]; p == nil || !p.dead {
		wait = max(wait, w.cfg.StandStill-(mono-s.since))
	}
	if wait > 0 {
		// The store counts in whole milliseconds: a deadline that is a fraction away is still there.
		return false, wait + time.Millisecond
	}
	return true, 0
}
