package redislog

import (
	"context"
	"errors"
	"fmt"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// Check reads who owns a session and the last two ids of its log, over the append writer's own connection: Tail.Conn is the count
// under which later appends are as good as this check. It waits for a write that is under way.
//
// Errors: stream.ErrUnavailable. Any other error means that the stored session is damaged.
func (s *Store) Check(ctx context.Context, key regen.Key) (stream.Tail, error) {
	const what = "check session"
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	if err := s.writer.take(ctx); err != nil {
		return stream.Tail{}, readError(what, err)
	}
	defer s.writer.give()
	k := keysOf(key)
	for range 4 {
		before := s.writer.conns.Load()
		a, err := run(ctx, s.writer.client, checkScript, []string{k.head, k.log}, nil, 10)
		if err != nil {
			return stream.Tail{}, readError(what, err)
		}
		if s.writer.conns.Load() != before {
			continue // answered over a connection that was made meanwhile: nobody knows which
		}
		t, err := decodeTail(a)
		if err != nil {
			return stream.Tail{}, fmt.Errorf("%s %s: %w", what, key, err)
		}
		t.Conn = before
		s.incs.learn(key, t.Incarnation)
		return t, nil
	}
	return stream.Tail{}, readError(what, errors.New("the connection does not hold"))
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
