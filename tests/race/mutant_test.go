package race_test

import (
	"context"
	"errors"
	"sync"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/tests/race"
)

// leases and log are stores with some of their methods replaced; nil leaves one as it is.
type leases struct {
	race.Leases
	acquire func(context.Context, ownership.Request) (ownership.Grant, error)
	renew   func(context.Context, []ownership.Renewal) ([]ownership.Renewed, error)
	release func(context.Context, ownership.Lease) error
}

func (l leases) Acquire(ctx context.Context, r ownership.Request) (ownership.Grant, error) {
	if l.acquire != nil {
		return l.acquire(ctx, r)
	}
	return l.Leases.Acquire(ctx, r)
}

func (l leases) Renew(ctx context.Context, rs []ownership.Renewal) ([]ownership.Renewed, error) {
	if l.renew != nil {
		return l.renew(ctx, rs)
	}
	return l.Leases.Renew(ctx, rs)
}

func (l leases) Release(ctx context.Context, x ownership.Lease) error {
	if l.release != nil {
		return l.release(ctx, x)
	}
	return l.Leases.Release(ctx, x)
}

type log struct {
	race.Log
	write  func(context.Context, regen.Key, *stream.Change) (stream.WriteResult, error)
	append func(regen.Key, stream.Entry, func(stream.AppendResult))
	cancel func(context.Context, regen.Key, stream.Stop) (stream.StopResult, error)
}

func (l log) Write(ctx context.Context, key regen.Key, c *stream.Change) (stream.WriteResult, error) {
	if l.write != nil {
		return l.write(ctx, key, c)
	}
	return l.Log.Write(ctx, key, c)
}

func (l log) Append(key regen.Key, e stream.Entry, done func(stream.AppendResult)) {
	if l.append != nil {
		l.append(key, e, done)
		return
	}
	l.Log.Append(key, e, done)
}

func (l log) Cancel(ctx context.Context, key regen.Key, s stream.Stop) (stream.StopResult, error) {
	if l.cancel != nil {
		return l.cancel(ctx, key, s)
	}
	return l.Log.Cancel(ctx, key, s)
}

// writes makes a mutant that meets every change.
func writes(f func(ctx context.Context, l race.Log, key regen.Key, c *stream.Change) (stream.WriteResult, error)) func(race.Stores) race.Stores {
	return func(s race.Stores) race.Stores {
		inner := s.Log
		s.Log = log{Log: inner, write: func(ctx context.Context, key regen.Key, c *stream.Change) (stream.WriteResult, error) {
			return f(ctx, inner, key, c)
		}}
		return s
	}
}

func acquires(f func(context.Context, race.Leases, ownership.Request) (ownership.Grant, error)) func(race.Stores) race.Stores {
	return func(s race.Stores) race.Stores {
		inner := s.Leases
		s.Leases = leases{Leases: inner, acquire: func(ctx context.Context, r ownership.Request) (ownership.Grant, error) { return f(ctx, inner, r) }}
		return s
	}
}

// again writes a copy of c after change has been made to it, if the store said what is not wanted.
func again(when stream.Status, change func(c *stream.Change, tail stream.Tail)) func(race.Stores) race.Stores {
	return writes(func(ctx context.Context, l race.Log, key regen.Key, c *stream.Change) (stream.WriteResult, error) {
		r, err := l.Write(ctx, key, c)
		if err != nil || r.Status != when {
			return r, err
		}
		tail, err := l.Check(ctx, key)
		if err != nil {
			return r, err
		}
		x := *c
		x.Entries = append([]stream.Entry(nil), c.Entries...)
		change(&x, tail)
		return l.Write(ctx, key, &x)
	})
}

// moved puts a change where the store is now.
func moved(c *stream.Change, t stream.Tail) {
	c.Incarnation, c.Epoch, c.N, c.At = t.Incarnation, t.Epoch, t.Batch+1, t.Top
	c.Expect.Version, c.Edit.Version = t.Version, t.Version+1
	at := t.Top
	at.Epoch = t.Epoch
	c.At = at
	for i := range c.Entries {
		at = at.Next()
		c.Entries[i].ID = at
	}
}

// mutants are stores that break one promise each.
var mutants = map[string]func(race.Stores) race.Stores{
	// Two owners under one epoch.
	"the epoch of a take-over is the old one": acquires(func(ctx context.Context, l race.Leases, r ownership.Request) (ownership.Grant, error) {
		g, err := l.Acquire(ctx, r)
		if err == nil && g.PrevEpoch != 0 {
			g.Epoch = g.PrevEpoch
		}
		return g, err
	}),
	// A repeat after somebody else came hands out an epoch that is no longer its own.
	"a grant is remembered": func(s race.Stores) race.Stores {
		var mu sync.Mutex
		grants := map[string]ownership.Grant{}
		return acquires(func(ctx context.Context, l race.Leases, r ownership.Request) (ownership.Grant, error) {
			mu.Lock()
			defer mu.Unlock()
			if g, ok := grants[r.Req]; ok {
				return g, nil
			}
			g, err := l.Acquire(ctx, r)
			if err == nil {
				grants[r.Req] = g
			}
			return g, err
		})(s)
	},
	// A live run is cut.
	"a busy lease is taken before its time": acquires(func(ctx context.Context, l race.Leases, r ownership.Request) (ownership.Grant, error) {
		g, err := l.Acquire(ctx, r)
		var held *ownership.HeldError
		if !errors.As(err, &held) {
			return g, err
		}
		if err := l.Release(ctx, ownership.Lease{Key: r.Key, Node: held.Owner, Proc: held.Proc, Epoch: held.Epoch}); err != nil {
			return g, err
		}
		return l.Acquire(ctx, r)
	}),
	// A command that was accepted starts again.
	"acquire does not look the command up": acquires(func(ctx context.Context, l race.Leases, r ownership.Request) (ownership.Grant, error) {
		r.CommandKey = ""
		return l.Acquire(ctx, r)
	}),
	// A person's send counts twice.
	"the batch number is not looked at":       again(stream.StatusRepeat, moved),
	"a fenced change is written all the same": again(stream.StatusFenced, moved),
	"the position is not looked at":           again(stream.StatusConflict, moved),
	"the command's key is not looked at": again(stream.StatusKnown, func(c *stream.Change, t stream.Tail) {
		moved(c, t)
		a := *c.Accept
		a.Key += "again"
		c.Accept = &a
	}),
	// An old worker of the same node ends the new run.
	"a missing writeback owner lets a settlement in": again(stream.StatusNotOwner, func(c *stream.Change, t stream.Tail) {
		moved(c, t)
		c.Settle = nil
		if t.Run != "" {
			c.Settle = &stream.Settle{Run: t.Run, Cancelled: true}
		}
	}),
	"a stop is overlooked": again(stream.StatusStopped, func(c *stream.Change, t stream.Tail) {
		s := *c.Settle
		s.Cancelled = true
		c.Settle = &s
	}),
	// Guessing instead of asking.
	"an unknown write counts as not applied": writes(func(ctx context.Context, l race.Log, key regen.Key, c *stream.Change) (stream.WriteResult, error) {
		r, err := l.Write(ctx, key, c)
		var unknown *stream.UnknownError
		if errors.As(err, &unknown) {
			return r, stream.ErrUnavailable
		}
		return r, err
	}),
	"an unknown append counts as appended": func(s race.Stores) race.Stores {
		inner := s.Log
		s.Log = log{Log: inner, append: func(key regen.Key, e stream.Entry, done func(stream.AppendResult)) {
			inner.Append(key, e, func(r stream.AppendResult) {
				if r.Status == stream.AppendUnknown {
					r.Status = stream.AppendDone
				}
				done(r)
			})
		}}
		return s
	},
	"a refused append counts as appended": func(s race.Stores) race.Stores {
		inner := s.Log
		s.Log = log{Log: inner, append: func(key regen.Key, e stream.Entry, done func(stream.AppendResult)) {
			inner.Append(key, e, func(r stream.AppendResult) {
				if r.Status == stream.AppendRefused {
					r.Status = stream.AppendDone
				}
				done(r)
			})
		}}
		return s
	},
	"a late stop counts as accepted": func(s race.Stores) race.Stores {
		inner := s.Log
		s.Log = log{Log: inner, cancel: func(ctx context.Context, key regen.Key, x stream.Stop) (stream.StopResult, error) {
			r, err := inner.Cancel(ctx, key, x)
			if r.Answer == stream.StopLate {
				r.Answer = stream.StopAccepted
			}
			return r, err
		}}
		return s
	},
	"any node prolongs a lease": func(s race.Stores) race.Stores {
		inner := s.Leases
		s.Leases = leases{Leases: inner, renew: func(ctx context.Context, rs []ownership.Renewal) ([]ownership.Renewed, error) {
			out, err := inner.Renew(ctx, rs)
			for i := range out {
				if out[i].Status == ownership.RenewLost {
					out[i].Status = ownership.RenewOK
				}
			}
			return out, err
		}}
		return s
	},
	// An old owner gives away what another one has.
	"release does not look at the epoch": func(s race.Stores) race.Stores {
		inner := s.Leases
		var mu sync.Mutex
		last := map[string]ownership.Lease{}
		s.Leases = leases{
			Leases: inner,
			acquire: func(ctx context.Context, r ownership.Request) (ownership.Grant, error) {
				g, err := inner.Acquire(ctx, r)
				var held *ownership.HeldError
				mu.Lock()
				defer mu.Unlock()
				if errors.As(err, &held) {
					last[r.Key] = ownership.Lease{Key: r.Key, Node: held.Owner, Proc: held.Proc, Epoch: held.Epoch}
				}
				return g, err
			},
			release: func(ctx context.Context, l ownership.Lease) error {
				mu.Lock()
				x, ok := last[l.Key]
				mu.Unlock()
				if ok {
					l = x
				}
				return inner.Release(ctx, l)
			},
		}
		return s
	},
}
