package turn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// errRetry says that the actor is gone or was fenced, and that this attempt was not accepted: look the key up and try anew.
var errRetry = errors.New("owner changed")

// tries bounds the attempts of one command: two nodes that take an idle session from each other must not go on for ever.
const tries = 5

// BusyReplace in regen.Command.Busy stops the run that is active when the command comes, waits for its end and then goes on. Every
// other value refuses the command while a run is active, and so do edits whatever it says: the end would make their revision stale,
// and the run would have been cut for nothing.
const BusyReplace = "replace"

// Do takes a command to its session's owner and answers when it was accepted or refused. A command without a key gets one here,
// so only this call's own attempts can be told from a second command. A command whose key was accepted before gets the first
// receipt, with Repeat set.
//
// A rename during a run of another node waits for the run's end.
//
// Errors: those of regen's Plan, *regen.BusyError among them when a run is active; *stream.KeyReusedError; stream.ErrNotFound for
// a regenerate of a session that does not exist; stream.ErrFull; stream.ErrUnavailable when it could not be decided: the same
// command with the same key may be sent again; ErrDraining. A refused command changed nothing.
func (e *Engine) Do(ctx context.Context, key regen.Key, cmd regen.Command) (stream.Receipt, error) {
	if err := key.Validate(); err != nil {
		return stream.Receipt{}, err
	}
	if cmd.Key == "" {
		cmd.Key = e.cfg.NewID()
	}
	req := request{cmd: cmd, hash: cmd.Hash()}
	rec, err := e.attempt(ctx, key, req)
	var busy *regen.BusyError
	replaces := cmd.Op == regen.OpSend || cmd.Op == regen.OpRegenerate
	if cmd.Busy == BusyReplace && replaces && errors.As(err, &busy) {
		if err := e.replace(ctx, key, busy.Run); err != nil {
			return stream.Receipt{}, err
		}
		return e.attempt(ctx, key, req) // once: another run that is active by now is not cut
	}
	for try := 0; cmd.Op == regen.OpRename && errors.As(err, &busy); try++ {
		// Only the owner writes during a run, and this node is not it: the title waits for the end.
		if !pause(ctx, try) {
			return stream.Receipt{}, fmt.Errorf("%w: another node's run has not ended yet", stream.ErrUnavailable)
		}
		rec, err = e.attempt(ctx, key, req)
	}
	return rec, err
}

// attempt tries until the owner has decided.
func (e *Engine) attempt(ctx context.Context, key regen.Key, req request) (stream.Receipt, error) {
	for try := range tries {
		if try > 0 && !pause(ctx, try) {
			break
		}
		rec, err := e.try(ctx, key, req)
		if !errors.Is(err, errRetry) {
			return rec, err
		}
	}
	if err := ctx.Err(); err != nil {
		return stream.Receipt{}, fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
	}
	return stream.Receipt{}, fmt.Errorf("%w: the session changes owners too fast", stream.ErrUnavailable)
}

// replace stops a run and waits for its end.
func (e *Engine) replace(ctx context.Context, key regen.Key, run string) error {
	if _, err := e.Cancel(ctx, key, stream.Stop{Run: run}); err != nil {
		return err
	}
	for try := 0; ; try++ {
		snap, err := e.log.Read(ctx, key, stream.Query{HeadOnly: true})
		if err == nil && snap.Head.Run != run {
			return nil
		}
		if !pause(ctx, try) {
			return fmt.Errorf("%w: the run to replace has not ended yet", stream.ErrUnavailable)
		}
	}
}

// try is one attempt: with this node's actor if it has one, else on a consistent read and then with a new actor.
func (e *Engine) try(ctx context.Context, key regen.Key, req request) (stream.Receipt, error) {
	a := e.actor(key)
	if a == nil {
		var rec stream.Receipt
		var err error
		if a, rec, err = e.admit(ctx, key, req); a == nil {
			return rec, err
		}
	}
	return a.ask(ctx, req)
}

// admit looks the key up and plans the command on a consistent read. Only a command that passes acquires anything; a nil actor
// means that the answer is final, or errRetry.
func (e *Engine) admit(ctx context.Context, key regen.Key, req request) (*actor, stream.Receipt, error) {
	snap, err := e.log.Read(ctx, key, stream.Query{CommandKey: req.cmd.Key, Rows: e.cfg.Rows})
	if err != nil {
		return nil, stream.Receipt{}, err
	}
	if snap.Known != nil {
		rec, err := repeat(snap.Known, req)
		return nil, rec, err
	}
	if !snap.Head.Exists() && req.cmd.Op != regen.OpSend {
		return nil, stream.Receipt{}, stream.ErrNotFound
	}
	var observed ownership.Epoch
	_, err = e.plan(ctx, key, documentOf(key, snap), req.cmd)
	if err == nil && snap.Head.Run != "" { // a rename is never busy itself, but may be written by the owner alone
		err = &regen.BusyError{Run: snap.Head.Run}
	}
	var busy *regen.BusyError
	switch {
	case err == nil:
	case !errors.As(err, &busy):
		return nil, stream.Receipt{}, err
	case snap.Lease.Node == e.cfg.Node: // busy here without an actor: this process, or an earlier life of this node
	case e.observer == nil:
		return nil, stream.Receipt{}, err
	default:
		ready, _ := e.observer.Observe(snap.Lease, snap.Now)
		if !ready {
			return nil, stream.Receipt{}, err
		}
		observed = snap.Lease.Epoch
	}
	a, startErr := e.start(key, observed, false)
	if startErr != nil {
		return nil, stream.Receipt{}, startErr
	}
	if busy != nil { // the actor settles the dead run first; if it may not, the session is busy
		if err := a.begun(ctx); err != nil {
			return nil, stream.Receipt{}, busy
		}
	}
	return a, stream.Receipt{}, nil
}

// Recover takes a session whose owner, which had this epoch, was observed to be gone, and settles its run. It returns when that
// is done. Errors: *ownership.HeldError and the other errors of acquiring; ErrDraining.
func (e *Engine) Recover(ctx context.Context, key regen.Key, observed ownership.Epoch) error {
	a, err := e.start(key, observed, true)
	if err != nil {
		return err
	}
	return a.begun(ctx)
}

// plan plans on doc, reading more rows where the window is too small for the last exchange.
func (e *Engine) plan(ctx context.Context, key regen.Key, doc *regen.Document, cmd regen.Command) (regen.Plan, error) {
	for {
		p, err := doc.Plan(cmd)
		if !errors.Is(err, regen.ErrWindow) || doc.RowsBelow+doc.ContextBelow == 0 {
			return p, err
		}
		wider, err := e.widen(ctx, key, doc)
		if err != nil {
			return regen.Plan{}, err
		}
		doc = wider
	}
}

// widen reads doc again with four times the rows. It gives errRetry when the document has changed meanwhile.
func (e *Engine) widen(ctx context.Context, key regen.Key, doc *regen.Document) (*regen.Document, error) {
	snap, err := e.log.Read(ctx, key, stream.Query{Rows: 4 * max(len(doc.Rows), len(doc.Context), e.cfg.Rows)})
	if err != nil {
		return nil, err
	}
	if snap.Document == nil || snap.Document.Version != doc.Version {
		return nil, errRetry
	}
	return snap.Document, nil
}

// repeat answers a command whose key is known.
func repeat(k *stream.Known, req request) (stream.Receipt, error) {
	if k.Hash != req.hash {
		return stream.Receipt{}, &stream.KeyReusedError{Key: req.cmd.Key}
	}
	rec := k.Receipt
	rec.Repeat = true
	return rec, nil
}

func documentOf(key regen.Key, s stream.Snapshot) *regen.Document {
	if s.Document != nil {
		return s.Document
	}
	return &regen.Document{Session: key.Session}
}

// pause waits a little longer with each try; false when ctx ended.
func pause(ctx context.Context, try int) bool {
	d := 5 * time.Millisecond << min(try, 7)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
