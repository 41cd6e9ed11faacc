package wire

import "encoding/json"

// Op is what a command does.
type Op string

// The ops of this version.
const (
	OpHello      Op = "hello"
	OpAttach     Op = "attach"
	OpDetach     Op = "detach"
	OpSend       Op = "send"
	OpRegenerate Op = "regenerate"
	OpEdit       Op = "edit"
	OpUndo       Op = "undo"
	OpTruncate   Op = "truncate"
	OpClear      Op = "clear"
	OpSelect     Op = "select"
	OpRename     Op = "rename"
	OpCancel     Op = "cancel"
	OpPing       Op = "ping"
)

// Ops are the ops of this version, as hello lists them.
func Ops() []Op {
	return []Op{
		OpHello, OpAttach, OpDetach, OpSend, OpRegenerate, OpEdit, OpUndo, OpTruncate, OpClear, OpSelect, OpRename, OpCancel, OpPing,
	}
}

// Runs says whether an accepted command of this op begins a run, which its socket then follows.
func (o Op) Runs() bool { return o == OpSend || o == OpRegenerate || o == OpEdit }

// Takes says whether an engine decides on the op and answers it with a receipt.
func (o Op) Takes() bool {
	switch o {
	case OpSend, OpRegenerate, OpEdit, OpUndo, OpTruncate, OpClear, OpSelect, OpRename:
		return true
	}
	return false
}

// The limits of a command's fields, in bytes.
const (
	MaxID      = 128      // id, as it stands in the command
	MaxSession = 128      // session
	MaxKey     = 128      // key and of
	MaxModel   = 256      // model
	MaxTitle   = 512      // title
	MaxToken   = 16 << 10 // token
)

// The values of options.busy.
const (
	BusyReject  = "reject"
	BusyReplace = "replace"
)

// Command is one command as a client sent it. Fields that its op does not use are zero.
type Command struct {
	// ID is the JSON number or string that the answer carries as "re", byte for byte; nil when there was none.
	ID      json.RawMessage
	Op      Op
	Session string
	// Key names the command; "" leaves it to the node.
	Key string
	// Cursor is "" when there was none. It may have any form.
	Cursor string
	// Content is a JSON string or array.
	Content     json.RawMessage
	Attachments []json.RawMessage
	Model       string
	// Busy is "" (the default), BusyReject or BusyReplace.
	Busy string
	// Revision is "" when there was none, and for all but a send and a rename also when it was no string.
	Revision string
	// Row is the row that an edit replaces, or the last one that a truncate keeps; else Keep says how many a truncate keeps, never
	// less than 0.
	Row  string
	Keep *int
	// Turn and Variant say what a select makes current.
	Turn, Variant string
	// Title is a rename's.
	Title string
	// Run or Of says what to cancel.
	Run, Of string
	// Token and Protocol belong to a hello; Protocol is 0 when there was none.
	Token    string
	Protocol int
	// Forbidden names a field that may not stand beside a regenerate; "" when there was none.
	Forbidden string
}

// ValidSession says whether s may name a session: 1 to 128 of [A-Za-z0-9_-], the first a letter or a digit.
func ValidSession(s string) bool {
	if s == "" || len(s) > MaxSession || s[0] == '-' || s[0] == '_' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

// ValidRun says whether s may name a run: 32 lower-case hex digits.
func ValidRun(s string) bool {
	if len(s) != 32 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

// ValidKey says whether s may name a command: 1 to 128 bytes without control characters.
func ValidKey(s string) bool {
	if s == "" || len(s) > MaxKey {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// Append writes the command as one JSON object. Fields that are zero are left out.
func (c *Command) Append(b []byte) []byte {
	w := object{b: append(b, '{')}
	w.raw("id", c.ID)
	w.optional("op", string(c.Op))
	if c.Protocol != 0 {
		w.integer("protocol", uint64(c.Protocol))
	}
	w.optional("token", c.Token)
	w.optional("session", c.Session)
	w.optional("key", c.Key)
	w.optional("cursor", c.Cursor)
	w.raw("content", c.Content)
	if c.Op == OpEdit && c.Attachments != nil {
		w.list("attachments", c.Attachments) // an empty list takes the row's own away
	} else {
		w.raws("attachments", c.Attachments)
	}
	w.optional("model", c.Model)
	w.optional("revision", c.Revision)
	w.optional("row", c.Row)
	if c.Keep != nil {
		w.integer("keep", uint64(max(*c.Keep, 0)))
	}
	w.optional("turn", c.Turn)
	w.optional("variant", c.Variant)
	w.optional("title", c.Title)
	w.optional("run", c.Run)
	w.optional("of", c.Of)
	if c.Busy != "" {
		w.key("options")
		o := object{b: append(w.b, '{')}
		o.optional("busy", c.Busy)
		w.b = o.end()
	}
	if c.Forbidden != "" {
		w.key(c.Forbidden)
		w.b = append(w.b, "null"...)
	}
	return w.end()
}
