package regen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Op is what a command does.
type Op string

// The ops that take a turn.
const (
	OpSend       Op = "send"
	OpRegenerate Op = "regenerate"
	// OpEdit cuts before a user row and asks again with other content, as a new turn.
	OpEdit Op = "edit"
)

// The ops that change the session without a run.
const (
	OpUndo     Op = "undo"     // drops the last turn, from its user row on
	OpTruncate Op = "truncate" // keeps the rows up to Row, or the first Keep rows
	OpClear    Op = "clear"    // keeps no row
	OpSelect   Op = "select"   // makes a variant of the last turn current again
	OpRename   Op = "rename"   // fixes the title; passes while a run is active
)

// Runs says whether an accepted command of this op begins a run.
func (o Op) Runs() bool { return o == OpSend || o == OpRegenerate || o == OpEdit }

func (o Op) known() bool {
	switch o {
	case OpSend, OpRegenerate, OpEdit, OpUndo, OpTruncate, OpClear, OpSelect, OpRename:
		return true
	}
	return false
}

// cuts says whether the op drops rows from a point on.
func (o Op) cuts() bool { return o == OpEdit || o == OpUndo || o == OpTruncate || o == OpClear }

// Command is what a person asks for.
type Command struct {
	Op Op
	// Key is the client's name for this command, unique in the session. It is not part of Hash.
	Key string
	// Content and Attachments (JSON values) are a send's or an edit's prompt; a regenerate takes none. An edit without
	// Attachments (nil) keeps those of the row.
	Content     Content
	Attachments []json.RawMessage
	// Model is the model asked for; "" is the default one.
	Model string
	// Revision is what the client saw. All but send and rename must have it; those are refused when they have a stale one.
	Revision string
	// Row is the user row that an edit replaces, or the last one that a truncate keeps. Keep is how many rows a truncate keeps
	// where it names no Row, counted from the start of the conversation.
	Row  string
	Keep int
	// Turn and Variant say what a select makes current.
	Turn, Variant string
	// Title is a rename's.
	Title string
	// Busy is "" or "reject", or "replace"; the caller acts on it, Plan refuses a busy session whatever it says.
	Busy string
}

// Hash names what the command asks for, so that the same key with another content can be told from a repeat.
func (c Command) Hash() string {
	var w fieldWriter
	w.str("op", string(c.Op))
	w.key("content")
	w.b = c.Content.append(w.b)
	w.raws("attachments", compactRaws(c.Attachments))
	w.str("model", c.Model)
	w.str("revision", c.Revision)
	if c.Op != OpSend && c.Op != OpRegenerate { // whose hashes are older than the other ops
		w.flag("attached", c.Attachments != nil)
		w.str("row", c.Row)
		w.num("keep", float64(c.Keep))
		w.str("turn", c.Turn)
		w.str("variant", c.Variant)
		w.str("title", c.Title)
	}
	sum := sha256.Sum256(w.end())
	return hex.EncodeToString(sum[:])
}

// check refuses what may not be stored.
func (c Command) check() error {
	if err := c.Content.check(); err != nil {
		return err
	}
	for _, raw := range c.Attachments {
		if err := CheckJSON(raw); err != nil {
			return err
		}
	}
	if c.Op == OpRename && blank(c.Title) {
		return &ContentError{Reason: "a title needs some text"}
	}
	if err := checkText(c.Title); err != nil {
		return err
	}
	return checkText(c.Model)
}
