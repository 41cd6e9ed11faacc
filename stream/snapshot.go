package stream

import (
	"holdfast/ownership"
	"holdfast/regen"
)

// Head is a session's head record. Its zero value is a session that does not exist.
type Head struct {
	Incarnation string
	Epoch       ownership.Epoch
	// Seq is the tail seq as the last script wrote it: a lower bound, appends do not move it.
	Seq         uint64
	Version     uint64
	RowsVersion uint64
	Revision    string
	Batch       uint64
	// Run is the active run and the writeback owner; "" when idle.
	Run    string
	Active *regen.Active
	// Start is where an attach during the run puts its cursor.
	Start EntryID
	// Last is the run that was settled last.
	Last string
	// Fences are the epochs of the kept entries; Before is the id just before the first of them.
	Fences Fences
	Before EntryID
}

// Exists says whether the session exists for people.
func (h Head) Exists() bool { return h.Version > 0 }

// Accepts says whether a reader that has everything up to c can be served from the kept log, whose top is top.
func (h Head) Accepts(c Cursor, top EntryID) bool {
	if c.Incarnation == "" || c.Incarnation != h.Incarnation || c.ID.Seq > top.Seq || c.ID.Seq < h.Before.Seq {
		return false
	}
	if c.ID.Seq == h.Before.Seq {
		return c.ID.Epoch == h.Before.Epoch
	}
	e, ok := h.Fences.At(c.ID.Seq)
	return ok && e == c.ID.Epoch
}

// CursorAt is the cursor of the entry with this seq.
func (h Head) CursorAt(seq uint64) Cursor {
	if seq <= h.Before.Seq {
		return Cursor{Incarnation: h.Incarnation, ID: h.Before}
	}
	e, ok := h.Fences.At(seq)
	if !ok {
		e = h.Before.Epoch
	}
	return Cursor{Incarnation: h.Incarnation, ID: EntryID{Epoch: e, Seq: seq}}
}

// Query says what to read of a session.
type Query struct {
	// Rows is how many of the last display rows, and of the last context rows, to read; 0 means 200.
	Rows int
	// Before reads the display rows that end just before this absolute index; 0 means the last ones.
	Before int
	// CommandKey is looked up among the accepted commands; "" looks up nothing.
	CommandKey string
	// Variants are the ids of replaced answers to read.
	Variants []string
	// HeadOnly leaves the document out.
	HeadOnly bool
}

// Snapshot is a session as one script saw it.
type Snapshot struct {
	Head  Head
	Lease ownership.Lease
	// Document is nil when the session does not exist or the query left it out.
	Document *regen.Document
	// Total is the number of display rows.
	Total int
	// Top is the top id of the log, a marker's included.
	Top EntryID
	// Known is the accepted command with the query's key, or nil.
	Known *Known
	// Variants are those of the query's that exist, by id.
	Variants map[string]regen.VariantRecord
	// Now is Redis' time in milliseconds since 1970.
	Now int64
}

// Page is a part of a session's log and the head it was read with.
type Page struct {
	Head Head
	// Entries follow the asked position, markers included, oldest first.
	Entries []Entry
	// Top is the top id of the log.
	Top EntryID
	// More says that the limit cut the page.
	More bool
}

// Wake tells a follower that something changed. It may carry copies of entries; it carries no truth.
type Wake struct {
	// Confirmed says that the subscription has just begun, or begun again: what was missed must be read.
	Confirmed bool
	// Incarnation is the log's that Entries belong to.
	Incarnation string
	Entries     []Entry
}

// SessionInfo is one line of the list of sessions.
type SessionInfo struct {
	Session string
	Title   string
	// UpdatedAt is in seconds since 1970.
	UpdatedAt float64
	// Run is the active run; "" when idle.
	Run string
}
