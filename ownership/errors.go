package ownership

import (
	"errors"
	"fmt"
)

var (
	// ErrUnavailable says that the store could not be asked, or refused for now. Nothing was written; it may be tried again.
	ErrUnavailable = errors.New("lease store unavailable")
	// ErrFull says that the store's memory is full. Nothing was written.
	ErrFull = errors.New("lease store is full")
	// ErrReleased is the cause of a Held's context after Release.
	ErrReleased = errors.New("lease released")
	// ErrAbandoned is the cause of a Held's context after Abandon.
	ErrAbandoned = errors.New("lease abandoned")
	// ErrStopped says that the Keeper has stopped. It is the cause of the contexts of what was held then.
	ErrStopped = errors.New("keeper stopped")
)

// UnknownError says that a call may or may not have been applied. The same request may be repeated.
type UnknownError struct{ Err error }

// Error says what is not known.
func (e *UnknownError) Error() string { return fmt.Sprintf("outcome of lease call unknown: %v", e.Err) }

// Unwrap gives the cause.
func (e *UnknownError) Unwrap() error { return e.Err }

// RefusedError says that the store refused the call for a reason that will not go away by itself (rights, configuration, a key of
// another kind). Nothing was written.
type RefusedError struct{ Err error }

// Error gives the store's words.
func (e *RefusedError) Error() string { return fmt.Sprintf("lease store refused: %v", e.Err) }

// Unwrap gives the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// HeldError says that a session is busy on another node or in another process.
type HeldError struct {
	Key string
	// Owner is the node, Proc its process.
	Owner, Proc string
	Epoch       Epoch
	// Run is the active run.
	Run string
	// Until is the lease's deadline and Now the store's time, both in milliseconds since 1970.
	Until, Now int64
}

// Error names the session, the owner and the run.
func (e *HeldError) Error() string {
	return fmt.Sprintf("session %s is held by %s (epoch %d, run %s)", e.Key, e.Owner, e.Epoch, e.Run)
}

// Lease is the lease that was in the way, as Watcher.Observe wants it.
func (e *HeldError) Lease() Lease {
	return Lease{Key: e.Key, Node: e.Owner, Proc: e.Proc, Epoch: e.Epoch, Until: e.Until, Run: e.Run}
}

// KnownError says that the command key has a receipt already: nothing is to be acquired for it.
type KnownError struct {
	// Value is what the store has under the key, as it was written.
	Value string
}

// Error does not show the value, which is a receipt of a person's command.
func (e *KnownError) Error() string { return "command is known" }

// LostReason says why a lease counts as lost.
type LostReason string

// The reasons of a LostError.
const (
	LostHigher LostReason = "higher epoch"      // another owner came
	LostGone   LostReason = "record gone"       // the store forgot the lease
	LostDoubt  LostReason = "doubt too long"    // no renewal for Config.Doubt after the lease became doubtful
	LostWedged LostReason = "actor unreachable" // AcquireOptions.Alive said no for a TTL
)

// LostError is the cause of a Held's context when the lease is no longer ours, or must be taken for it.
type LostError struct {
	Key    string
	Epoch  Epoch
	Reason LostReason
	// Higher is the epoch that the store has, with LostHigher; otherwise 0.
	Higher Epoch
}

// Error names the session, its epoch and the reason.
func (e *LostError) Error() string {
	if e.Reason == LostHigher {
		return fmt.Sprintf("lease of %s lost: epoch %d, store has %d", e.Key, e.Epoch, e.Higher)
	}
	return fmt.Sprintf("lease of %s lost: epoch %d, %s", e.Key, e.Epoch, e.Reason)
}
