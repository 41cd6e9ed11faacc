package redislog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"holdfast/stream"
)

// fate says what an error tells about a write.
type fate int

const (
	fateUnknown fate = iota // it may have been applied
	fateNotNow              // not applied; may be tried again
	fateFull                // not applied: memory is full
	fateNever               // not applied, and it will not be: rights, configuration, a key of another kind
)

// dialError is an error before any command was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// classify is the one place that tells "not applied" from "unknown". What it does not know is unknown.
func classify(err error) fate {
	var (
		dial  *dialError
		op    *net.OpError
		reply redis.Error
	)
	switch {
	case errors.As(err, &dial), errors.As(err, &op) && op.Op == "dial":
		return fateNotNow
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		return fateNotNow
	case errors.As(err, &reply):
		return classifyReply(reply.Error())
	}
	return fateUnknown
}

// classifyReply judges an error that the server itself gave.
func classifyReply(text string) fate {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "OOM":
		return fateFull
	case "READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "MOVED", "ASK", "MISCONF":
		return fateNotNow
	case "NOPERM", "NOAUTH", "WRONGPASS", "CROSSSLOT", "WRONGTYPE":
		return fateNever
	}
	switch {
	case strings.Contains(text, "max number of clients"):
		return fateNotNow
	case strings.Contains(text, "OOM command not allowed"):
		return fateFull
	}
	return fateUnknown
}

// writeError makes the error of a call that may have written something.
func writeError(what string, err error) error {
	switch classify(err) {
	case fateNotNow, fateNever:
		return fmt.Errorf("%s: %w: %w", what, stream.ErrUnavailable, err)
	case fateFull:
		return fmt.Errorf("%s: %w: %w", what, stream.ErrFull, err)
	default:
		return fmt.Errorf("%s: %w", what, &stream.UnknownError{Err: err})
	}
}

// readError makes the error of a call that writes nothing.
func readError(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, stream.ErrUnavailable, err)
}

// begun says whether ctx has ended before anything was sent.
func begun(ctx context.Context, what string) error {
	if ctx.Err() != nil {
		return readError(what, context.Cause(ctx))
	}
	return nil
}
