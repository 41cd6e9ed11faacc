package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/gateway/wire"
)

// Drain sends clients away: new sockets are refused and /readyz fails from now on; a goaway goes to every socket, spread over
// Config.DrainWindow; a socket is closed (CloseDraining) after its goaway, or when the runs that it follows have settled. It returns
// nil when no socket is left. When ctx ends, the rest is closed and ctx's cause is returned.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	list := s.all()
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	window := s.cfg.DrainWindow
	if end, ok := ctx.Deadline(); ok {
		window = min(window, time.Until(end)/2)
	}
	began := time.Now()
	for i, k := range list {
		// The i-th socket goes at its own share of the window, however long the others took.
		pause(ctx, time.Until(began.Add(window*time.Duration(i)/time.Duration(len(list)))))
		if ctx.Err() != nil {
			break
		}
		k.sendAway(100 + rand.IntN(900))
	}
	for s.Sockets() > 0 {
		select {
		case <-s.left:
		case <-ctx.Done():
			for _, k := range s.all() {
				k.shut(wire.CloseDraining, "draining")
			}
			return fmt.Errorf("drain: %w", context.Cause(ctx))
		}
	}
	return nil
}

// grace is how long Shutdown waits for goroutines after it has cut everything; they only have to notice.
const grace = 5 * time.Second

// Shutdown closes every socket (CloseDraining) and waits for all goroutines. When ctx ends it cuts the connections and ends the
// commands under work; it then returns ctx's cause. The HTTP server that runs Handler is the caller's to stop.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stopped)
	}
	s.mu.Unlock()
	defer s.cancel()
	for _, k := range s.all() {
		k.shut(wire.CloseDraining, "shutting down")
	}
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }() // ends with the last goroutine
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	for _, k := range s.all() {
		k.kill()
	}
	err := fmt.Errorf("shutdown: %w", context.Cause(ctx))
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		err = fmt.Errorf("%w; some goroutines did not end", err)
	}
	return err
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
