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
)

// Command is what a person asks for.
type Command struct {
	Op Op
	// Key is the client's name for this command, unique in the session. It is not part of Hash.
	Key string
	// Content and Attachments (JSON values) are a send's prompt; a regenerate takes none.
	Content     Content
	Attachments []json.RawMessage
	// Model is the model asked for; "" is the default one.
	Model string
	// Revision is what the client saw. A regenerate must have it; a send that has it is refused when it is stale.
	Revision string
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
	return checkText(c.Model)
}
