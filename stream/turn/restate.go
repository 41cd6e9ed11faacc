package turn

import (
	"errors"
	"fmt"

	"holdfast/regen"
	"holdfast/stream"
)

// restate is the answer to a store that lost entries which people may have seen: acquire anew, keep the run, and state its whole
// text again. Readers get a reset. Nothing is made anew in silence.
func (a *actor) restate() error {
	r := a.run
	if a.inflight != nil {
		a.note(*a.inflight) // its bytes may have been shown
		a.inflight = nil
	}
	a.e.cfg.Logger.Error("store lost entries", "session", a.key.Session, "run", r.id, "epoch", a.held.Epoch())
	if a.e.cfg.Events.StoreLost != nil {
		a.e.cfg.Events.StoreLost(a.key, r.id)
	}
	if err := a.insist(func() error { return a.acquire(0) }); err != nil {
		return latch(err)
	}
	fresh := a.held.Grant().Fresh
	var snap stream.Snapshot
	if err := a.insist(func() (err error) { snap, err = a.load(); return err }); err != nil {
		return latch(err)
	}
	switch {
	case snap.Head.Run == r.id && fresh: // the log is gone: its new life begins with this run's end
		r.start = stream.EntryID{}
		o := a.outcome(r)
		o.Kind, o.Cause = regen.Interrupted, regen.CauseOwnerLost
		return a.settle(o)
	case snap.Head.Run == r.id:
		return a.stateAgain(r)
	case snap.Head.Run == "" && snap.Head.Version == r.base && !fresh:
		return a.acceptAgain(r)
	}
	r.cancel()
	a.run = nil
	a.held.SetRun("")
	if snap.Head.Run != "" {
		return a.recover(snap)
	}
	a.e.cfg.Logger.Error("store lost an accepted turn", "session", a.key.Session, "run", r.id)
	return nil
}

// insist tries again while the store cannot be asked and the lease is there.
func (a *actor) insist(f func() error) error {
	for try := 0; ; try++ {
		a.busy()
		err := f()
		if !errors.Is(err, stream.ErrUnavailable) || !pause(a.ctx, try) {
			return err
		}
	}
}

// said is everything that the run said, as entries after a restated one.
func (r *run) said() []stream.Entry {
	out := []stream.Entry{{Kind: stream.KindRestated, Data: `{"run":"` + r.id + `"}`}}
	if r.reasoning.Len() > 0 {
		out = append(out, stream.Entry{Kind: stream.KindReasoning, Data: r.reasoning.String()})
	}
	for _, t := range r.tools {
		out = append(out, stream.Entry{Kind: stream.KindTool, Data: string(t)})
	}
	if r.text.Len() > 0 {
		out = append(out, stream.Entry{Kind: stream.KindText, Data: r.text.String()})
	}
	return out
}

// stateAgain writes the run's text again behind what the store still has.
func (a *actor) stateAgain(r *run) error {
	a.held.SetRun(r.id)
	edit := regen.Edit{
		Version: a.doc.Version, RowsVersion: a.doc.RowsVersion, Revision: a.doc.Revision(), Active: a.doc.Active, Run: r.id,
		Rows:    unchanged(a.doc.RowsBelow + len(a.doc.Rows)),
		Context: unchanged(a.doc.ContextBelow + len(a.doc.Context)),
	}
	ch := a.change(edit)
	for _, en := range r.said() {
		id := ch.put(en.Kind, en.Data)
		if en.Kind == stream.KindRestated {
			ch.Start = id
		}
	}
	res, err := a.write(&ch.Change)
	if err != nil {
		return err
	}
	if res.Status != stream.StatusDone {
		return a.unexpected("restate", res)
	}
	a.applied(&ch.Change, a.doc)
	return a.pump()
}

func unchanged(n int) regen.ListEdit { return regen.ListEdit{Before: n, Keep: n} }

// acceptAgain makes an acceptance durable once more that the store acknowledged and lost.
func (a *actor) acceptAgain(r *run) error {
	plan, err := a.e.plan(a.ctx, a.key, a.doc, r.req.cmd)
	if err != nil {
		return latch(fmt.Errorf("accept again: %w", err))
	}
	err = a.insist(func() error { _, err := a.commit(plan, r, r.said()); return err })
	var end *endError
	switch {
	case errors.As(err, &end):
		return end
	case err != nil:
		return latch(fmt.Errorf("accept again: %w", err))
	case a.doc.Active == nil || a.doc.Active.Run != r.id:
		return latch(errors.New("accept again: the command is known for another run"))
	}
	return a.pump()
}

// settleLost handles a settlement that the store refused because its log or version is not what we wrote.
func (a *actor) settleLost(r *run, o regen.Outcome) error {
	tail, err := a.e.log.Check(a.ctx, a.key)
	switch {
	case err != nil:
		return latch(fmt.Errorf("settle: conflict, and %w", err))
	case tail.Incarnation != a.head.Incarnation || tail.Epoch != a.held.Epoch():
		return a.fenced(tail.Epoch)
	case tail.Top == a.pos && tail.Version == a.doc.Version && tail.Batch == a.batch:
		return latch(fmt.Errorf("settle run %s as %s: conflict without a cause", r.id, o.Kind))
	}
	return a.restate() // then pump settles again
}
