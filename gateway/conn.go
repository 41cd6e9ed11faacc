package gateway

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// bufferSize is the size of a socket's own read and write buffers. net/http's are 4 KiB each and would be held for life.
	bufferSize = 512
	// writeChunk is how much one write deadline is for: a reader that takes this much in the time is alive.
	writeChunk = 64 << 10
)

// conn is the connection under a WebSocket. It notes when something came, sets the deadline of every write and, while corked, keeps
// what is written, so that a frame's header and body leave in one call.
type conn struct {
	net.Conn
	clock   func() time.Duration
	timeout time.Duration
	early   []byte // what net/http had read already; the reader's alone

	in atomic.Int64 // when bytes were last read, by clock

	mu     sync.Mutex // the order of bytes on the wire; held while writing, never needed to close
	corked bool
	held   []byte
}

// Read gives what came early, then what comes.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		if c.early = c.early[n:]; len(c.early) == 0 {
			c.early = nil
		}
		return n, nil
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.in.Store(int64(c.clock()))
	}
	return n, err
}

// Write sends p, or keeps it while corked.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.corked {
		c.held = append(c.held, p...)
		return len(p), nil
	}
	return c.send(p)
}

func (c *conn) send(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return sent, err
		}
		n, err := c.Conn.Write(p[sent:min(len(p), sent+writeChunk)])
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// cork keeps writes in buf until uncork.
func (c *conn) cork(buf []byte) {
	c.mu.Lock()
	c.corked, c.held = true, buf[:0]
	c.mu.Unlock()
}

// uncork sends what was kept and gives the buffer back.
func (c *conn) uncork() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	buf := c.held
	c.corked, c.held = false, nil
	_, err := c.send(buf)
	return buf, err
}

// hijacker hands the WebSocket library a connection of ours with small buffers instead of net/http's.
type hijacker struct {
	http.ResponseWriter
	wrap func(net.Conn) *conn
	conn *conn
}

// Hijack takes the connection over, with what net/http had already read from it: a quick client's first frame may be there.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c := h.wrap(raw)
	if n := rw.Reader.Buffered(); n > 0 {
		early, _ := rw.Reader.Peek(n)
		c.early = bytes.Clone(early)
	}
	h.conn = c
	return c, bufio.NewReadWriter(bufio.NewReaderSize(c, bufferSize), bufio.NewWriterSize(c, bufferSize)), nil
}

// setSendBuffer bounds what the kernel holds for a reader that does not read.
func setSendBuffer(c net.Conn, bytes int) {
	if bytes < 0 {
		return
	}
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	if t, ok := c.(interface{ SetWriteBuffer(int) error }); ok {
		_ = t.SetWriteBuffer(bytes) // best effort
	}
}
