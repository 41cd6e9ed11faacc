package ownership_test

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// newPipe is a connection in memory with buffers, which works in a synctest bubble; net.Pipe deadlocks on long pipelines.
func newPipe() (net.Conn, net.Conn) {
	a, b := newHalf(), newHalf()
	return &pipeConn{in: a, out: b}, &pipeConn{in: b, out: a}
}

// half is one direction.
type half struct {
	mu     sync.Mutex
	buf    []byte
	closed bool
	data   chan struct{} // size one: there is something to see
}

func newHalf() *half { return &half{data: make(chan struct{}, 1)} }

func (h *half) wake() {
	select {
	case h.data <- struct{}{}:
	default:
	}
}

func (h *half) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.wake()
}

type pipeConn struct {
	in, out  *half
	mu       sync.Mutex
	deadline time.Time
}

func (c *pipeConn) Read(p []byte) (int, error) {
	for {
		c.in.mu.Lock()
		n := copy(p, c.in.buf)
		c.in.buf = c.in.buf[n:]
		closed := c.in.closed
		if len(c.in.buf) > 0 || closed {
			c.in.wake()
		}
		c.in.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case closed:
			return 0, io.EOF
		}
		if err := c.wait(); err != nil {
			return 0, err
		}
	}
}

func (c *pipeConn) wait() error {
	c.mu.Lock()
	deadline := c.deadline
	c.mu.Unlock()
	if deadline.IsZero() {
		<-c.in.data
		return nil
	}
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case <-c.in.data:
		return nil
	case <-t.C:
		return os.ErrDeadlineExceeded
	}
}

func (c *pipeConn) Write(p []byte) (int, error) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.closed {
		return 0, io.ErrClosedPipe
	}
	c.out.buf = append(c.out.buf, p...)
	c.out.wake()
	return len(p), nil
}

func (c *pipeConn) Close() error {
	c.in.close()
	c.out.close()
	return nil
}

func (c *pipeConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *pipeConn) SetDeadline(t time.Time) error  { return c.SetReadDeadline(t) }
func (*pipeConn) SetWriteDeadline(time.Time) error { return nil }
func (*pipeConn) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (*pipeConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
