package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Server serves clients. Make it with New, mount Handler, and end it with Drain (optional) and Shutdown.
type Server struct {
	cfg     Config
	born    time.Time
	ctx     context.Context // of commands; ends when Shutdown gives up waiting
	cancel  context.CancelFunc
	wg      sync.WaitGroup // every goroutine of the server
	left    chan struct{}  // size 1: a socket has left
	stopped chan struct{}  // closed when Shutdown begins
	handler http.Handler

	mu       sync.Mutex // guards what follows
	sockets  map[*socket]struct{}
	beating  bool // the heart runs
	degraded bool
	draining bool
	closed   bool
}

// New makes a server. It panics when Engine, Hub or Reader is missing.
func New(cfg Config) *Server {
	s := &Server{
		cfg: cfg.withDefaults(), born: time.Now(),
		left: make(chan struct{}, 1), stopped: make(chan struct{}), sockets: map[*socket]struct{}{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.handler = s.routes()
	return s
}

// Handler serves /v1/, /livez, /readyz and, where there are any, the pages.
func (s *Server) Handler() http.Handler { return s.handler }

// Sockets is the number of open sockets.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// SetDegraded tells every client whether the store is out of reach, if that changed.
func (s *Server) SetDegraded(on bool) {
	s.mu.Lock()
	changed := s.degraded != on
	s.degraded = on
	s.mu.Unlock()
	if !changed {
		return
	}
	for _, k := range s.all() {
		k.degraded(on)
	}
}

// now is the monotonic time since the server was made.
func (s *Server) now() time.Duration { return time.Since(s.born) }

func (s *Server) all() []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*socket, 0, len(s.sockets))
	for k := range s.sockets {
		list = append(list, k)
	}
	return list
}

// add registers a socket and starts its reader; false when the server takes no more.
func (s *Server) add(k *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.draining {
		return false
	}
	s.sockets[k] = struct{}{}
	if !s.beating {
		s.beating = true
		s.wg.Go(s.heart)
	}
	s.wg.Go(k.read)
	return true
}

func (s *Server) remove(k *socket) {
	s.mu.Lock()
	delete(s.sockets, k)
	s.mu.Unlock()
	select {
	case s.left <- struct{}{}:
	default:
	}
}

// full says why no socket can be taken now; "" when one can.
func (s *Server) full() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.draining:
		return "draining"
	case len(s.sockets) >= s.cfg.MaxSockets:
		return "full"
	}
	return ""
}
