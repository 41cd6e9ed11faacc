package gateway

import (
	"context"
	"fmt"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// attachment is one session that a socket follows.
type attachment struct {
	k       *socket
	session string
	sub     Subscription

	// guarded by k.mu
	isOpen, closed bool
	dirty          bool   // on the socket's list
	run            string // the active run, as far as the client was told

	// the writer's alone: events that wait for the answer to a send
	stash []stream.Event
}

// notify is the hub's call: there may be something to pull.
func (a *attachment) notify() {
	a.k.mu.Lock()
	defer a.k.mu.Unlock()
	if a.isOpen {
		a.k.dirtyLocked(a)
	}
}

func (k *socket) dirtyLocked(a *attachment) {
	if a.dirty || a.closed || k.dead {
		return
	}
	a.dirty = true
	k.dirty = append(k.dirty, a)
	k.kickLocked()
}

// fullLocked says whether one more session would be too many.
func (k *socket) fullLocked(session string) *wire.Error {
	if k.attached[session] == nil && len(k.attached) >= k.srv.cfg.MaxSessions {
		return wire.NewError(wire.RateLimited, fmt.Sprintf("this socket follows %d sessions already", len(k.attached)))
	}
	return nil
}

// attach begins to follow a session, or begins anew at another cursor.
func (k *socket) attach(ctx context.Context, key regen.Key, c *wire.Command) *wire.Error {
	k.mu.Lock()
	full := k.fullLocked(c.Session)
	k.mu.Unlock()
	if full != nil {
		return full
	}
	a := &attachment{k: k, session: c.Session}
	sub, view, err := k.srv.cfg.Hub.Attach(ctx, key, c.Cursor, a.notify)
	if err != nil {
		return k.srv.problem(c.Op, err)
	}
	a.sub = sub
	v := viewOf(&view)
	frame := wire.AppendAttached(nil, c.ID, &v)
	k.waitRoom()
	k.open(a, runOf(&view), frame)
	return nil
}

// open ends the session's old attachment, queues the frame that the events follow, and puts a in its place.
func (k *socket) open(a *attachment, run string, frame []byte) {
	k.drop(a.session)
	k.mu.Lock()
	if k.dead || k.closing != nil {
		k.mu.Unlock()
		a.sub.Close() // not under our mutex: notify takes it, and comes from the hub
		return
	}
	defer k.mu.Unlock()
	if len(frame) > 0 {
		k.pushLocked(frame)
	}
	if k.attached == nil {
		k.attached = map[string]*attachment{}
	}
	k.attached[a.session] = a
	a.isOpen, a.run = true, run
	k.dirtyLocked(a) // the first events may have been there before anybody was told
}

// drop ends the session's attachment, if there is one. Nothing of it is sent any more.
func (k *socket) drop(session string) {
	k.mu.Lock()
	old := k.attached[session]
	if old != nil {
		old.closed = true
		delete(k.attached, session)
	}
	k.mu.Unlock()
	if old != nil {
		old.sub.Close()
	}
}

// detach ends an attachment. No event of the session follows the answer.
func (k *socket) detach(c *wire.Command) {
	var tmp [512]byte
	k.drop(c.Session)
	k.push(wire.AppendOK(tmp[:0], c.ID, c.Session))
}
