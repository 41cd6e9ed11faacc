package turn

import (
	"context"
	"errors"
	"fmt"

	"holdfast/regen"
	"holdfast/stream"
)

// edit makes a change without a run durable in one step, and tells the readers.
func (a *actor) edit(plan regen.Plan, req request, m regen.Mint) (stream.Receipt, error) {
	if id := plan.Variant(); id != "" {
		var err error
		if m.Record, err = a.variant(id); err != nil {
			return stream.Receipt{}, err
		}
	}
	c, err := plan.Commit(m)
	if err != nil {
		return stream.Receipt{}, err
	}
	ch := a.change(c.Edit)
	ev := stream.SessionChange{Change: "title", Title: c.Document.Fields.Title}
	if req.cmd.Op != regen.OpRename {
		ev = stream.SessionChange{Change: "rows", Keep: c.Keep, Rows: publicRows(c.Document, c.Rows)}
		ev.Revision, _ = c.Document.Minted()
	}
	rec := stream.Receipt{
		Session: a.key.Session, Turn: c.Turn, Cursor: a.head.CursorAt(a.pos.Seq).String(), Revision: c.Edit.Revision,
	}
	ch.add(stream.KindSession, ev)
	ch.Accept = &stream.Accept{Edit: m.Generation, Key: req.cmd.Key, Hash: req.hash, Receipt: rec, Anytime: req.cmd.Op == regen.OpRename}
	res, err := a.write(&ch.Change)
	if err != nil {
		return stream.Receipt{}, err
	}
	switch res.Status {
	case stream.StatusDone:
		a.applied(&ch.Change, c.Document)
		a.touch()
		return rec, nil
	case stream.StatusKnown:
		return repeat(res.Known, req)
	case stream.StatusConflict:
		if a.run != nil { // the store lost something: the run is stated again, the edit comes again
			if err := a.restate(); err != nil {
				return stream.Receipt{}, err
			}
			return stream.Receipt{}, errRetry
		}
	}
	return stream.Receipt{}, a.unexpected(string(req.cmd.Op), res)
}

// enlarge plans a cut on more rows where what stays of the window would be less than the model is given.
func (a *actor) enlarge(plan regen.Plan, m regen.Mint) (regen.Plan, error) {
	for doc := a.doc; ; {
		c, err := plan.Commit(m)
		if err != nil || doc.RowsBelow+doc.ContextBelow == 0 || c.Document.RowsBelow+c.Document.ContextBelow == 0 ||
			!c.Document.NeedsMore(a.e.cfg.ContextBytes) {
			return plan, err
		}
		if doc, err = a.e.widen(a.ctx, a.key, doc); err != nil {
			return plan, err
		}
		if plan, err = a.e.plan(a.ctx, a.key, doc, plan.Command()); err != nil {
			return plan, err
		}
	}
}

// variant reads one replaced answer of the session.
func (a *actor) variant(id string) (*regen.VariantRecord, error) {
	ctx, cancel := context.WithTimeout(a.ctx, callLimit)
	defer cancel()
	snap, err := a.e.log.Read(ctx, a.key, stream.Query{HeadOnly: true, Variants: []string{id}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
	}
	if rec, ok := snap.Variants[id]; ok {
		return &rec, nil
	}
	return nil, regen.ErrNoVariant
}

// previous gives the answer that this run was to replace, where the policy brings it back after such an end. A store that cannot be
// asked is asked again: once settled, the choice is made.
func (a *actor) previous(o regen.Outcome) (*regen.VariantRecord, error) {
	if a.e.cfg.OnFailure != Restore {
		return nil, nil
	}
	id := a.doc.Restorable(o)
	if id == "" {
		return nil, nil
	}
	var rec *regen.VariantRecord
	err := a.insist(func() (err error) { rec, err = a.variant(id); return err })
	if errors.Is(err, regen.ErrNoVariant) {
		return nil, nil
	}
	return rec, err
}

// catchUp does the commands that waited for the entry on its way: while its outcome is open nothing else of the session is written.
func (a *actor) catchUp() error {
	for len(a.later) > 0 && a.inflight == nil {
		req := a.later[0]
		a.later = a.later[1:]
		if err := a.reply(req); err != nil {
			return err
		}
	}
	return nil
}
