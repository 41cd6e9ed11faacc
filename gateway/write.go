package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/coder/websocket"

	"holdfast/stream"
)

const (
	// pullBytes is about how much text one session gives to one message.
	pullBytes = 16 << 10
	// batchBytes is the size from which a message takes no further events.
	batchBytes = 64 << 10
)

var writeBuffers = sync.Pool{New: func() any { return new([]byte) }}

func putBuffer(p *[]byte) {
	if cap(*p) <= 2*batchBytes {
		writeBuffers.Put(p)
	}
}

// write sends until nothing is left. There is one such goroutine per socket at most, and none while there is nothing to send.
func (k *socket) write() {
	defer func() {
		if v := recover(); v != nil {
			k.srv.logPanic("socket writer", v)
			k.kill()
		}
	}()
	p := writeBuffers.Get().(*[]byte)
	defer putBuffer(p)
	for {
		buf, list, over := k.next((*p)[:0])
		if over {
			return
		}
		for _, a := range list {
			if len(buf) >= batchBytes {
				k.again(a)
				continue
			}
			buf = k.pull(buf, a)
		}
		k.mu.Lock()
		clear(list)
		k.spare = list[:0]
		k.mu.Unlock()
		*p = buf
		if len(buf) == 0 {
			continue
		}
		if err := k.sendMessage(buf); err != nil {
			k.kill() // the reader tears down
			return   // and nobody writes any more
		}
	}
}

// next takes the control frames and the list of sessions to pull from. It says over when the writer has to end: nothing to send, the
// socket is dead, or it was closed here.
func (k *socket) next(buf []byte) (frames []byte, list []*attachment, over bool) {
	k.mu.Lock()
	if k.dead {
		k.writing = false
		k.mu.Unlock()
		return nil, nil, true
	}
	buf = append(buf, k.control...)
	k.control = nil
	k.room.Broadcast()
	if c := k.closing; c != nil {
		k.mu.Unlock()
		if len(buf) > 0 {
			return buf, nil, false
		}
		// writing stays true: nothing is written after a close frame.
		k.bye(c)
		k.kill()
		return nil, nil, true
	}
	list, k.dirty, k.spare = k.dirty, k.spare, nil
	for _, a := range list {
		a.dirty = false
	}
	if len(buf) == 0 && len(list) == 0 {
		k.writing = false
		k.mu.Unlock()
		return nil, nil, true
	}
	k.told = k.srv.now()
	k.mu.Unlock()
	return buf, list, false
}

// closeLimit is how long a peer may take to answer a close frame.
const closeLimit = 5 * time.Second

// bye sends the close frame and waits for the peer's. The deadline is ours: while the library throws away the rest of a frame that
// the peer began, it waits without one.
func (k *socket) bye(c *closing) {
	_ = k.conn.SetReadDeadline(time.Now().Add(min(closeLimit, k.srv.cfg.WriteTimeout)))
	_ = k.ws.Close(websocket.StatusCode(c.code), c.reason)
}

func (k *socket) again(a *attachment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dirtyLocked(a)
}

// pull renders what a session has. While a send of this socket waits for its answer, a started event and what follows it wait too.
func (k *socket) pull(buf []byte, a *attachment) []byte {
	events, more := a.stash, true // what came while these waited was told of, and not pulled
	a.stash = nil
	if events == nil {
		events, more = a.sub.Pull(pullBytes)
	}
	k.mu.Lock()
	closed, run := a.closed, a.run
	l := k.lanes[laneKey{session: a.session}]
	held := l != nil && l.sending
	k.mu.Unlock()
	if closed {
		return buf
	}
	for i := range events {
		ev := &events[i]
		if held && ev.Kind == stream.EventStarted {
			a.stash = events[i:]
			more = false // the answer brings us back
			break
		}
		if len(buf) > 0 {
			buf = append(buf, '\n')
		}
		buf = appendEvent(buf, a.session, ev)
		run = runAfter(ev, run)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if a.run != run {
		a.run = run
		k.leaveLocked()
	}
	if more {
		k.dirtyLocked(a)
	}
	return buf
}

// sendMessage writes one text message, in one call to the kernel if it is not large.
func (k *socket) sendMessage(msg []byte) error {
	if len(msg) > batchBytes {
		return k.ws.Write(context.Background(), websocket.MessageText, msg)
	}
	p := writeBuffers.Get().(*[]byte)
	defer putBuffer(p)
	k.conn.cork(*p)
	err := k.ws.Write(context.Background(), websocket.MessageText, msg)
	buf, sendErr := k.conn.uncork()
	*p = buf
	if err == nil {
		err = sendErr
	}
	return err
}
