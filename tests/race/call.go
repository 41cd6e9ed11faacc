package race

import (
	"context"
	"errors"
	"fmt"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// Leases is what is checked of a store of leases.
type Leases = ownership.Store

// Log is what is checked of a store of sessions.
type Log interface {
	Write(ctx context.Context, key regen.Key, c *stream.Change) (stream.WriteResult, error)
	Append(key regen.Key, e stream.Entry, done func(stream.AppendResult))
	Check(ctx context.Context, key regen.Key) (stream.Tail, error)
	Cancel(ctx context.Context, key regen.Key, s stream.Stop) (stream.StopResult, error)
}

// Stores are both, over one store. A mutant is a pair that breaks a promise on purpose.
type Stores struct {
	Leases Leases
	Log    Log
}

// Call is one call to the store, the input of a step of the Spec. One of the pointers is set, or Now.
type Call struct {
	Session string
	Acquire *ownership.Request
	Renew   *ownership.Renewal
	Release *ownership.Lease
	Change  *stream.Change
	Append  *stream.Entry
	Stop    *stream.Stop
	Check   bool
	Now     int64 // the store's clock is set to it
}

// Reply is what came back: the output of a step. Unknown covers every outcome, not being applied too; the rest is text, so that what
// the Spec says and what the store said are compared as they are printed.
type Reply struct {
	Unknown bool
	Text    string
}

// call makes a call and gives what it said; known facts beside the text go to the caller through the second value.
func (s Stores) call(ctx context.Context, c Call) (Reply, any) {
	key := regen.Key{Tenant: "race", Session: c.Session}
	switch {
	case c.Acquire != nil:
		g, err := s.Leases.Acquire(ctx, *c.Acquire)
		return acquired(g, err), g
	case c.Renew != nil:
		rs, err := s.Leases.Renew(ctx, []ownership.Renewal{*c.Renew})
		if err != nil || len(rs) != 1 || rs[0].Status == ownership.RenewUnknown {
			return Reply{Unknown: true}, nil
		}
		return renewed(rs[0]), nil
	case c.Release != nil:
		return said(s.Leases.Release(ctx, *c.Release), "released"), nil
	case c.Change != nil:
		r, err := s.Log.Write(ctx, key, c.Change)
		if err != nil {
			return said(err, ""), nil
		}
		return wrote(r), r
	case c.Append != nil:
		got := make(chan stream.AppendResult, 1)
		s.Log.Append(key, *c.Append, func(r stream.AppendResult) { got <- r })
		r := <-got
		return appended(r.Status), r.Status
	case c.Stop != nil:
		r, err := s.Log.Cancel(ctx, key, *c.Stop)
		if err != nil {
			return said(err, ""), nil
		}
		return stopped(r), nil
	default:
		t, err := s.Log.Check(ctx, key)
		if err != nil {
			return said(err, ""), nil
		}
		return checked(t), t
	}
}

// said is the reply for an error; ok for none.
func said(err error, ok string) Reply {
	switch {
	case err == nil:
		return Reply{Text: ok}
	case errors.Is(err, stream.ErrUnavailable), errors.Is(err, ownership.ErrUnavailable), errors.Is(err, stream.ErrFull), errors.Is(err, ownership.ErrFull):
		return Reply{Text: notApplied}
	}
	return Reply{Unknown: true}
}

// notApplied is the reply of a call that certainly changed nothing and says nothing.
const notApplied = "not applied"

func acquired(g ownership.Grant, err error) Reply {
	var held *ownership.HeldError
	var known *ownership.KnownError
	switch {
	case errors.As(err, &held):
		return Reply{Text: fmt.Sprintf("held %s %s %d until %d run %s now %d", held.Owner, held.Proc, held.Epoch, held.Until, held.Run, held.Now)}
	case errors.As(err, &known):
		return Reply{Text: "known"}
	case err != nil:
		return said(err, "")
	}
	return Reply{Text: fmt.Sprintf("granted %d %s seq %d fresh %v run %s prev %d %s now %d", g.Epoch, g.Incarnation, g.Seq, g.Fresh, g.Run, g.PrevEpoch, g.PrevNode, g.Now)}
}

func renewed(r ownership.Renewed) Reply {
	return Reply{Text: fmt.Sprintf("renewed %d until %d higher %d stop %v", r.Status, r.Until, r.Higher, r.Stop)}
}

func wrote(r stream.WriteResult) Reply {
	known := ""
	if r.Known != nil {
		known = r.Known.Run
	}
	return Reply{Text: fmt.Sprintf("%s known %s epoch %d run %s stopped %v %s", r.Status, known, r.Epoch, r.Run, r.Stopped, r.Reason)}
}

func appended(s stream.AppendStatus) Reply {
	switch s {
	case stream.AppendDone:
		return Reply{Text: "appended"}
	case stream.AppendRefused:
		return Reply{Text: "refused"}
	case stream.AppendFailed:
		return Reply{Text: notApplied}
	}
	return Reply{Unknown: true}
}

func stopped(r stream.StopResult) Reply {
	return Reply{Text: fmt.Sprintf("stop %s run %s seq %d", r.Answer, r.Run, r.Seq)}
}

func checked(t stream.Tail) Reply {
	return Reply{Text: fmt.Sprintf("tail %s %d version %d batch %d run %s top %s", t.Incarnation, t.Epoch, t.Version, t.Batch, t.Run, t.Top)}
}

// String is the call as a failure shows it.
func (c Call) String() string {
	switch {
	case c.Acquire != nil:
		r := c.Acquire
		return fmt.Sprintf("acquire %s %s req %s seen %d observed %d key %q", r.Node, r.Proc, r.Req, r.Seen, r.Observed, r.CommandKey)
	case c.Renew != nil:
		return fmt.Sprintf("renew %s %s %d run %s", c.Renew.Node, c.Renew.Proc, c.Renew.Epoch, c.Renew.Run)
	case c.Release != nil:
		return fmt.Sprintf("release %s %s %d", c.Release.Node, c.Release.Proc, c.Release.Epoch)
	case c.Change != nil:
		x := c.Change
		what := "entries"
		if x.Settle != nil {
			what = fmt.Sprintf("settle %s cancelled %v", x.Settle.Run, x.Settle.Cancelled)
		}
		if x.Accept != nil {
			what += fmt.Sprintf(" accept %s key %s", x.Accept.Run, x.Accept.Key)
		}
		return fmt.Sprintf("write %d.%d at %s version %d: %s", x.Epoch, x.N, x.At, x.Expect.Version, what)
	case c.Append != nil:
		return "append " + c.Append.ID.String()
	case c.Stop != nil:
		return "stop " + c.Stop.Run
	case c.Check:
		return "check"
	}
	return fmt.Sprintf("clock %d", c.Now)
}
