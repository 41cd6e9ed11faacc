package stream

import (
	"holdfast/ownership"
	"holdfast/regen"
)

// Batch is what one script call adds to the log, and where. Batches of one epoch are numbered from 1; only the number after the
// last applied one is applied, a lower one is a repeat and changes nothing.
type Batch struct {
	Incarnation string
	Epoch       ownership.Epoch
	N           uint64
	// At is the top id of the log before this batch, a marker's included. The entries' ids follow it.
	At EntryID
	// Entries have the ids At.Next(), and so on, without a hole.
	Entries []Entry
}

// Expect is what the store must hold for a change to apply.
type Expect struct {
	// Version is the document's; 0 means that the session does not exist yet.
	Version uint64
	// Rows and Context are the lengths of the two lists.
	Rows, Context int
}

// Settle guards a settlement: it applies only while Run is the writeback owner; a missing one refuses.
type Settle struct {
	Run string
	// Cancelled says that the outcome is "cancelled". Any other outcome is refused while a stop for Run is recorded.
	Cancelled bool
}

// Accept guards an acceptance: no run is active (after Settle of the same change), and Key is new.
type Accept struct {
	// Run is the run that begins; "" for an edit that begins none.
	Run string
	// Edit names an edit without a run, so that the repeat of a write can be told from another command under the same key.
	Edit string
	// Anytime lets an edit without a run pass while a run is active, which it must leave as it is.
	Anytime bool
	// Key is the command's key, never "".
	Key string
	// Hash is the hash of the command's content.
	Hash string
	// Receipt is stored under Key.
	Receipt Receipt
}

// Change is one atomic step on a session: accept, settle (or both), edit.
type Change struct {
	Batch
	Expect Expect
	Settle *Settle
	Accept *Accept
	Edit   regen.Edit
	// Start is where an attach during the run puts its cursor; zero when no run is active afterwards.
	Start EntryID
	// Trim drops the entries before this id; zero drops none. The entry with this id stays.
	Trim EntryID
	// Before is the id just before the first kept entry; used with Trim alone.
	Before EntryID
	// Fences replaces the fences; used with Trim alone.
	Fences Fences
}

// Status is the definite answer to a change.
type Status string

// The answers to a change. Everything but StatusDone changed nothing.
const (
	StatusDone     Status = "done"
	StatusRepeat   Status = "repeat"   // this batch was applied before
	StatusKnown    Status = "known"    // the command's key has a receipt
	StatusFenced   Status = "fenced"   // another epoch or incarnation owns the session
	StatusConflict Status = "conflict" // batch, position, version or length differ from the store's
	StatusBusy     Status = "busy"     // a run is active
	StatusNotOwner Status = "notowner" // the run to settle is not the writeback owner
	StatusStopped  Status = "stopped"  // a stop is recorded: settle as cancelled
)

// WriteResult is what the store said to a change.
type WriteResult struct {
	Status Status
	// Known is set with StatusKnown.
	Known *Known
	// Epoch is the store's, with StatusFenced; 0 if it has none.
	Epoch ownership.Epoch
	// Run is the active run, with StatusBusy.
	Run string
	// Stopped says that the accepted run was stopped by its command's key before it was accepted.
	Stopped bool
	// Reason says what differed, with StatusConflict.
	Reason string
}

// Receipt is the answer to an accepted command. A repeat of the command gets the first one again.
type Receipt struct {
	Session string `json:"session"`
	// Turn and Run are "" for an edit without a run; a select names its turn.
	Turn string `json:"turn"`
	Run  string `json:"run"`
	// Cursor stands just before the run's started entry, or the edit's session entry.
	Cursor string `json:"cursor"`
	// Revision is the document's after an edit without a run, whether anything may be regenerated or not; else "".
	Revision string `json:"revision,omitempty"`
	// Repeat says that the command had been accepted before; never stored.
	Repeat bool `json:"-"`
}

// Known is the record of an accepted command.
type Known struct {
	// Run is "" for an edit that began none.
	Run string
	// Edit is the acceptance's.
	Edit    string
	Hash    string
	Receipt Receipt
}

// Stop asks for the end of a run.
type Stop struct {
	// Run is the run to stop; "" when Of is used.
	Run string
	// Of is the key of a command whose receipt the client does not have yet.
	Of string
	// Who is kept with the record; never shown.
	Who string
}

// StopAnswer says what a stop did.
type StopAnswer string

// The answers to a stop.
const (
	StopAccepted StopAnswer = "accepted" // recorded: the run can end only as cancelled
	StopLate     StopAnswer = "late"     // the run had ended
	StopUnknown  StopAnswer = "unknown"  // no such run
)

// StopResult is the answer to a stop.
type StopResult struct {
	Answer StopAnswer
	// Run is the run it is about; "" while only a command's key is known.
	Run string
	// Seq is the log's tail seq at that moment.
	Seq uint64
}

// AppendStatus is the answer to an append.
type AppendStatus int

// The answers to an append.
const (
	AppendUnknown AppendStatus = iota // it may have been applied
	AppendDone                        // it is in the log
	AppendRefused                     // not applied: an equal or higher id is there, or the log is missing
	AppendFailed                      // not applied: the store refused it whole (full, read-only, not reached)
)

// AppendResult is the answer to one append.
type AppendResult struct {
	Status AppendStatus
	// Conn is the writer's connection count when the reply came. A reply under another count than the session was checked
	// at is unknown, whatever Status says.
	Conn uint64
	Err  error
}

// Tail is the end of a session's log and the fences around it, read in one step over the writer's own connection.
type Tail struct {
	Incarnation string
	Epoch       ownership.Epoch
	Version     uint64
	Batch       uint64
	Run         string
	// Top and Prev are the last two ids of the log; zero where there are fewer.
	Top, Prev EntryID
	// TopMarker and PrevMarker say that they are markers.
	TopMarker, PrevMarker bool
	Conn                  uint64
}
