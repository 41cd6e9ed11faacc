package redislog

import (
	"context"
	"fmt"

	"holdfast/regen"
	"holdfast/stream"
)

// Cancel records a stop and tells the owner's node. While it is recorded the run can be settled only as cancelled. A stop for the
// key of a command that has not been accepted is consumed by its acceptance, and void after 60 s. It may be repeated.
//
// Errors: stream.ErrUnavailable and stream.ErrFull (a stop for a key alone): nothing was written. *stream.UnknownError: repeat it.
func (s *Store) Cancel(ctx context.Context, key regen.Key, stop stream.Stop) (stream.StopResult, error) {
	const what = "cancel run"
	if stop.Run == "" && stop.Of == "" {
		return stream.StopResult{Answer: stream.StopUnknown}, nil
	}
	if err := begun(ctx, what); err != nil {
		return stream.StopResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	k := keysOf(key)
	a, err := run(ctx, s.calls, cancelScript, []string{k.head, k.cancel, k.keys, k.keys2, k.lease, k.log},
		[]any{stop.Run, stop.Of, stop.Who, key.String(), stopVoidMS, stopsMost}, 3)
	if err != nil {
		return stream.StopResult{}, writeError(what, err)
	}
	top, err := parseID(a.text(2))
	if err != nil {
		return stream.StopResult{}, fmt.Errorf("%s %s: %w", what, key, err)
	}
	return stream.StopResult{Answer: stream.StopAnswer(a.text(0)), Run: a.text(1), Seq: top.Seq}, nil
}
