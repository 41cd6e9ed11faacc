package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/regen"
	"holdfast/stream"
)

var errBufferFull = errors.New("not sure to be the owner, and the buffer of unlogged tokens is full")

// finish settles the run if it has ended: stopped, interrupted, or the model came to its end.
func (a *actor) finish() error {
	r := a.run
	o := a.outcome(r)
	switch {
	case r.stopped:
		o.Kind = regen.Cancelled
	case r.cut != "":
		o.Kind, o.Cause = regen.Interrupted, r.cut
	default:
		last, err, ended := r.buf.end()
		if !ended {
			return nil
		}
		a.judge(&o, last, err)
	}
	return a.settle(o)
}

// outcome is what is known of a run's end before it is known how it ended.
func (a *actor) outcome(r *run) regen.Outcome {
	return regen.Outcome{
		Run: r.id, Text: r.text.String(), Reasoning: r.reasoning.String(), ToolCalls: r.tools, Model: r.model,
		At: a.e.seconds(), AnswerRow: a.e.cfg.NewID(), ErrorRow: a.e.cfg.NewID(),
	}
}

// judge says how the model ended.
func (a *actor) judge(o *regen.Outcome, last Delta, err error) {
	o.Usage = last.Usage
	if last.Model != "" {
		o.Model = last.Model
	}
	var known *SourceError
	switch {
	case errors.As(err, &known):
		o.Kind, o.Message = regen.Failed, known.Message
	case err != nil:
		o.Kind, o.Message = regen.Failed, "The model could not be reached."
	case last.Finish == "length":
		o.Kind = regen.Length
	case last.Finish == "content_filter":
		o.Kind = regen.Filtered
	case last.Finish != "":
		o.Kind = regen.Completed
	default:
		o.Kind, o.Message = regen.Failed, "The model's answer was cut short."
	}
	if err != nil {
		a.e.cfg.Logger.Warn("model failed", "session", a.key.Session, "run", o.Run, "err", err)
	}
}

// settle ends the active run in one step. A recorded stop makes it end as cancelled, whatever came first to us.
func (a *actor) settle(o regen.Outcome) error {
	r := a.run
	r.cancel()
	for {
		var err error
		if o.Restore, err = a.previous(o); err != nil {
			return latch(fmt.Errorf("settle: %w", err))
		}
		s, err := a.doc.Settle(o)
		if errors.Is(err, regen.ErrWindow) && a.doc.RowsBelow+a.doc.ContextBelow > 0 {
			if a.doc, err = a.e.widen(a.ctx, a.key, a.doc); err == nil {
				continue
			}
		}
		if err != nil {
			return latch(fmt.Errorf("settle: %w", err))
		}
		ch := a.settlement(r, s, o)
		res, err := a.write(&ch.Change)
		if err != nil {
			return err
		}
		switch res.Status {
		case stream.StatusDone:
			a.applied(&ch.Change, s.Document)
			a.ended(r, string(s.Kind))
			return nil
		case stream.StatusStopped:
			o.Kind, o.Cause, o.Message = regen.Cancelled, "", ""
		case stream.StatusConflict:
			return a.settleLost(r, o)
		default:
			return a.unexpected("settle", res)
		}
	}
}

// settlement is the change that ends a run: the log keeps the entries of this run.
func (a *actor) settlement(r *run, s regen.Settlement, o regen.Outcome) *draft {
	ch := a.change(s.Edit)
	ch.Settle = &stream.Settle{Run: r.id, Cancelled: o.Kind == regen.Cancelled}
	rev, _ := s.Document.Minted()
	ev := stream.Settled{
		Run: r.id, Turn: s.Turn, Outcome: string(s.Kind), Rows: publicRows(s.Document, s.Rows), Revision: rev,
		Usage: o.Usage, Variants: s.Variants, Node: a.e.cfg.Node,
	}
	if s.Kind == regen.Interrupted {
		ev.Cause = o.Cause
	}
	ch.add(stream.KindSettled, ev)
	if !r.start.IsZero() {
		ch.Trim = r.start
		ch.Before = a.head.CursorAt(r.start.Seq - 1).ID
		ch.Fences = a.head.Fences.Prune(r.start.Seq)
	}
	return ch
}

// ended: the run is settled and the session idle.
func (a *actor) ended(r *run, outcome string) {
	a.run, a.owed = nil, ""
	a.held.SetRun("")
	if a.e.cfg.Events.Settled != nil {
		took := time.Duration(0)
		if !r.began.IsZero() {
			took = a.e.cfg.Now().Sub(r.began)
		}
		a.e.cfg.Events.Settled(a.key, r.id, outcome, took)
	}
	if outcome != string(regen.Interrupted) { // a repair is nobody's activity
		a.touch()
	}
}

// Cancel records a stop and tells the owner. The answer says whether the run can still be stopped; an accepted stop makes the run
// end as cancelled, whoever owns it by then.
func (e *Engine) Cancel(ctx context.Context, key regen.Key, s stream.Stop) (stream.StopResult, error) {
	if err := key.Validate(); err != nil {
		return stream.StopResult{}, err
	}
	for try := 0; ; try++ {
		res, err := e.log.Cancel(ctx, key, s)
		var unknown *stream.UnknownError
		if errors.As(err, &unknown) && pause(ctx, try) {
			continue // recording a stop twice is recording it once
		}
		if err == nil && res.Answer == stream.StopAccepted && res.Run != "" {
			e.Stopped(key, res.Run)
		}
		return res, err
	}
}

// Stopped tells this node that a stop for run is recorded. It never blocks.
func (e *Engine) Stopped(key regen.Key, run string) {
	if a := e.actor(key); a != nil {
		a.stop(run)
	}
}

func (a *actor) onStop() error {
	if s := a.stopRun.Load(); s != nil && a.run != nil && a.run.id == *s {
		a.run.stopped = true
		a.run.cancel()
	}
	return a.pump()
}

func (a *actor) onCut() error {
	if s := a.cutCause.Load(); s != nil && a.run != nil {
		a.run.cut = *s
		a.run.cancel()
	}
	return a.pump()
}
