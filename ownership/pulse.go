package ownership

import (
	"fmt"
	"maps"
	"time"
)

// pulse takes in a heartbeat's answer, asked for at sent and received at now, and gives the dead nodes whose index is to be walked.
func (w *Watcher) pulse(p Pulse, sent, now time.Duration) (walk []string) {
	var told []func()
	w.mu.Lock()
	if reason := w.disturbed(p, now); reason != "" {
		w.damp(now)
		if w.cfg.Events.Damped != nil {
			told = append(told, func() { w.cfg.Events.Damped(reason) })
		}
	}
	w.beaten, w.answered, w.storeTime = true, now, p.Now
	maps.DeleteFunc(w.peers, func(node string, _ *peer) bool { _, ok := p.Counters[node]; return !ok })
	for node, counter := range p.Counters {
		if node == w.cfg.Node {
			continue
		}
		was := false
		o := w.peers[node]
		if o != nil {
			was = o.dead
		}
		o = w.observePeer(node, counter, sent, now)
		if o.dead != was {
			tell := w.cfg.Events.Back
			if o.dead {
				tell = w.cfg.Events.Dead
			}
			if tell != nil {
				told = append(told, func() { tell(node) })
			}
		}
		if o.dead && !o.walking && (!was || now-o.walked >= w.cfg.TTL) {
			o.walking, o.walked = true, now
			walk = append(walk, node)
		}
	}
	w.prune(now)
	w.mu.Unlock()
	for _, f := range told {
		f()
	}
	return walk
}

// disturbed says why the observations up to now prove nothing; "" when they do. mu is held.
func (w *Watcher) disturbed(p Pulse, now time.Duration) string {
	if !w.beaten {
		return ""
	}
	passed := now - w.answered
	if passed > w.cfg.Silence {
		return fmt.Sprintf("no answer from the store for %v", passed.Round(time.Millisecond))
	}
	step := time.Duration(p.Now-w.storeTime)*time.Millisecond - passed
	if step.Abs() > w.cfg.Silence {
		return fmt.Sprintf("the store's clock stepped by %v", step.Round(time.Millisecond))
	}
	return ""
}

// damp begins all observations again and takes nothing busy until the owners had the time to renew: a jittered renewal period may
// last a fifth longer, but an owner whose renewals fail tries several times in it. mu is held.
func (w *Watcher) damp(now time.Duration) {
	w.quiet = now + w.cfg.RenewEvery + w.cfg.CallTimeout
	clear(w.seen)
	for _, o := range w.peers {
		o.since, o.dead = now, false
	}
}

// observePeer compares a counter with the one seen before. What stands still is counted from the reply that first showed it to the
// question that showed it last. mu is held.
func (w *Watcher) observePeer(node string, counter int64, sent, now time.Duration) *peer {
	o := w.peers[node]
	switch {
	case o == nil:
		o = &peer{counter: counter, since: now}
		w.peers[node] = o
	case o.counter != counter:
		o.counter, o.since, o.dead = counter, now, false
	case sent-o.since >= w.cfg.StandStill:
		o.dead = true
	}
	return o
}

// prune forgets the deadlines that nobody asked about for a long time. mu is held.
func (w *Watcher) prune(now time.Duration) {
	old := 4 * max(w.cfg.TTL, w.cfg.StandStill)
	maps.DeleteFunc(w.seen, func(_ string, s *sight) bool { return now-s.last > old })
	maps.DeleteFunc(w.stale, func(_ [2]string, since time.Duration) bool { return now-since > old })
}

// dead says whether node's heartbeat stands still.
func (w *Watcher) dead(node string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.peers[node] != nil && w.peers[node].dead
}
