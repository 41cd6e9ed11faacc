package race

import (
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"holdfast/ownership"
	"holdfast/stream"
)

// state is all that the store holds of one session, as far as calls can tell. It is a comparable value.
type state struct {
	now int64

	node, proc, req string
	lease           ownership.Epoch
	until, ttl      int64
	fresh           bool
	prev            ownership.Epoch
	prevNode        string
	inc             string // "" when there is no head
	epoch           ownership.Epoch
	batch, ver, seq uint64
	run, last       string
	top             stream.EntryID
	logged          bool   // there is a log
	keys, stops     string // " key=run key=run", " run run"
}

// Spec is the model of one session's store for porcupine: what each call may say, and what it changes. It is written from the design,
// not from the scripts. A call of unknown outcome was applied or was not. The first Now must be in every partition.
func Spec() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: bySession,
		Init:      func() []any { return []any{state{}} },
		Step: func(s, in, out any) []any {
			now, call, reply := s.(state), in.(Call), out.(Reply)
			next, want := now.step(call)
			switch {
			case reply.Unknown && next == now:
				return []any{now}
			case reply.Unknown:
				return []any{now, next}
			case reply.Text == notApplied:
				return []any{now}
			case reply == want:
				return []any{next}
			}
			return nil
		},
	}
	return m.ToModel()
}

func bySession(history []porcupine.Operation) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	for _, op := range history {
		s := op.Input.(Call).Session
		parts[s] = append(parts[s], op)
	}
	var out [][]porcupine.Operation
	for _, p := range parts {
		out = append(out, p)
	}
	return out
}

// step gives the state after a call, and its answer.
func (s state) step(c Call) (state, Reply) {
	switch {
	case c.Acquire != nil:
		return s.acquire(c.Acquire)
	case c.Renew != nil:
		return s.renew(c.Renew)
	case c.Release != nil:
		return s.release(c.Release)
	case c.Change != nil:
		return s.write(c.Change)
	case c.Append != nil:
		if !s.logged || c.Append.ID.Compare(s.top) <= 0 {
			return s, Reply{Text: "refused"}
		}
		s.top = c.Append.ID
		return s, Reply{Text: "appended"}
	case c.Stop != nil:
		return s.stop(c.Stop)
	case c.Check:
		return s, checked(stream.Tail{Incarnation: s.inc, Epoch: s.epoch, Version: s.ver, Batch: s.batch, Run: s.run, Top: s.top})
	}
	s.now = c.Now
	return s, Reply{}
}

func (s state) acquire(r *ownership.Request) (state, Reply) {
	if _, ok := find(s.keys, r.CommandKey); ok && r.CommandKey != "" {
		return s, Reply{Text: "known"}
	}
	ttl := r.TTL.Milliseconds()
	if s.req == r.Req && s.node == r.Node && s.proc == r.Proc && s.inc != "" && s.epoch == s.lease {
		s.until = s.now + ttl
		return s, acquired(ownership.Grant{
			Epoch: s.lease, Incarnation: s.inc, Seq: s.seq, Fresh: s.fresh, Run: s.run, PrevEpoch: s.prev, PrevNode: s.prevNode, Now: s.now,
		}, nil)
	}
	mine := s.node == "" || s.node == r.Node && s.proc == r.Proc
	if s.run != "" && !mine && (s.until > s.now || r.Observed != s.lease) {
		return s, acquired(ownership.Grant{}, &ownership.HeldError{
			Owner: s.node, Proc: s.proc, Epoch: s.lease, Until: s.until, Run: s.run, Now: s.now,
		})
	}
	seq := s.seq
	if s.logged {
		seq = s.top.Seq
	}
	e := max(s.lease+1, s.epoch+1, s.top.Epoch+1, ownership.Epoch(s.now), r.Seen+1)
	s.prev, s.prevNode, s.fresh = s.lease, s.node, false
	if s.inc == "" {
		s.inc, s.fresh = r.Incarnation, true
	}
	s.node, s.proc, s.req, s.lease, s.until, s.ttl = r.Node, r.Proc, r.Req, e, s.now+ttl, ttl
	s.epoch, s.batch, s.seq, s.logged = e, 0, seq, true
	s.top = stream.EntryID{Epoch: e, Seq: seq}
	return s, acquired(ownership.Grant{
		Epoch: e, Incarnation: s.inc, Seq: seq, Fresh: s.fresh, Run: s.run, PrevEpoch: s.prev, PrevNode: s.prevNode, Now: s.now,
	}, nil)
}

func (s state) renew(r *ownership.Renewal) (state, Reply) {
	_, stop := find(s.stops, r.Run)
	out := ownership.Renewed{Status: ownership.RenewLost, Higher: s.lease, Stop: stop && r.Run != ""}
	switch {
	case s.node == r.Node && s.proc == r.Proc && s.lease == r.Epoch:
		s.until = s.now + r.TTL.Milliseconds()
		out.Status, out.Until, out.Higher = ownership.RenewOK, s.until, 0
	case s.lease < r.Epoch:
		out.Status, out.Higher = ownership.RenewGone, 0
	}
	return s, renewed(out)
}

func (s state) release(l *ownership.Lease) (state, Reply) {
	if s.node == l.Node && s.proc == l.Proc && s.lease == l.Epoch {
		s.node, s.until = "", 0
		if s.ver == 0 && s.epoch == l.Epoch { // a session that never came into being leaves its epoch alone
			s.inc, s.epoch, s.batch, s.seq, s.logged, s.top = "", 0, 0, 0, false, stream.EntryID{}
		}
	}
	return s, Reply{Text: "released"}
}

func (s state) write(c *stream.Change) (state, Reply) {
	if why, ok := s.refuse(c); ok {
		return s, wrote(why)
	}
	s.batch, s.seq = c.N, c.At.Seq+uint64(len(c.Entries))
	s.top = c.Entries[len(c.Entries)-1].ID
	s.ver, s.run = c.Edit.Version, c.Edit.Run
	if c.Settle != nil {
		s.last = c.Settle.Run
		s.stops = without(s.stops, c.Settle.Run)
	}
	if c.Accept != nil {
		s.keys = with(s.keys, c.Accept.Key+"="+c.Accept.Run)
	}
	return s, wrote(stream.WriteResult{Status: stream.StatusDone})
}

// refuse gives the answer to a change that may not be applied.
func (s state) refuse(c *stream.Change) (stream.WriteResult, bool) {
	if c.Accept != nil {
		if run, ok := find(s.keys, c.Accept.Key); ok {
			_, stop := find(s.stops, run)
			return stream.WriteResult{Status: stream.StatusKnown, Known: &stream.Known{Run: run}, Stopped: stop}, true
		}
	}
	conflict := func(what string) (stream.WriteResult, bool) {
		return stream.WriteResult{Status: stream.StatusConflict, Reason: what}, true
	}
	switch {
	case s.inc == "" || s.inc != c.Incarnation || s.epoch != c.Epoch:
		return stream.WriteResult{Status: stream.StatusFenced, Epoch: s.epoch}, true
	case c.N <= s.batch:
		return stream.WriteResult{Status: stream.StatusRepeat}, true
	case c.N != s.batch+1:
		return conflict("batch")
	case s.top != c.At:
		return conflict("position")
	case s.ver != c.Expect.Version:
		return conflict("version")
	}
	if c.Settle != nil {
		if s.run != c.Settle.Run {
			return stream.WriteResult{Status: stream.StatusNotOwner, Run: s.run}, true
		}
		if _, stop := find(s.stops, s.run); stop && !c.Settle.Cancelled {
			return stream.WriteResult{Status: stream.StatusStopped}, true
		}
	} else if s.run != "" {
		return stream.WriteResult{Status: stream.StatusBusy, Run: s.run}, true
	}
	return stream.WriteResult{}, false
}

func (s state) stop(x *stream.Stop) (state, Reply) {
	r := stream.StopResult{Answer: stream.StopUnknown, Run: x.Run, Seq: s.top.Seq}
	switch {
	case x.Run == s.run:
		r.Answer = stream.StopAccepted
		s.stops = with(without(s.stops, x.Run), x.Run)
	case x.Run == s.last:
		r.Answer = stream.StopLate
	}
	return s, stopped(r)
}

// find looks a word up; of "key=value" it gives the value.
func find(words, key string) (string, bool) {
	for _, w := range strings.Fields(words) {
		if k, v, _ := strings.Cut(w, "="); k == key {
			return v, true
		}
	}
	return "", false
}

func with(words, word string) string {
	all := append(strings.Fields(words), word)
	slices.Sort(all)
	return strings.Join(all, " ")
}

func without(words, word string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(words), func(w string) bool { return w == word }), " ")
}
