package ownership

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"
)

// AcquireOptions says how to acquire. The zero value takes an idle session, or one that is busy in this process.
type AcquireOptions struct {
	// Seen is the highest epoch of the session that the caller knows of.
	Seen Epoch
	// Observed is the epoch of a busy lease that Watcher.Observe found ready to be taken; 0 takes idle sessions only.
	Observed Epoch
	// CommandKey is the key of the command to acquire for; if it was accepted already, nothing is acquired.
	CommandKey string
	// Alive says, without blocking, whether the actor that uses the lease still answers. The lease is renewed only while it
	// does; after a TTL of no the lease counts as lost. nil is always yes.
	Alive func() bool
	// OnStop is told that a stop for run is recorded, with every renewal that finds it. It must not block. May be nil.
	OnStop func(run string)
}

// Acquire gets the lease of key ("tenant/session"). An attempt whose outcome is unknown is repeated, as the same request, until it
// is definite or ctx ends; after that this node may own the session without knowing it, and the Watcher will find it.
//
// Errors: *HeldError, *KnownError, ErrUnavailable, ErrFull, *RefusedError: nothing was acquired. *UnknownError: see above.
// *LostError: acquired, but a later Acquire of this process has the session. ErrStopped: the Keeper has stopped.
func (k *Keeper) Acquire(ctx context.Context, key string, o AcquireOptions) (*Held, error) {
	defer k.move(key)()
	// The index comes first: whatever becomes of the acquire, the session can be found under this node.
	err := k.call(ctx, "write index", func(ctx context.Context) error { return k.store.IndexAdd(ctx, k.cfg.Node, key) })
	if err != nil {
		var unknown *UnknownError
		if errors.As(err, &unknown) { // adding is harmless, and nothing was acquired
			return nil, errors.Join(ErrUnavailable, unknown.Err)
		}
		return nil, err
	}
	req := Request{
		Key: key, Node: k.cfg.Node, Proc: k.cfg.Proc, Req: randomHex(16), TTL: k.cfg.TTL,
		Seen: o.Seen, Observed: o.Observed, CommandKey: o.CommandKey, Incarnation: randomHex(8),
	}
	grant, asked, err := k.ask(ctx, req)
	if err != nil {
		return nil, err
	}
	h := newHeld(k, key, grant, asked, o)
	if err := k.keep(h); err != nil {
		if errors.Is(err, ErrStopped) {
			_ = k.call(context.WithoutCancel(ctx), "release", func(ctx context.Context) error { return k.store.Release(ctx, h.lease()) })
		}
		h.end(err)
		return nil, err
	}
	return h, nil
}

// ask sends one request until the answer is definite. It also gives the monotonic time before the answered attempt was sent: a
// repeat prolongs the lease, so the last attempt counts.
func (k *Keeper) ask(ctx context.Context, req Request) (Grant, time.Duration, error) {
	open := false // an earlier attempt may have been applied, or may yet be
	for try := 0; ; try++ {
		asked := k.now()
		var g Grant
		err := k.call(ctx, "acquire", func(ctx context.Context) (err error) {
			g, err = k.store.Acquire(ctx, req)
			return err
		})
		if err == nil {
			return g, asked, nil
		}
		var (
			unknown *UnknownError
			held    *HeldError
			known   *KnownError
		)
		switch {
		case errors.As(err, &held):
			return Grant{}, 0, held
		case errors.As(err, &known):
			return Grant{}, 0, known
		case errors.As(err, &unknown):
			open = true
		case !open:
			return Grant{}, 0, err
		}
		// What is open stays open until the store says yes or no to this very request.
		if !pause(ctx, try) {
			return Grant{}, 0, &UnknownError{Err: errors.Join(context.Cause(ctx), err)}
		}
	}
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
