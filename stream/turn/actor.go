package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// callLimit bounds one call to the store.
const callLimit = 2 * time.Second

// wedged is how long one step of an actor may take before its lease is no longer renewed. Retries count as steps of their own.
const wedged = 10 * time.Second

// request is one command on its way to the actor.
type request struct {
	cmd   regen.Command
	hash  string
	reply chan<- answer
}

type answer struct {
	rec stream.Receipt
	err error
}

// actor is the only writer of one owned session. All fields but the channels and atomics belong to its goroutine.
type actor struct {
	e        *Engine
	key      regen.Key
	observed ownership.Epoch
	brief    bool // started to settle what a dead owner left: released soon, unless a command comes

	reqs     chan request
	appended chan stream.AppendResult // size 1: one append is on its way at most
	stopC    chan struct{}            // size 1: look at stopRun
	stopRun  atomic.Pointer[string]   // the run that a stop is recorded for
	cutC     chan struct{}            // size 1: look at cutCause
	cutCause atomic.Pointer[string]   // end the run as interrupted, for this cause
	started  chan struct{}            // closed when the session was loaded and a dead run settled
	gone     chan struct{}            // closed at the end; err is set before
	err      error
	step     atomic.Int64 // when the current step began, nanoseconds since 1970; 0 while waiting

	held  *ownership.Held
	ctx   context.Context // ends with the lease, or with the engine
	leave func()          // ends ctx

	head  stream.Head // incarnation, fences, before
	pos   stream.EntryID
	batch uint64
	doc   *regen.Document
	conn  uint64 // the writer's connection count at which the log's end was last checked
	run   *run   // nil when idle
	owed  string // the run that came with the lease and is not settled yet; "" for none

	later    []request // renames that wait for inflight
	inflight *stream.Entry
	retry    *time.Timer // an append's outcome is to be resolved, or it is to be sent again
	attempts int
	runs     sync.WaitGroup
}

func newActor(e *Engine, key regen.Key, observed ownership.Epoch, brief bool) *actor {
	a := &actor{
		e: e, key: key, observed: observed, brief: brief,
		reqs:     make(chan request),
		appended: make(chan stream.AppendResult, 1),
		stopC:    make(chan struct{}, 1),
		cutC:     make(chan struct{}, 1),
		started:  make(chan struct{}),
		gone:     make(chan struct{}),
		leave:    func() {},
		retry:    time.NewTimer(time.Hour),
	}
	a.retry.Stop()
	return a
}

// ask hands a command to the actor and waits for the answer.
func (a *actor) ask(ctx context.Context, req request) (stream.Receipt, error) {
	reply := make(chan answer, 1)
	req.reply = reply
	select {
	case a.reqs <- req:
	case <-a.gone:
		return stream.Receipt{}, a.err
	case <-ctx.Done():
		return stream.Receipt{}, fmt.Errorf("%w: %w", stream.ErrUnavailable, ctx.Err())
	}
	select {
	case ans := <-reply:
		return ans.rec, ans.err
	case <-a.gone: // the answer may have come at the same moment
		select {
		case ans := <-reply:
			return ans.rec, ans.err
		default:
			return stream.Receipt{}, errRetry
		}
	case <-ctx.Done():
		return stream.Receipt{}, fmt.Errorf("%w: %w", stream.ErrUnavailable, ctx.Err())
	}
}

// begun waits until the actor owns the session and has settled what a dead owner left.
func (a *actor) begun(ctx context.Context) error {
	select {
	case <-a.started:
		return nil
	case <-a.gone:
		select {
		case <-a.started:
			return nil
		default:
			return a.err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// live is the actor's goroutine.
func (a *actor) live() {
	err := errRetry
	defer func() {
		if p := recover(); p != nil {
			a.e.cfg.Logger.Error("session actor panicked", "session", a.key.Session, "panic", p, "stack", string(debug.Stack()))
			if a.held != nil {
				a.held.Abandon() // nobody renews for an actor that is gone: recovery need not wait for the watchdog
			}
		}
		a.e.forget(a)
		a.err = err
		close(a.gone)
		a.leave()
		if a.run != nil {
			a.run.cancel()
		}
		a.runs.Wait()
	}()
	if why := a.begin(); why != nil {
		var end *endError
		if err = why; errors.As(why, &end) {
			err = end.answer
		}
		a.letGo(why)
		return
	}
	close(a.started)
	a.letGo(a.loop())
}

// loop serves until the session is idle for long enough, the lease is lost or the engine ends. nil is an orderly end.
func (a *actor) loop() error {
	idle := time.NewTimer(a.patience())
	defer idle.Stop()
	drain := a.e.drainC
	for {
		if a.run == nil && drain == nil {
			return nil
		}
		var tokens <-chan struct{}
		if a.run != nil {
			tokens = a.run.buf.wake
		}
		a.step.Store(0)
		var err error
		select {
		case req := <-a.reqs:
			a.busy()
			err = a.serve(req)
		case <-tokens:
			a.busy()
			err = a.pump()
		case res := <-a.appended:
			a.busy()
			err = a.onAppended(res)
		case <-a.retry.C:
			a.busy()
			err = a.resolve()
		case <-a.held.Changed():
			a.busy()
			err = a.pump()
		case <-a.stopC:
			a.busy()
			err = a.onStop()
		case <-a.cutC:
			a.busy()
			err = a.onCut()
		case <-drain:
			drain = nil
		case <-idle.C:
			if a.run == nil {
				return nil
			}
		case <-a.ctx.Done():
			return context.Cause(a.ctx)
		}
		if err != nil {
			return err
		}
		if a.run == nil {
			idle.Reset(a.patience())
		}
	}
}

// patience is how long an idle session is kept.
func (a *actor) patience() time.Duration {
	if a.brief {
		return min(a.e.cfg.IdleRelease, time.Second)
	}
	return a.e.cfg.IdleRelease
}

// serve answers one command. An error ends the actor; the command was answered then, too.
func (a *actor) serve(req request) error {
	a.brief = false
	if a.inflight != nil && req.cmd.Op == regen.OpRename {
		a.later = append(a.later, req)
		return nil
	}
	if err := a.reply(req); err != nil {
		return err
	}
	if a.run != nil {
		return a.pump()
	}
	return nil
}

// reply decides on one command and answers it.
func (a *actor) reply(req request) error {
	rec, err := a.accept(req)
	var end *endError
	if errors.As(err, &end) {
		a.e.forget(a) // before the answer, so that a new attempt meets a new actor
		req.reply <- answer{err: end.answer}
		return end
	}
	req.reply <- answer{rec: rec, err: err}
	return nil
}

// endError ends an actor; answer is what the command gets that met it.
type endError struct {
	why    error
	answer error
}

func (e *endError) Error() string { return e.why.Error() }
func (e *endError) Unwrap() error { return e.why }

// latch ends the actor: it must write nothing more.
func latch(why error) error { return &endError{why: why, answer: errRetry} }

// letGo gives the lease back, or leaves it to lapse where a run is still to be settled.
func (a *actor) letGo(why error) {
	if a.held == nil {
		return
	}
	if why != nil && !errors.Is(why, context.Canceled) {
		a.e.cfg.Logger.Info("session let go", "session", a.key.Session, "epoch", a.held.Epoch(), "why", why)
	}
	if a.run != nil || a.owed != "" {
		a.held.Abandon() // the run is still the writeback owner: recovery settles it
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.e.ctx), callLimit)
	defer cancel()
	if err := a.held.Release(ctx); err != nil {
		a.e.cfg.Logger.Debug("lease not released", "session", a.key.Session, "err", err)
	}
}

func (a *actor) busy() { a.step.Store(time.Now().UnixNano()) }

// alive says whether the actor still answers: it waits, or its step began not long ago.
func (a *actor) alive() bool {
	s := a.step.Load()
	return s == 0 || time.Since(time.Unix(0, s)) < wedged
}

// stop is told that a stop for run is recorded. It never blocks.
func (a *actor) stop(run string) {
	a.stopRun.Store(&run)
	wake(a.stopC)
}

// interrupt asks to settle the run as interrupted. It never blocks.
func (a *actor) interrupt(cause string) {
	a.cutCause.Store(&cause)
	wake(a.cutC)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (a *actor) fenced(higher ownership.Epoch) error {
	return latch(&stream.FencedError{Session: a.key.Session, Epoch: a.held.Epoch(), Higher: higher})
}

// seconds is now as rows have it.
func (e *Engine) seconds() float64 { return float64(e.cfg.Now().UnixMicro()) / 1e6 }
