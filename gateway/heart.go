package gateway

import (
	"context"
	"time"

	"holdfast/gateway/wire"
)

// heart looks at every socket again and again: one ticker for all of them instead of timers for each.
func (s *Server) heart() {
	tick := min(s.cfg.PingInterval, s.cfg.PongTimeout, s.cfg.HelloTimeout) / 10
	t := time.NewTicker(min(max(tick, 5*time.Millisecond), time.Second))
	defer t.Stop()
	for {
		select {
		case <-s.stopped:
			return
		case <-t.C:
		}
		now, wall := s.now(), time.Now()
		for _, k := range s.all() {
			k.beat(now, wall)
		}
	}
}

// beat sends signs of life, asks for one, and ends what has had its time.
func (k *socket) beat(now time.Duration, wall time.Time) {
	cfg := &k.srv.cfg
	var tmp [256]byte
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead || k.closing != nil {
		return
	}
	switch {
	case k.who == nil && !k.greeting && now-k.born >= cfg.HelloTimeout:
		k.pushLocked(wire.AppendError(tmp[:0], nil, wire.NewError(wire.Unauthenticated, "no hello in time")))
		k.shutLocked(wire.CloseUnauthenticated, "no hello in time")
		return
	case k.who != nil && !k.who.Expires.IsZero() && wall.After(k.who.Expires):
		k.shutLocked(wire.CloseExpired, "token expired")
		return
	}
	if k.writing { // the write has a deadline of its own
		return
	}
	if now-k.told >= cfg.PingInterval {
		k.pushLocked(wire.AppendPing(tmp[:0]))
	}
	if now-time.Duration(k.conn.in.Load()) >= cfg.PingInterval && !k.probing {
		k.probing = true
		k.srv.wg.Go(k.probe) // the heart itself is counted
	}
}

// probe sends a protocol ping and cuts the connection when nothing moves until the pong is due.
func (k *socket) probe() {
	began := k.srv.now()
	ctx, cancel := context.WithTimeout(context.Background(), k.srv.cfg.PongTimeout)
	defer cancel()
	err := k.ws.Ping(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.probing = false
	// A ping can also fail because a large message is on its way to a slow reader; that write has a deadline of its own.
	if err != nil && !k.writing && k.conn.in.Load() < int64(began) {
		k.kill()
	}
}
