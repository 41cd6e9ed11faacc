package embedded

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// pipeLimit is how many bytes one direction holds before a writer waits. net.Pipe holds none: a pipeline above the size of
	// bufio's buffer then waits for a reader that is itself waiting to write.
	pipeLimit = 1 << 20
	// pipeKeep is the largest buffer that an emptied direction keeps; after a burst the rest is given back.
	pipeKeep = 64 << 10
)

// memAddr is the address of both ends of an in-memory connection.
type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "127.0.0.1:0" }

// memConn is one end of a buffered in-memory connection. Like a TCP connection, an end that was closed by its peer is still read
// to the end of what the peer wrote.
type memConn struct {
	in, out *half
	onClose func()
	once    sync.Once
}

var _ net.Conn = (*memConn)(nil)

// newPipe returns the two ends of a connection. A write at the second end that makes no progress for stall cuts the connection;
// zero means never. onClose, if not nil, is called once for each end that is closed, outside any lock.
func newPipe(stall time.Duration, onClose func(*memConn)) (client, server *memConn) {
	up, down := newHalf(0), newHalf(stall)
	client = &memConn{in: down, out: up}
	server = &memConn{in: up, out: down}
	if onClose != nil {
		client.onClose = func() { onClose(client) }
		server.onClose = func() { onClose(server) }
	}
	return client, server
}

// Read waits for at least one byte. It returns io.EOF after the peer closed and everything it wrote was read, net.ErrClosed after
// a Close of this end, and os.ErrDeadlineExceeded after the read deadline.
func (c *memConn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write waits until all of p is in the connection. It returns io.ErrClosedPipe after the peer closed, net.ErrClosed after a Close
// of this end, and os.ErrDeadlineExceeded after the write deadline; the count says how much went through.
func (c *memConn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	if err == errStalled {
		_ = c.Close()
	}
	return n, err
}

// Close ends both directions; calls that wait return at once. It is safe to call more than once and never fails.
func (c *memConn) Close() error {
	c.once.Do(func() {
		c.in.closeReader()
		c.out.closeWriter()
		if c.onClose != nil {
			c.onClose()
		}
	})
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return memAddr{} }
func (c *memConn) RemoteAddr() net.Addr { return memAddr{} }

// SetDeadline sets both deadlines; the zero time means none.
func (c *memConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline moves the deadline of Read, also of one that waits now.
func (c *memConn) SetReadDeadline(t time.Time) error { return c.in.setDeadline(&c.in.readers, t) }

// SetWriteDeadline moves the deadline of Write, also of one that waits now.
func (c *memConn) SetWriteDeadline(t time.Time) error { return c.out.setDeadline(&c.out.writers, t) }

// stallError is what a write returns when nobody read the other end for too long.
type stallError struct{}

func (stallError) Error() string { return "connection is not being read" }

var errStalled error = stallError{}

// half is one direction: a queue of bytes with a limit.
type half struct {
	stall time.Duration

	// mu guards what follows. Nothing is ever waited for under it except through the two sides' conditions.
	mu       sync.Mutex
	buf      []byte
	start    int // buf[start:] is unread
	readers  side
	writers  side
	progress uint64 // bytes read so far: how a stalled writer sees that somebody reads
}

// side is what one end of a half waits on.
type side struct {
	cond     *sync.Cond
	closed   bool
	deadline time.Time
	timer    *time.Timer
	waiting  int // calls inside wait; they share the timer
}

func newHalf(stall time.Duration) *half {
	h := &half{stall: stall}
	h.readers.cond = sync.NewCond(&h.mu)
	h.writers.cond = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.readers.stop()
	for {
		if h.readers.closed {
			return 0, net.ErrClosed
		}
		if h.readers.late() {
			return 0, os.ErrDeadlineExceeded
		}
		if len(p) == 0 {
			return 0, nil
		}
		if h.start < len(h.buf) {
			break
		}
		if h.writers.closed {
			return 0, io.EOF
		}
		h.readers.wait(h.readers.deadline)
	}
	n := copy(p, h.buf[h.start:])
	h.start += n
	h.progress += uint64(n)
	if h.start == len(h.buf) {
		h.start, h.buf = 0, h.buf[:0]
		if cap(h.buf) > pipeKeep {
			h.buf = nil
		}
	}
	h.writers.cond.Broadcast()
	return n, nil
}

func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.writers.stop()
	done := 0
	seen, since := h.progress, time.Time{}
	for {
		switch {
		case h.writers.closed:
			return done, net.ErrClosed
		case h.readers.closed:
			return done, io.ErrClosedPipe
		case h.writers.late():
			return done, os.ErrDeadlineExceeded
		}
		if n := min(len(p)-done, pipeLimit-(len(h.buf)-h.start)); n > 0 {
			h.push(p[done : done+n])
			done += n
			h.readers.cond.Broadcast()
		}
		if done == len(p) {
			return done, nil
		}
		until := h.writers.deadline
		if h.stall > 0 {
			if since.IsZero() || seen != h.progress {
				seen, since = h.progress, time.Now()
			}
			limit := since.Add(h.stall)
			if !time.Now().Before(limit) {
				return done, errStalled
			}
			if until.IsZero() || limit.Before(until) {
				until = limit
			}
		}
		h.writers.wait(until)
	}
}

// push appends p; the caller has made sure that it fits the limit.
func (h *half) push(p []byte) {
	if h.start > 0 && len(h.buf)+len(p) > cap(h.buf) {
		h.buf = h.buf[:copy(h.buf, h.buf[h.start:])]
		h.start = 0
	}
	h.buf = append(h.buf, p...)
}

func (h *half) closeReader() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers.closed = true
	h.buf, h.start = nil, 0
	h.readers.cond.Broadcast()
	h.writers.cond.Broadcast()
}

func (h *half) closeWriter() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writers.closed = true
	h.readers.cond.Broadcast()
	h.writers.cond.Broadcast()
}

func (h *half) setDeadline(s *side, t time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.deadline = t
	s.cond.Broadcast()
	return nil
}

// late says whether the deadline has passed.
func (s *side) late() bool { return !s.deadline.IsZero() && !time.Now().Before(s.deadline) }

// wait releases the lock until something changed or until has passed; the zero time means no limit. The timer only wakes: the
// caller looks at the clock again, so a wake that comes too early or from an older deadline does no harm.
func (s *side) wait(until time.Time) {
	if !until.IsZero() {
		if d := time.Until(until); s.timer == nil {
			s.timer = time.AfterFunc(d, s.wake)
		} else {
			s.timer.Reset(d)
		}
	}
	s.waiting++
	s.cond.Wait()
	s.waiting--
}

func (s *side) wake() {
	s.cond.L.Lock()
	defer s.cond.L.Unlock()
	s.cond.Broadcast()
}

// stop lets no timer outlive the last call that waited.
func (s *side) stop() {
	if s.timer != nil && s.waiting == 0 {
		s.timer.Stop()
	}
}
