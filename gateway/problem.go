package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"holdfast/gateway/wire"
	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// internalText is all that a client learns of a fault.
const internalText = "internal error"

// sayer is an error that knows how it looks to clients. Its text is shown.
type sayer interface {
	error
	Code() string
	Status() int
	Retryable() bool
}

func spoken(e sayer) *wire.Error {
	return &wire.Error{Code: wire.Code(e.Code()), Status: e.Status(), Message: e.Error(), Retryable: e.Retryable()}
}

// problem makes an answer of any error. Texts are ours, not the error's, where the error's could tell more than the client may know:
// the current revision, a node, a store.
func (s *Server) problem(op wire.Op, err error) *wire.Error {
	var mine *wire.Error
	var said sayer
	switch {
	case errors.As(err, &mine):
		return mine
	case errors.As(err, &said):
		return spoken(said)
	}
	if p := refusal(op, err); p != nil {
		return p
	}
	if p := outage(err); p != nil {
		s.cfg.Logger.Warn("command not possible now", "op", string(op), "err", err)
		return p
	}
	s.cfg.Logger.Error("command failed", "op", string(op), "err", err)
	return wire.NewError(wire.Internal, internalText)
}

// refusal knows the errors that say no to the command itself.
func refusal(op wire.Op, err error) *wire.Error {
	var (
		busy    *regen.BusyError
		held    *ownership.HeldError
		stale   *regen.StaleRevisionError
		reused  *stream.KeyReusedError
		content *regen.ContentError
		id      *regen.IDError
	)
	switch {
	case errors.As(err, &busy):
		return active(busy.Run)
	case errors.As(err, &held):
		return active(held.Run)
	case errors.As(err, &stale):
		return wire.NewError(wire.StaleRevision, "the session has changed since this revision")
	case errors.As(err, &reused):
		return wire.NewError(wire.KeyReused, "the key was used for another command")
	case errors.As(err, &content):
		return wire.NewError(wire.BadRequest, content.Error())
	case errors.As(err, &id):
		return wire.NewError(wire.BadRequest, id.Error())
	case errors.Is(err, stream.ErrNotFound):
		return wire.NewError(wire.NotFound, "no such session")
	case errors.Is(err, regen.ErrNoRegenerableTurn):
		return wire.NewError(wire.NoRegenerableTurn, "there is no answer at the end that can be regenerated")
	case errors.Is(err, regen.ErrReadOnly) && op == wire.OpRegenerate:
		return wire.NewError(wire.ReadOnly, "this turn cannot be regenerated here")
	case errors.Is(err, regen.ErrReadOnly):
		return wire.NewError(wire.Forbidden, "the session is read-only")
	case errors.Is(err, regen.ErrEmptyPrompt):
		return wire.NewError(wire.BadRequest, "the prompt is empty")
	case errors.Is(err, regen.ErrInvalidRegeneration):
		return wire.NewError(wire.InvalidRegeneration, "a regenerate takes no content")
	case errors.Is(err, regen.ErrNoRow):
		return wire.NewError(wire.BadRequest, "there is no such row, or it is no prompt")
	case errors.Is(err, regen.ErrNoTurn):
		return wire.NewError(wire.BadRequest, "there is no turn to undo")
	case errors.Is(err, regen.ErrCount):
		return wire.NewError(wire.BadRequest, "keep is more than there are rows")
	case errors.Is(err, regen.ErrNoVariant):
		return wire.NewError(wire.BadRequest, "the last turn has no such variant")
	case errors.Is(err, regen.ErrUnknownOp):
		return wire.NewError(wire.BadRequest, "unknown op")
	}
	return nil
}

func active(run string) *wire.Error {
	e := wire.NewError(wire.SessionActive, "a run is active")
	e.Run = run
	return e
}

// outage knows the errors that say "not now": the same command with the same key may be tried again.
func outage(err error) *wire.Error {
	var (
		unknown      *stream.UnknownError
		unknownLease *ownership.UnknownError
		fenced       *stream.FencedError
		lost         *ownership.LostError
	)
	switch {
	case errors.Is(err, stream.ErrFull), errors.Is(err, ownership.ErrFull):
		return wire.NewError(wire.Unavailable, "the store is full")
	case errors.Is(err, stream.ErrUnavailable), errors.Is(err, ownership.ErrUnavailable):
		return wire.NewError(wire.Unavailable, "the store cannot be reached; try again with the same key")
	case errors.As(err, &unknown), errors.As(err, &unknownLease):
		return wire.NewError(wire.Unavailable, "it is not known whether this was done; try again with the same key")
	case errors.As(err, &fenced), errors.As(err, &lost), errors.Is(err, ownership.ErrStopped),
		errors.Is(err, ownership.ErrReleased), errors.Is(err, ownership.ErrAbandoned):
		return wire.NewError(wire.Unavailable, "the session is moving to another node; try again with the same key")
	case errors.Is(err, context.DeadlineExceeded):
		return wire.NewError(wire.Timeout, "no answer in time; try again with the same key")
	case errors.Is(err, context.Canceled):
		return wire.NewError(wire.Unavailable, "the node is shutting down; try again with the same key")
	}
	return nil
}

func (s *Server) logPanic(where string, v any) {
	s.cfg.Logger.Error("panic", "where", where, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
}
