package regen

import (
	"errors"
	"fmt"
)

// The refusals without facts. Each leaves everything as it was.
var (
	// ErrNoRegenerableTurn: the conversation does not end with a whole exchange, or its prompt has no text
	// (no_regenerable_turn, 400).
	ErrNoRegenerableTurn = errors.New("no regenerable turn")
	// ErrReadOnly: the session is read-only, or the turn is not its own (regeneration_read_only, 403).
	ErrReadOnly = errors.New("read only")
	// ErrEmptyPrompt: a send without any content (bad_request, 400).
	ErrEmptyPrompt = errors.New("empty prompt")
	// ErrInvalidRegeneration: content or attachments beside a regenerate (invalid_regeneration_request, 400).
	ErrInvalidRegeneration = errors.New("a regenerate takes no content")
	// ErrNoRow: the row to edit or to keep is not there, or not a user row where it must be one (bad_request, 400).
	ErrNoRow = errors.New("no such row")
	// ErrNoTurn: there is no turn to undo (bad_request, 400).
	ErrNoTurn = errors.New("no turn to undo")
	// ErrCount: a number of rows to keep that is negative or more than there are (bad_request, 400).
	ErrCount = errors.New("bad number of rows to keep")
	// ErrNoVariant: the turn is not the last one, or has no such variant (bad_request, 400).
	ErrNoVariant = errors.New("no such variant")
	// ErrUnknownOp: the command's op is not known (bad_request, 400).
	ErrUnknownOp = errors.New("unknown op")
)

// The errors that are no refusals.
var (
	// ErrWindow: the answer depends on rows below the window. Load more rows of both lists and try again.
	ErrWindow = errors.New("the window is too small")
	// ErrPlan: Commit was given something that Plan did not make.
	ErrPlan = errors.New("not a consistent plan")
	// ErrMint: an identifier or the time given to Commit is missing, malformed or used already.
	ErrMint = errors.New("bad mint")
	// ErrOutcome: an outcome's kind, time or row ids are missing or malformed.
	ErrOutcome = errors.New("bad outcome")
	// ErrTurnMissing: the document does not hold the user row of the active turn, and the outcome does not bring it.
	ErrTurnMissing = errors.New("the active turn's user row is missing")
	// ErrElement: a stored element cannot be read.
	ErrElement = errors.New("malformed element")
	// ErrRows: rows to import have a bad or repeated id, or a bad role.
	ErrRows = errors.New("bad rows")
)

// StaleRevisionError refuses a command that names another revision than the document's (stale_regeneration_revision, 409).
type StaleRevisionError struct {
	// Given is the command's revision; "" when it had none. Current is the document's.
	Given, Current string
}

// Error names both revisions.
func (e *StaleRevisionError) Error() string {
	return fmt.Sprintf("stale revision %q, the document is at %q", e.Given, e.Current)
}

// BusyError refuses a command while a run is active (session_active, 409).
type BusyError struct{ Run string }

// Error names the run.
func (e *BusyError) Error() string { return "session active: run " + e.Run }

// NotWritebackOwnerError refuses to settle a run that does not own the session's next write.
type NotWritebackOwnerError struct {
	// Run asked to settle; Owner is the active run, "" when the session is idle.
	Run, Owner string
}

// Error names both runs.
func (e *NotWritebackOwnerError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("run %s is not the writeback owner: no run is active", e.Run)
	}
	return fmt.Sprintf("run %s is not the writeback owner: run %s is", e.Run, e.Owner)
}

// ContentError refuses content that may not be stored (bad_request, 400). Its text may be shown.
type ContentError struct{ Reason string }

// Error gives the reason.
func (e *ContentError) Error() string { return "bad content: " + e.Reason }

// IDError refuses an identifier (bad_request, 400).
type IDError struct {
	// What the id was meant to name: tenant, session or key.
	What, ID string
}

// Error names the id, quoted.
func (e *IDError) Error() string { return fmt.Sprintf("bad %s id %.140q", e.What, e.ID) }
