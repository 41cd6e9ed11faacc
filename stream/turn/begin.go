package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// begin takes the lease, loads the end of the document and settles the run that a dead owner left.
func (a *actor) begin() error {
	a.busy()
	if err := a.acquire(a.observed); err != nil {
		return err
	}
	snap, err := a.load()
	if err != nil {
		return err
	}
	a.e.readers.Wake(a.key)
	if snap.Head.Run != "" {
		return a.recover(snap)
	}
	return nil
}

// acquire takes the lease, also a second time: an epoch belongs to one life of the actor.
func (a *actor) acquire(observed ownership.Epoch) error {
	var seen ownership.Epoch
	if a.held != nil {
		seen = a.held.Epoch()
	}
	ctx, cancel := context.WithTimeout(a.e.ctx, wedged/2)
	defer cancel()
	held, err := a.e.keeper.Acquire(ctx, a.key.String(), ownership.AcquireOptions{
		Seen: seen, Observed: observed, Alive: a.alive, OnStop: a.stop,
	})
	var busy *ownership.HeldError
	switch {
	case errors.As(err, &busy):
		return fmt.Errorf("%w: %w", errRetry, err)
	case errors.Is(err, ownership.ErrFull):
		return fmt.Errorf("%w: %w", stream.ErrFull, err)
	case err != nil:
		return fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
	}
	a.leave()
	var end context.CancelCauseFunc
	a.held, a.owed = held, held.Grant().Run
	a.ctx, end = context.WithCancelCause(a.e.ctx)
	stop := context.AfterFunc(held.Context(), func() { end(context.Cause(held.Context())) })
	a.leave = func() { stop(); end(context.Canceled) }
	return nil
}

// load reads the document under the lease, with as many rows as the model is given, and checks the log's end.
func (a *actor) load() (stream.Snapshot, error) {
	rows := a.e.cfg.Rows
	for {
		a.busy()
		snap, err := a.e.log.Read(a.ctx, a.key, stream.Query{Rows: rows})
		if err != nil {
			return snap, fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
		}
		if snap.Head.Epoch != a.held.Epoch() {
			return snap, a.fenced(snap.Head.Epoch)
		}
		doc := documentOf(a.key, snap)
		if doc.RowsBelow+doc.ContextBelow > 0 && doc.NeedsMore(a.e.cfg.ContextBytes) {
			rows = a.e.enough(doc, rows)
			continue
		}
		tail, err := a.e.log.Check(a.ctx, a.key)
		if err != nil {
			return snap, fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
		}
		if tail.Epoch != a.held.Epoch() || tail.Top != snap.Top {
			return snap, a.fenced(tail.Epoch)
		}
		a.head, a.pos, a.batch, a.doc, a.conn = snap.Head, snap.Top, snap.Head.Batch, doc, tail.Conn
		a.inflight, a.attempts = nil, 0
		return snap, nil
	}
}

// enough guesses how many rows the model's budget holds, from those that are loaded.
func (e *Engine) enough(doc *regen.Document, rows int) int {
	size := 1
	seen := doc.Prompt(0)
	for i := range seen {
		size += len(seen[i].Content.Text())
	}
	return max(2*rows, min(8*rows, 64+len(seen)*e.cfg.ContextBytes/size))
}

// recover settles a run whose owner is gone, with all of its text that the log has. The log has no end of this run: an end and
// the idle head are written in one step.
func (a *actor) recover(snap stream.Snapshot) error {
	r := &run{id: snap.Head.Run, cancel: func() {}, buf: newBuffer(1)}
	if act := snap.Head.Active; act != nil {
		r.turn, r.model = act.Turn, act.Model
	}
	if err := a.replay(r); err != nil {
		return err
	}
	a.run = r
	a.held.SetRun(r.id)
	o := a.outcome(r)
	o.Kind, o.Cause = regen.Interrupted, regen.CauseOwnerLost
	if err := a.settle(o); err != nil {
		return err
	}
	if a.e.cfg.Events.Recovered != nil {
		a.e.cfg.Events.Recovered(a.key, r.id)
	}
	return nil
}

// replay folds the log into what r has said.
func (a *actor) replay(r *run) error {
	for after := (stream.EntryID{}); ; {
		a.busy()
		page, err := a.e.log.Page(a.ctx, a.key, after, 1000)
		if err != nil {
			return fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
		}
		for _, en := range page.Entries {
			// Behind a hole stands an append of an owner that did not know yet; its text does not follow what is before it.
			hole := en.Kind != stream.KindMarker && !after.IsZero() && en.ID.Seq != after.Seq+1
			if hole && !r.holed {
				a.e.cfg.Logger.Error("the log of a dead owner's run has a hole; its text ends there", "session", a.key.Session, "run", r.id)
			}
			r.holed = r.holed || hole
			after = en.ID
			r.fold(en)
		}
		if !page.More || len(page.Entries) == 0 {
			return nil
		}
	}
}

// fold takes in one logged entry.
func (r *run) fold(en stream.Entry) {
	switch en.Kind {
	case stream.KindStarted:
		var st stream.Started
		if json.Unmarshal([]byte(en.Data), &st) == nil && st.Run == r.id {
			r.start, r.holed = en.ID, false
			r.forget()
		}
	case stream.KindRestated:
		r.holed = false
		r.forget()
	}
	if r.holed {
		return
	}
	switch en.Kind {
	case stream.KindText:
		r.text.WriteString(en.Data)
	case stream.KindReasoning:
		r.reasoning.WriteString(en.Data)
	case stream.KindTool:
		r.tools = append(r.tools, json.RawMessage(strings.Clone(en.Data)))
	}
}

func (r *run) forget() {
	r.text.Reset()
	r.reasoning.Reset()
	r.tools = nil
}
