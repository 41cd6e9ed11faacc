package gateway

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"holdfast/gateway/wire"
)

const (
	// maxStrikes is how many commands without any readable form a socket may send.
	maxStrikes = 32
	// keepBuffer is the greatest buffer that goes back to a pool.
	keepBuffer = 64 << 10
)

var readBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// read is the socket's one long-lived goroutine. It must go on reading until the connection ends: pings, pongs and the close
// handshake are handled inside a read. Its context never ends, because a context that ends closes the socket.
func (k *socket) read() {
	defer k.teardown()
	defer func() {
		if v := recover(); v != nil {
			k.srv.logPanic("socket reader", v)
		}
	}()
	for {
		err := k.readMessage()
		if err == nil {
			continue
		}
		if errors.Is(err, websocket.ErrMessageTooBig) {
			c := &closing{code: wire.CloseTooBig}
			k.mu.Lock()
			if k.closing == nil {
				k.closing = c
			}
			k.mu.Unlock()
			// The library has sent 1009. Closing reads on for a moment: ending the connection over unread bytes would reset
			// it, and the client would never see the code.
			k.bye(c)
		}
		return
	}
}

// readMessage reads one message and hands its commands on. An error means that the connection is over.
func (k *socket) readMessage() error {
	kind, r, err := k.ws.Reader(context.Background())
	if err != nil {
		return err
	}
	buf := readBuffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= keepBuffer {
			buf.Reset()
			readBuffers.Put(buf)
		}
	}()
	if _, err := buf.ReadFrom(r); err != nil {
		return err
	}
	switch {
	case k.isClosing(): // only waiting for the peer's close frame
	case kind != websocket.MessageText:
		k.shut(wire.CloseProtocol, "text messages only")
	case !utf8.Valid(buf.Bytes()): // the library does not look
		k.shut(wire.CloseInvalidText, "invalid UTF-8")
	default:
		k.message(buf.Bytes())
	}
	return nil
}

// message handles every command of a message.
func (k *socket) message(msg []byte) {
	for {
		obj, rest, err := wire.NextObject(msg)
		if err != nil {
			k.strike(nil, err)
			return
		}
		if obj == nil || k.isClosing() {
			return
		}
		k.command(obj)
		msg = rest
	}
}

// strike answers what could not be read, and ends a client that sends nothing else.
func (k *socket) strike(id []byte, err error) {
	k.answered("", err, time.Now())
	k.fail(id, k.srv.problem("", err))
	if k.strikes++; k.strikes >= maxStrikes {
		k.shut(wire.CloseProtocol, "too many unreadable commands")
	}
}

func (k *socket) command(obj []byte) {
	began := time.Now()
	c, err := wire.Decode(obj)
	if err != nil {
		if c.Op == "" {
			k.strike(c.ID, err)
			return
		}
		k.answered(c.Op, err, began)
		k.fail(c.ID, k.srv.problem(c.Op, err))
		return
	}
	k.strikes = 0
	k.mu.Lock()
	who := k.who
	k.mu.Unlock()
	switch {
	case c.Op == wire.OpHello:
		k.answered(c.Op, k.hello(&c), began)
	case who == nil:
		k.refuse(c.ID, wire.NewError(wire.Unauthenticated, "say hello with a token first"), wire.CloseUnauthenticated)
	case c.Op == wire.OpPing:
		var tmp [256]byte
		k.push(wire.AppendOK(tmp[:0], c.ID, ""))
	default:
		k.dispatch(c, *who)
	}
}

// refuse answers with an error and closes.
func (k *socket) refuse(id []byte, e *wire.Error, code wire.CloseCode) {
	k.fail(id, e)
	k.shut(code, string(e.Code))
}

// hello says who the client is, first or again, and tells it about this node. The error has been answered.
func (k *socket) hello(c *wire.Command) error {
	if c.Protocol != 0 && c.Protocol != wire.Protocol {
		e := wire.NewError(wire.BadRequest, "protocol 1 is spoken here")
		k.refuse(c.ID, e, wire.CloseProtocol)
		return e
	}
	k.mu.Lock()
	known := k.who
	k.greeting = true
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		k.greeting = false
		k.mu.Unlock()
	}()
	if known == nil || c.Token != "" && k.srv.cfg.Authenticate != nil {
		id, problem := k.srv.identify(k.srv.ctx, c.Token)
		if problem != nil {
			code := wire.CloseUnauthenticated
			if problem.Retryable {
				code = wire.CloseOverloaded
			}
			k.refuse(c.ID, problem, code)
			return problem
		}
		if known != nil && (known.Tenant != id.Tenant || known.Who != id.Who) {
			e := wire.NewError(wire.Forbidden, "the token is somebody else's")
			k.refuse(c.ID, e, wire.CloseForbidden)
			return e
		}
		k.mu.Lock()
		k.who = &id
		k.mu.Unlock()
		k.setReadLimit()
	}
	h := k.srv.cfg.hello()
	var tmp [512]byte
	k.push(wire.AppendHello(tmp[:0], c.ID, &h))
	return nil
}

// answered reports a finished command.
func (k *socket) answered(op wire.Op, err error, began time.Time) { k.srv.answered(op, err, began) }

func (s *Server) answered(op wire.Op, err error, began time.Time) {
	f := s.cfg.Events.Answered
	if f == nil {
		return
	}
	code := ""
	var e *wire.Error
	if errors.As(err, &e) {
		code = string(e.Code)
	} else if err != nil {
		code = string(wire.Internal)
	}
	f(string(op), code, time.Since(began))
}
