package gateway

import (
	"context"
	"time"

	"holdfast/gateway/wire"
	"holdfast/regen"
)

// laneKey is a session, and whether the lane is that of its cancels: a cancel must not wait for the very send that it is about.
type laneKey struct {
	session string
	cancel  bool
}

// lane is the commands of one session on one socket, worked on in order by a goroutine that lives as long as there are any.
type lane struct {
	queue []task
	// sending says that a send or regenerate waits for its answer: started events wait too. replied says that it got one.
	sending, replied bool
}

type task struct {
	c     wire.Command
	who   Identity
	began time.Time
}

// dispatch hands a command to its lane.
func (k *socket) dispatch(c wire.Command, who Identity) {
	at := laneKey{session: c.Session, cancel: c.Op == wire.OpCancel}
	k.mu.Lock()
	if k.inflight >= k.srv.cfg.MaxInflight {
		k.mu.Unlock()
		e := wire.NewError(wire.RateLimited, "too many commands without an answer")
		k.answered(c.Op, e, time.Now())
		k.fail(c.ID, e)
		return
	}
	defer k.mu.Unlock()
	if k.dead {
		return
	}
	k.inflight++
	l := k.lanes[at]
	if l == nil {
		l = &lane{}
		if k.lanes == nil {
			k.lanes = map[laneKey]*lane{}
		}
		k.lanes[at] = l
		k.srv.wg.Go(func() { k.runLane(at, l) })
	}
	l.queue = append(l.queue, task{c: c, who: who, began: time.Now()})
}

func (k *socket) runLane(at laneKey, l *lane) {
	for {
		k.mu.Lock()
		if len(l.queue) == 0 {
			delete(k.lanes, at)
			k.mu.Unlock()
			return
		}
		t := l.queue[0]
		l.queue = l.queue[1:]
		l.replied = false
		k.mu.Unlock()
		k.work(l, &t)
		k.mu.Lock()
		k.inflight--
		k.leaveLocked()
		k.mu.Unlock()
	}
}

// work does one command and answers it. The command's time is its own: a socket that ends does not take back what it asked for.
func (k *socket) work(l *lane, t *task) {
	ctx, cancel := context.WithTimeout(k.srv.ctx, k.srv.cfg.CommandTimeout)
	defer cancel()
	defer k.rescue(l, t)
	key := regen.Key{Tenant: t.who.Tenant, Session: t.c.Session}
	var problem *wire.Error
	switch t.c.Op {
	case wire.OpAttach:
		problem = k.attach(ctx, key, &t.c)
	case wire.OpDetach:
		k.detach(&t.c)
	case wire.OpCancel:
		problem = k.cancel(ctx, key, t)
	default:
		problem = k.take(ctx, l, key, &t.c)
	}
	if problem == nil {
		k.answered(t.c.Op, nil, t.began)
		return
	}
	k.answered(t.c.Op, problem, t.began)
	k.answerSend(l, t.c.Session, wire.AppendError(nil, t.c.ID, problem))
}

// rescue answers a command that panicked, and closes the socket if it had been answered already. It is a deferred function.
func (k *socket) rescue(l *lane, t *task) {
	v := recover()
	if v == nil {
		return
	}
	k.srv.logPanic(string(t.c.Op), v)
	e := wire.NewError(wire.Internal, internalText)
	k.answered(t.c.Op, e, t.began)
	k.mu.Lock()
	replied := l.replied
	k.mu.Unlock()
	if replied {
		k.shut(wire.CloseInternal, internalText)
		return
	}
	k.answerSend(l, t.c.Session, wire.AppendError(nil, t.c.ID, e))
}

// answerSend queues the answer to a command and lets started events pass again: after it.
func (k *socket) answerSend(l *lane, session string, frame []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pushLocked(frame)
	l.sending, l.replied = false, true
	if a := k.attached[session]; a != nil {
		k.dirtyLocked(a)
	}
}

func (k *socket) cancel(ctx context.Context, key regen.Key, t *task) *wire.Error {
	done, problem := k.srv.stop(ctx, key, &t.c, t.who.Who)
	if problem != nil {
		return problem
	}
	var tmp [256]byte
	k.push(wire.AppendCancelled(tmp[:0], t.c.ID, &done))
	return nil
}
