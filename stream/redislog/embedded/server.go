package embedded

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// defaultTick is how often keys age. One pass walks every key under the server's lock, so it is rare.
	defaultTick = 5 * time.Second
	// stallLimit is how long a connection may take nothing of what the server has for it. Real Redis drops a subscriber that
	// does not read; miniredis would stop for everybody, for ever.
	stallLimit = 10 * time.Second
	// poolSize is above any number of callers we have: go-redis keeps the timers of callers that wait for a connection in a
	// pool of the whole process, and such a timer from one synctest bubble breaks the next.
	poolSize = 512
)

// Config says how the server is run. The zero value is what holdfast itself uses.
type Config struct {
	// Tick is how often keys with a time to live are made older by the time that passed; zero means 5 s, below zero never.
	// Without it a test in a synctest bubble that can make no progress is reported instead of running for ever.
	Tick time.Duration
}

// Server is a store inside the process. Make one with New; it is safe for use by any number of goroutines.
type Server struct {
	mini *miniredis.Miniredis
	srv  *server.Server
	stop chan struct{}
	wg   sync.WaitGroup // the ticker

	stall time.Duration

	// mu guards what follows; it is never held while something is waited for.
	mu     sync.Mutex
	closed bool
	conns  map[*memConn]struct{}
}

// New starts an empty server. The caller closes it, after the clients that use it.
func New(cfg Config) *Server { return newServer(cfg, stallLimit) }

func newServer(cfg Config, stall time.Duration) *Server {
	mini := miniredis.NewMiniRedis()
	// The first Dial starts miniredis without a listener; its unbuffered connection is of no use beyond that.
	conn, err := mini.Dial()
	if err != nil {
		panic(fmt.Sprintf("embedded: miniredis without a listener did not start: %v", err)) // it has nothing that can fail
	}
	_ = conn.Close()
	s := &Server{mini: mini, srv: mini.Server(), stall: stall, stop: make(chan struct{}), conns: map[*memConn]struct{}{}}
	if cfg.Tick == 0 {
		cfg.Tick = defaultTick
	}
	if cfg.Tick > 0 {
		s.wg.Go(func() { s.age(cfg.Tick) })
	}
	return s
}

// Dial opens a connection to the server. It does not wait. The error is net.ErrClosed after Close, or that of ctx.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("dial embedded store: %w", net.ErrClosed)
	}
	near, far := newPipe(s.stall, s.forget)
	s.conns[near], s.conns[far] = struct{}{}, struct{}{}
	s.srv.ServeConn(far)
	return near, nil
}

// Options returns new settings for a client of this server: no retries of the library's own (a repeated script could be applied
// twice), calls end with their context, no extra commands when a connection opens.
func (s *Server) Options() *redis.Options {
	return &redis.Options{
		Addr:                     memAddr{}.String(), // an address, not a name: no look-up
		Dialer:                   func(ctx context.Context, _, _ string) (net.Conn, error) { return s.Dial(ctx) },
		Protocol:                 2,
		MaxRetries:               -1,
		DialerRetries:            1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		PoolSize:                 poolSize,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Miniredis returns the server inside, for tests that look at its keys, set its clock or make keys older.
func (s *Server) Miniredis() *miniredis.Miniredis { return s.mini }

// Hook sees every command before it is run, those that a script issues too (they run under the server's lock: do not wait there).
// It returns true when the command is done: true without a reply is a request that was lost. name is in upper case.
type Hook func(peer *server.Peer, name string, args ...string) bool

// SetHook installs h in the place of the hook before it; nil removes it. Tests use it to lose requests and replies.
func (s *Server) SetHook(h Hook) { s.srv.SetPreHook(server.Hook(h)) }

// Close cuts every connection, waits until all of the server's goroutines have ended, and forgets the data. A second Close waits
// for the first one's connections only.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	open := make([]*memConn, 0, len(s.conns))
	for c := range s.conns {
		open = append(open, c)
	}
	s.mu.Unlock()
	if first {
		close(s.stop)
	}
	// Before miniredis: its Close needs a lock that a publish to an unread subscriber holds until that connection is gone.
	for _, c := range open {
		_ = c.Close()
	}
	s.mini.Close()
	s.wg.Wait()
}

func (s *Server) forget(c *memConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// age makes keys older by the time that passed, until Close.
func (s *Server) age(tick time.Duration) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			now := time.Now()
			s.mini.FastForward(now.Sub(last))
			last = now
		}
	}
}
