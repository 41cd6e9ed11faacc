package turn

import (
	"encoding/json"
	"time"

	"holdfast/stream"
)

// pump does what can be done for the active run: send the next entry, or settle. While an entry is on its way it does nothing.
func (a *actor) pump() error {
	if err := a.catchUp(); err != nil {
		return err
	}
	r := a.run
	if r == nil || a.inflight != nil {
		return nil
	}
	if !a.held.Sure() {
		if r.buf.full() {
			return latch(errBufferFull)
		}
		return nil // the model runs on; a renewal wakes us
	}
	if r.stopped || r.cut != "" {
		return a.finish()
	}
	p, ok := r.buf.take()
	if !ok {
		return a.finish()
	}
	a.inflight = &stream.Entry{ID: stream.EntryID{Epoch: a.held.Epoch(), Seq: a.pos.Seq + 1}, Kind: p.kind, Data: p.text}
	a.attempts = 0
	a.send()
	return nil
}

// send hands the entry on its way to the log. The same id always carries the same bytes.
func (a *actor) send() {
	a.e.log.Append(a.key, *a.inflight, func(res stream.AppendResult) { a.appended <- res })
}

// onAppended takes the answer to the entry on its way.
func (a *actor) onAppended(res stream.AppendResult) error {
	switch {
	case res.Status == stream.AppendDone && res.Conn == a.conn:
		return a.logged()
	case res.Status == stream.AppendFailed && res.Conn == a.conn:
		a.again(false)
		return nil
	}
	return a.resolve()
}

// logged: the entry on its way is in the log.
func (a *actor) logged() error {
	en := *a.inflight
	a.inflight, a.attempts = nil, 0
	a.pos = en.ID
	a.note(en)
	a.e.readers.Offer(a.key, a.head.Incarnation, en)
	return a.pump()
}

func (a *actor) note(en stream.Entry) {
	switch en.Kind {
	case stream.KindText:
		a.run.text.WriteString(en.Data)
	case stream.KindReasoning:
		a.run.reasoning.WriteString(en.Data)
	case stream.KindTool:
		a.run.tools = append(a.run.tools, json.RawMessage(en.Data))
	}
}

// again arms the timer after which the entry on its way is resolved and, if need be, sent again.
func (a *actor) again(now bool) {
	d := 10 * time.Millisecond << min(a.attempts, 6)
	if now {
		d = 0
	}
	a.attempts++
	a.retry.Reset(d)
}

// resolve finds out what became of the entry on its way: in the log, not in the log, fenced, or the store lost entries.
func (a *actor) resolve() error {
	tail, err := a.e.log.Check(a.ctx, a.key)
	if err != nil {
		a.again(false)
		return nil
	}
	if tail.Incarnation != a.head.Incarnation || tail.Epoch != a.held.Epoch() {
		if tail.Incarnation == "" && a.run != nil {
			a.e.cfg.Logger.Error("store lost a session with a running answer", "session", a.key.Session, "run", a.run.id)
		}
		return a.fenced(tail.Epoch)
	}
	a.conn = tail.Conn
	switch {
	case a.inflight == nil:
		return nil
	case tail.Top == a.inflight.ID && tail.Prev == a.pos:
		return a.logged()
	case tail.Top == a.pos && contiguous(tail):
		if !a.held.Sure() {
			a.again(false)
			return nil
		}
		if a.run.stopped || a.run.cut != "" {
			a.inflight, a.attempts = nil, 0 // it is not in the log, and nobody has seen it
			return a.pump()
		}
		a.send()
		return nil
	}
	return a.restate()
}

// contiguous says whether the last two ids follow each other. A marker carries the seq of the entry before it.
func contiguous(t stream.Tail) bool {
	switch {
	case t.Top.IsZero():
		return false
	case t.Prev.IsZero():
		return true // the first entry of the log
	case t.TopMarker:
		return t.Prev.Seq == t.Top.Seq
	}
	return t.Prev.Seq+1 == t.Top.Seq
}
