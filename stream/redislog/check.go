package redislog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// Check reads who owns a session and the last two ids of its log, over the append writer's own connection: Tail.Conn is the count
// under which later appends are as good as this check. It waits for a write that is under way. Checks that wait go together in one
// pipeline: after a broken connection every session needs one at the same moment, and one after the other they would take longer than
// the connection lasts.
//
// Errors: stream.ErrUnavailable. Any other error means that the stored session is damaged.
func (s *Store) Check(ctx context.Context, key regen.Key) (stream.Tail, error) {
	const what = "check session"
	if err := begun(ctx, what); err != nil {
		return stream.Tail{}, err
	}
	c := &check{key: key, told: make(chan checked, 1)}
	lead := s.checks.join(c)
	for {
		if lead {
			s.checks.run(s)
			lead = false
		}
		select {
		case r := <-c.told:
			if lead = r.lead; lead {
				continue
			}
			return r.tail, r.err
		case <-ctx.Done():
			s.checks.leave(c)
			return stream.Tail{}, readError(what, ctx.Err())
		}
	}
}

// check is one caller's; it is told the answer, or that it is its turn to ask for all.
type check struct {
	key  regen.Key
	told chan checked // size 1
}

type checked struct {
	lead bool
	tail stream.Tail
	err  error
}

// checks are the callers that wait. One of them asks for all.
type checks struct {
	mu      sync.Mutex // guards what follows
	waiting []*check
	led     bool
}

// join adds c and says whether it is the one to ask.
func (k *checks) join(c *check) (lead bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = append(k.waiting, c)
	lead, k.led = !k.led, true
	return lead
}

// leave takes c off; if it was just told to lead, another one is.
func (k *checks) leave(c *check) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = slices.DeleteFunc(k.waiting, func(o *check) bool { return o == c })
	select {
	case r := <-c.told:
		if r.lead {
			k.handOverLocked()
		}
	default:
	}
}

func (k *checks) handOverLocked() {
	if k.led = len(k.waiting) > 0; k.led {
		k.waiting[0].told <- checked{lead: true}
	}
}

// run asks for all that wait, and hands over to one that came meanwhile.
func (k *checks) run(s *Store) {
	k.mu.Lock()
	batch := k.waiting
	k.waiting = nil
	k.mu.Unlock()
	for i, r := range s.checkAll(batch) {
		batch[i].told <- r
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.handOverLocked()
}

// checkAll asks in one pipeline. Its time counts from when the connection is its own: a call that ends while it waits for others would
// take the connection with it.
func (s *Store) checkAll(batch []*check) []checked {
	out := make([]checked, len(batch))
	wait, cancel := context.WithTimeout(context.Background(), 4*s.opt.Timeout)
	defer cancel()
	if err := s.writer.take(wait); err != nil {
		return allFailed(out, readError("check sessions", err))
	}
	defer s.writer.give()
	for range 4 {
		before := s.writer.conns.Load()
		err := s.checkOnce(batch, out)
		if err != nil {
			return allFailed(out, err)
		}
		if s.writer.conns.Load() == before {
			for i := range out {
				out[i].tail.Conn = before
			}
			return out
		} // else answered over a connection that was made meanwhile: nobody knows which
	}
	return allFailed(out, readError("check sessions", errors.New("the connection does not hold")))
}

func allFailed(out []checked, err error) []checked {
	for i := range out {
		out[i] = checked{err: err}
	}
	return out
}

// checkOnce fills out with the answers of one pipeline. Its error is for all: the server did not have the script, twice.
func (s *Store) checkOnce(batch []*check, out []checked) error {
	for _, text := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(context.Background(), s.opt.Timeout)
		defer cancel()
		pipe := s.writer.client.Pipeline()
		cmds := make([]*redis.Cmd, len(batch))
		for i, c := range batch {
			k := keysOf(c.key)
			if text {
				cmds[i] = pipe.Eval(ctx, checkSource, []string{k.head, k.log})
			} else {
				cmds[i] = pipe.EvalSha(ctx, checkScript.Hash(), []string{k.head, k.log})
			}
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		if !slices.ContainsFunc(cmds, func(c *redis.Cmd) bool { return redis.HasErrorPrefix(c.Err(), "NOSCRIPT") }) {
			for i, c := range cmds {
				out[i] = s.readCheck(batch[i].key, c)
			}
			return nil
		}
	}
	return readError("check sessions", errAnswer)
}

func (s *Store) readCheck(key regen.Key, cmd *redis.Cmd) checked {
	got, err := cmd.Slice()
	if err != nil {
		return checked{err: readError("check session", err)}
	}
	if len(got) < 10 {
		return checked{err: fmt.Errorf("check session %s: %w: %d values", key, errAnswer, len(got))}
	}
	t, err := decodeTail(answer(got))
	if err != nil {
		return checked{err: fmt.Errorf("check session %s: %w", key, err)}
	}
	s.incs.learn(key, t.Incarnation)
	return checked{tail: t}
}

func decodeTail(a answer) (stream.Tail, error) {
	r := &fieldReader{m: map[string]string{
		"epoch": a.text(2), "ver": a.text(3), "batch": a.text(4), "top": a.text(6), "prev": a.text(8),
	}}
	t := stream.Tail{
		Incarnation: a.text(1), Epoch: ownership.Epoch(r.number("epoch")), Version: r.number("ver"), Batch: r.number("batch"),
		Run: a.text(5), Top: r.id("top"), Prev: r.id("prev"),
		TopMarker: a.text(7) == string(stream.KindMarker), PrevMarker: a.text(9) == string(stream.KindMarker),
	}
	return t, r.err
}
