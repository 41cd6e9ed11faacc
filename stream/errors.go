package stream

import (
	"errors"
	"fmt"

	"holdfast/ownership"
)

// ErrNotFound says that the session does not exist.
var ErrNotFound = errors.New("session not found")

// ErrUnavailable says that the store could not be asked or refused for now, and that nothing was written. The same command with
// the same key may be tried again.
var ErrUnavailable = errors.New("store unavailable")

// ErrFull says that the store's memory is full: nothing was written.
var ErrFull = errors.New("store is full")

// UnknownError says that a write may or may not have been applied. Repeat the same batch.
type UnknownError struct{ Err error }

// Error says what is not known.
func (e *UnknownError) Error() string { return fmt.Sprintf("outcome of write unknown: %v", e.Err) }

// Unwrap gives the cause.
func (e *UnknownError) Unwrap() error { return e.Err }

// FencedError says that another owner has the session.
type FencedError struct {
	Session string
	Epoch   ownership.Epoch // ours
	Higher  ownership.Epoch // the store's; 0 when it has none
}

// Error names both epochs.
func (e *FencedError) Error() string {
	return fmt.Sprintf("session %s: epoch %d is fenced by %d", e.Session, e.Epoch, e.Higher)
}

// KeyReusedError says that a command key was used before with other content.
type KeyReusedError struct{ Key string }

// Error names the key.
func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("command key %q was used with other content", e.Key)
}

// ConflictError says that the store does not hold what the caller goes by; nothing was written.
type ConflictError struct {
	Session string
	// Reason says what differs; for logs.
	Reason string
}

// Error names the session and the reason.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("session %s: conflict: %s", e.Session, e.Reason)
}
