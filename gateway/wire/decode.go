package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// raws are the fields of a command as they stand in it; nil when absent or null.
type raws struct {
	id, op, session, key, cursor, content, attachments, model, options, revision, run, of, token, protocol []byte
	row, keep, turn, variant, title                                                                        []byte
	// forbidden is the first field, null or not, that may not stand beside a regenerate.
	forbidden string
	seen      map[string]bool
}

func (r *raws) field(name string) *[]byte {
	switch name {
	case "id":
		return &r.id
	case "op":
		return &r.op
	case "session":
		return &r.session
	case "key":
		return &r.key
	case "cursor":
		return &r.cursor
	case "content":
		return &r.content
	case "attachments":
		return &r.attachments
	case "model":
		return &r.model
	case "options":
		return &r.options
	case "revision":
		return &r.revision
	case "row":
		return &r.row
	case "keep":
		return &r.keep
	case "turn":
		return &r.turn
	case "variant":
		return &r.variant
	case "title":
		return &r.title
	case "run":
		return &r.run
	case "of":
		return &r.of
	case "token":
		return &r.token
	case "protocol":
		return &r.protocol
	}
	return nil
}

func (r *raws) set(name string, value []byte) error {
	switch name {
	case "content", "attachments", "keep_count", "row":
		if r.forbidden == "" {
			r.forbidden = name
		}
	}
	to := r.field(name)
	if to == nil {
		return nil // unknown fields are ignored
	}
	if r.seen == nil {
		r.seen = make(map[string]bool, 8)
	}
	if r.seen[name] {
		return badf("field %q stands twice", name)
	}
	r.seen[name] = true
	if !bytes.Equal(value, []byte("null")) {
		*to = value
	}
	return nil
}

// Decode reads one command. Nothing in it aliases raw. Its error is an *Error; the command then carries ID, if it could be read.
func Decode(raw []byte) (Command, error) { return DecodeIn("", raw) }

// DecodeIn is Decode for a command whose session is known from elsewhere: the field may be absent, and must be equal if it is not.
func DecodeIn(session string, raw []byte) (Command, error) {
	var c Command
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return c, badf("not a JSON object")
	}
	var r raws
	err := eachField(raw, r.set)
	if r.id != nil {
		if idErr := c.setID(r.id); idErr != nil {
			return c, idErr
		}
	}
	if err != nil {
		return c, err
	}
	if wrong := checkText(raw); wrong != "" {
		return c, badf("%s", wrong)
	}
	op, ok := unquote(r.op)
	if !ok {
		return c, badf("op must be a string")
	}
	c.Op = Op(op)
	switch c.Op {
	case OpHello:
		return c, c.hello(&r)
	case OpPing:
		return c, nil
	case OpAttach, OpDetach, OpCancel:
	default:
		if !c.Op.Takes() {
			return c, badf("unknown op %.40q", op)
		}
	}
	if err := c.setSession(session, r.session); err != nil {
		return c, err
	}
	return c, c.body(&r)
}

// body reads the fields of the ops that work on a session.
func (c *Command) body(r *raws) error {
	switch c.Op {
	case OpAttach:
		return str("cursor", r.cursor, &c.Cursor)
	case OpSend:
		return c.send(r)
	case OpRegenerate:
		c.Forbidden = r.forbidden
		// The contract answers a revision that is no string like an absent one: stale.
		c.Revision, _ = unquote(r.revision)
		return c.common(r)
	case OpCancel:
		return c.cancel(r)
	case OpEdit, OpUndo, OpTruncate, OpClear, OpSelect, OpRename:
		return c.edit(r)
	}
	return nil
}

func (c *Command) setID(raw []byte) error {
	switch {
	case raw[0] != '"' && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		return badf("id must be a number or a string")
	case len(raw) > MaxID:
		return badf("id is longer than %d bytes", MaxID)
	}
	if wrong := checkText(raw); wrong != "" {
		return badf("id: %s", wrong)
	}
	c.ID = bytes.Clone(raw)
	return nil
}

func (c *Command) setSession(known string, raw []byte) error {
	if raw == nil {
		c.Session = known
	} else if err := str("session", raw, &c.Session); err != nil {
		return err
	}
	switch {
	case c.Session == "":
		return badf("session is missing")
	case !ValidSession(c.Session):
		return badf("session is not a valid id")
	case known != "" && c.Session != known:
		return badf("session is not the one of the path")
	}
	return nil
}

func (c *Command) hello(r *raws) error {
	if r.protocol != nil {
		n, err := strconv.ParseUint(string(r.protocol), 10, 16)
		if err != nil || n == 0 {
			return badf("protocol must be a positive number")
		}
		c.Protocol = int(n)
	}
	if len(r.token) > MaxToken {
		return badf("token is longer than %d bytes", MaxToken)
	}
	return str("token", r.token, &c.Token)
}

func (c *Command) send(r *raws) error {
	if err := c.prompt(r); err != nil {
		return err
	}
	if err := str("revision", r.revision, &c.Revision); err != nil {
		return err
	}
	return c.common(r)
}

// prompt reads content and attachments.
func (c *Command) prompt(r *raws) error {
	if r.content == nil {
		return badf("content is missing")
	}
	if r.content[0] != '"' && r.content[0] != '[' {
		return badf("content must be a string or an array of parts")
	}
	c.Content = bytes.Clone(r.content)
	if r.attachments != nil {
		if r.attachments[0] != '[' {
			return badf("attachments must be an array")
		}
		c.Attachments = elements(r.attachments)
		if c.Attachments == nil && c.Op == OpEdit {
			c.Attachments = []json.RawMessage{}
		}
	}
	return nil
}

// common reads what send and regenerate share.
func (c *Command) common(r *raws) error {
	if err := key("key", r.key, &c.Key); err != nil {
		return err
	}
	if err := str("model", r.model, &c.Model); err != nil {
		return err
	}
	if len(c.Model) > MaxModel {
		return badf("model is longer than %d bytes", MaxModel)
	}
	return c.options(r.options)
}

func (c *Command) options(raw []byte) error {
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		return badf("options must be an object")
	}
	var busy []byte
	err := eachField(raw, func(name string, value []byte) error {
		if name != "busy" {
			return nil
		}
		if busy != nil {
			return badf("field %q stands twice", "options.busy")
		}
		busy = value
		return nil
	})
	if err != nil || busy == nil || bytes.Equal(busy, []byte("null")) {
		return err
	}
	c.Busy, _ = unquote(busy)
	if c.Busy != BusyReject && c.Busy != BusyReplace {
		return badf("options.busy must be %q or %q", BusyReject, BusyReplace)
	}
	return nil
}

func (c *Command) cancel(r *raws) error {
	if err := str("run", r.run, &c.Run); err != nil {
		return err
	}
	if err := key("of", r.of, &c.Of); err != nil {
		return err
	}
	switch {
	case (c.Run == "") == (c.Of == ""):
		return badf("cancel needs either run or of")
	case c.Run != "" && !ValidRun(c.Run):
		return badf("run is not a valid id")
	}
	return nil
}

// str reads an optional string field.
func str(name string, raw []byte, to *string) error {
	if raw == nil {
		return nil
	}
	s, ok := unquote(raw)
	if !ok {
		return badf("%s must be a string", name)
	}
	*to = s
	return nil
}

// key reads an optional command key.
func key(name string, raw []byte, to *string) error {
	if err := str(name, raw, to); err != nil || raw == nil {
		return err
	}
	if !ValidKey(*to) {
		return badf("%s must have 1 to %d bytes and no control characters", name, MaxKey)
	}
	return nil
}
