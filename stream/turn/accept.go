package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/regen"
	"holdfast/stream"
)

// accept plans a command under the lease and makes it durable in one step.
func (a *actor) accept(req request) (stream.Receipt, error) {
	select {
	case <-a.e.drainC:
		return stream.Receipt{}, ErrDraining
	default:
	}
	if !a.held.Sure() {
		return stream.Receipt{}, fmt.Errorf("%w: not sure to be the owner", stream.ErrUnavailable)
	}
	plan, err := a.e.plan(a.ctx, a.key, a.doc, req.cmd)
	if err != nil {
		return a.refuse(req, err)
	}
	r := &run{id: a.e.cfg.NewID(), req: req, base: a.doc.Version, began: a.e.cfg.Now()}
	r.mint = regen.Mint{
		Run: r.id, Turn: a.e.cfg.NewID(), Row: a.e.cfg.NewID(), Variant: a.e.cfg.NewID(), Generation: a.e.cfg.NewID(),
		At: a.e.seconds(),
	}
	if plan.Cuts() {
		if plan, err = a.enlarge(plan, r.mint); err != nil {
			return a.refuse(req, err)
		}
	}
	if !req.cmd.Op.Runs() {
		return a.edit(plan, req, r.mint)
	}
	return a.commit(plan, r, nil)
}

// refuse answers a command that the plan refused: a repeat of an accepted command gets its receipt all the same.
func (a *actor) refuse(req request, why error) (stream.Receipt, error) {
	if errors.Is(why, errRetry) {
		return stream.Receipt{}, latch(why)
	}
	snap, err := a.e.log.Read(a.ctx, a.key, stream.Query{CommandKey: req.cmd.Key, HeadOnly: true})
	switch {
	case err != nil:
		return stream.Receipt{}, fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
	case snap.Known != nil:
		return repeat(snap.Known, req)
	case snap.Head.Epoch != a.held.Epoch(): // refused on a document that is no longer the session's
		return stream.Receipt{}, a.fenced(snap.Head.Epoch)
	}
	return stream.Receipt{}, why
}

// commit writes an acceptance; more are entries that follow the started one.
func (a *actor) commit(plan regen.Plan, r *run, more []stream.Entry) (stream.Receipt, error) {
	c, err := plan.Commit(r.mint)
	if err != nil {
		return stream.Receipt{}, err
	}
	r.turn, r.model = c.Turn, r.req.cmd.Model
	rec := stream.Receipt{
		Session: a.key.Session, Turn: c.Turn, Run: r.id, Cursor: a.head.CursorAt(a.pos.Seq).String(),
	}
	st := stream.Started{
		Run: r.id, Turn: c.Turn, Keep: c.Keep, Rows: publicRows(c.Document, c.Rows), At: r.mint.At,
		Model: r.model, Node: a.e.cfg.Node,
	}
	ch := a.change(c.Edit)
	r.start = ch.add(stream.KindStarted, st)
	if c.Document.Fields.Title != a.doc.Fields.Title {
		ch.add(stream.KindSession, stream.SessionChange{Change: "title", Title: c.Document.Fields.Title})
	}
	ch.Start = r.start
	for _, en := range more {
		id := ch.put(en.Kind, en.Data)
		if en.Kind == stream.KindRestated {
			ch.Start = id
		}
	}
	ch.Accept = &stream.Accept{Run: r.id, Key: r.req.cmd.Key, Hash: r.req.hash, Receipt: rec}
	before := a.owed
	a.owed = r.id // while it is open the run may exist
	res, err := a.write(&ch.Change)
	var open *endError
	if !errors.As(err, &open) {
		a.owed = before
	}
	if err != nil {
		return stream.Receipt{}, err
	}
	switch res.Status {
	case stream.StatusDone:
		a.applied(&ch.Change, c.Document)
		a.launch(r, res.Stopped)
		return rec, nil
	case stream.StatusKnown:
		return repeat(res.Known, r.req)
	}
	return stream.Receipt{}, a.unexpected("accept", res)
}

// launch begins the run that was just accepted, or goes on with it if it was accepted again.
func (a *actor) launch(r *run, stopped bool) {
	a.run = r
	r.stopped = r.stopped || stopped
	a.held.SetRun(r.id)
	if r.buf == nil {
		var ctx context.Context
		ctx, r.cancel = context.WithCancel(a.e.ctx)
		r.buf = newBuffer(a.e.cfg.Buffer)
		p := Prompt{
			Key: a.key, Run: r.id, Model: r.model, System: cmp.Or(a.doc.Fields.System, a.e.cfg.System),
			Rows: a.doc.Prompt(a.e.cfg.ContextBytes),
		}
		if !r.stopped {
			a.runs.Go(func() { a.e.generate(ctx, r.buf, p) })
		}
		if a.e.cfg.Events.Accepted != nil {
			a.e.cfg.Events.Accepted(a.key, r.id, r.req.cmd.Op)
		}
	}
	a.touch()
}

// touch notes the activity for the list of sessions, beside the turn.
func (a *actor) touch() {
	at := a.e.seconds()
	a.runs.Go(func() {
		ctx, cancel := context.WithTimeout(a.e.ctx, callLimit)
		defer cancel()
		if err := a.e.log.Touch(ctx, a.key, at); err != nil {
			a.e.cfg.Logger.Debug("session list not updated", "session", a.key.Session, "err", err)
		}
	})
}

func publicRows(d *regen.Document, rows []regen.Row) []json.RawMessage {
	out := make([]json.RawMessage, len(rows))
	for i, r := range rows {
		out[i] = d.Public(r)
	}
	return out
}
