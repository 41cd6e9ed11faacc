package race

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var errAway = errors.New("the store is away")

// conns are one node's connections to the store: they can be cut, refused, or stand still.
type conns struct {
	dial func(context.Context, string, string) (net.Conn, error)

	mu   sync.Mutex // guards what follows
	all  map[*gated]bool
	away bool
	gate chan struct{} // not nil: nothing passes until it is closed
}

func newConns(opts *redis.Options) *conns {
	c := &conns{dial: opts.Dialer, all: map[*gated]bool{}}
	if c.dial == nil {
		c.dial = redis.NewDialer(opts)
	}
	return c
}

func (c *conns) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, errAway
	}
	conn, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	g := &gated{Conn: conn, c: c, done: make(chan struct{})}
	c.all[g] = true
	return g, nil
}

// reach says whether the store can be reached; each change ends the connections that are there.
func (c *conns) reach(yes bool) {
	c.mu.Lock()
	c.away = !yes
	all := c.all
	c.all = map[*gated]bool{}
	c.mu.Unlock()
	for g := range all {
		_ = g.Close()
	}
}

// hold lets nothing pass, to the store or from it, until it is called with false.
func (c *conns) hold(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case yes && c.gate == nil:
		c.gate = make(chan struct{})
	case !yes && c.gate != nil:
		close(c.gate)
		c.gate = nil
	}
}

type gated struct {
	net.Conn
	c    *conns
	done chan struct{}
	once sync.Once

	mu       sync.Mutex // guards deadline
	deadline time.Time
}

func (g *gated) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if err == nil {
		err = g.pass()
	}
	return n, err
}

func (g *gated) Write(p []byte) (int, error) {
	if err := g.pass(); err != nil {
		return 0, err
	}
	return g.Conn.Write(p)
}

// pass waits while the node stands still; a deadline ends the wait as a time-out does.
func (g *gated) pass() error {
	g.c.mu.Lock()
	gate := g.c.gate
	g.c.mu.Unlock()
	if gate == nil {
		return nil
	}
	g.mu.Lock()
	limit := g.deadline
	g.mu.Unlock()
	var timer <-chan time.Time
	if !limit.IsZero() {
		timer = time.After(time.Until(limit))
	}
	select {
	case <-gate:
		return nil
	case <-g.done:
		return net.ErrClosed
	case <-timer:
		_ = g.Close()
		return context.DeadlineExceeded
	}
}

func (g *gated) note(t time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deadline = t
}

func (g *gated) SetDeadline(t time.Time) error      { g.note(t); return g.Conn.SetDeadline(t) }
func (g *gated) SetReadDeadline(t time.Time) error  { g.note(t); return g.Conn.SetReadDeadline(t) }
func (g *gated) SetWriteDeadline(t time.Time) error { g.note(t); return g.Conn.SetWriteDeadline(t) }

func (g *gated) Close() error {
	g.once.Do(func() { close(g.done) })
	g.c.mu.Lock()
	delete(g.c.all, g)
	g.c.mu.Unlock()
	return g.Conn.Close()
}
