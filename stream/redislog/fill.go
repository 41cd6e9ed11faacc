package redislog

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

//go:embed fill.lua
var fillSource string

var fillScript = redis.NewScript(fillSource)

// Fill bounds one call: far below its time-out, in number and in bytes.
const (
	fillElements = 500
	fillBytes    = 1 << 20
)

// Fill stores the rows and the context rows of a session that does not exist yet, in pieces, under the lease's epoch. Nobody sees them
// until a Write gives the session a version. It may be repeated from the start. Elements are those of regen.ListEdit.Append.
//
// Errors: *stream.FencedError, *stream.ConflictError when the session exists; stream.ErrUnavailable, stream.ErrFull,
// *stream.UnknownError: do it again.
func (s *Store) Fill(ctx context.Context, key regen.Key, incarnation string, epoch ownership.Epoch, rows, contexts []string) error {
	k := keysOf(key)
	for _, list := range []struct {
		name     string
		elements []string
	}{{k.rows, rows}, {k.ctx, contexts}} {
		at := 0
		for _, piece := range pieces(list.elements) {
			if err := s.fill(ctx, key, incarnation, epoch, list.name, at, piece); err != nil {
				return fmt.Errorf("fill session %s: %w", key, err)
			}
			at += len(piece)
		}
	}
	return nil
}

// pieces cuts a list; an empty one is one empty piece, which clears what an earlier try left.
func pieces(elements []string) [][]string {
	out := [][]string{nil}
	size := 0
	for _, e := range elements {
		last := len(out) - 1
		if len(out[last]) == fillElements || len(out[last]) > 0 && size+len(e) > fillBytes {
			out = append(out, nil)
			last, size = last+1, 0
		}
		out[last] = append(out[last], e)
		size += len(e)
	}
	return out
}

func (s *Store) fill(ctx context.Context, key regen.Key, inc string, epoch ownership.Epoch, list string, at int, piece []string) error {
	if err := begun(ctx, "fill"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	args := []any{inc, strconv.FormatUint(uint64(epoch), 10), strconv.Itoa(at)}
	for _, e := range piece {
		args = append(args, e)
	}
	a, err := run(ctx, s.calls, fillScript, []string{keysOf(key).head, list}, args, 1)
	if err != nil {
		return writeError("fill", err)
	}
	switch a.text(0) {
	case "done":
		return nil
	case "fenced":
		higher, _ := strconv.ParseUint(a.text(1), 10, 63)
		return &stream.FencedError{Session: key.Session, Epoch: epoch, Higher: ownership.Epoch(higher)}
	case "conflict":
		return &stream.ConflictError{Session: key.Session, Reason: a.text(1)}
	}
	return errors.New("fill: " + errAnswer.Error())
}
