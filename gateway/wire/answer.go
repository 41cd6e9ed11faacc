package wire

import "encoding/json"

// Receipt is the answer to an accepted send, regenerate or edit of any kind.
type Receipt struct {
	Session string `json:"session"`
	// Turn and Run are "" (left out) for an op without a run; a select names its turn.
	Turn string `json:"turn,omitempty"`
	Run  string `json:"run,omitempty"`
	// Revision is the session's after an op without a run.
	Revision string `json:"revision,omitempty"`
	// Cursor stands just before the run's started event, or the session event of an op without a run.
	Cursor string `json:"cursor"`
	// Repeat says that the command's key had been accepted before.
	Repeat bool `json:"repeat"`
}

// Cancelled is the answer to a cancel.
type Cancelled struct {
	// Run is "" (null) while only the command's key is known.
	Run string `json:"run"`
	// Cancel is "accepted", "late" or "unknown".
	Cancel string `json:"cancel"`
	// Seq is the session's last seq at that moment.
	Seq uint64 `json:"seq"`
}

// Limits are what hello tells about limits.
type Limits struct {
	MaxFrame    int `json:"max_frame"`    // bytes of one message
	MaxSessions int `json:"max_sessions"` // attached per socket
	MaxInflight int `json:"max_inflight"` // commands without an answer per socket
	MaxKey      int `json:"max_key"`      // bytes
	MaxID       int `json:"max_id"`       // bytes
}

// Hello is the answer to a hello.
type Hello struct {
	Protocol int    `json:"protocol"`
	Server   string `json:"server"`
	Node     string `json:"node"`
	PingMS   int    `json:"ping_ms"`
	Limits   Limits `json:"limits"`
	Ops      []Op   `json:"ops"`
}

// Document is the part of a session's rows that a client gets.
type Document struct {
	// Rows are public rows, oldest first.
	Rows []json.RawMessage `json:"rows"`
	// Revision is "" when nothing may be regenerated.
	Revision string `json:"revision,omitempty"`
	Title    string `json:"title,omitempty"`
	// Total counts the session's rows.
	Total int `json:"total"`
	// Before pages back; "" when Rows begin with the first one.
	Before string `json:"before,omitempty"`
}

// Run is the active run.
type Run struct {
	Run  string `json:"run"`
	Turn string `json:"turn"`
	// Phase is "accepted" before the first token and "streaming" after it.
	Phase string `json:"phase"`
	// StartedAt is in seconds since 1970.
	StartedAt float64 `json:"started_at"`
	Model     string  `json:"model,omitempty"`
	Node      string  `json:"node,omitempty"`
}

// View is the answer to an attach, the body of a reset and of a read over HTTP.
type View struct {
	Session string `json:"session"`
	// Document is nil where the cursor was accepted.
	Document *Document `json:"document,omitempty"`
	// Run is nil (null) when the session is idle.
	Run *Run `json:"run"`
	// Cursor is where the events begin; "" leaves Run out too: a page of older rows.
	Cursor string `json:"cursor"`
}

// SessionInfo is one line of the list of sessions.
type SessionInfo struct {
	Session string `json:"session"`
	Title   string `json:"title,omitempty"`
	// UpdatedAt is in seconds since 1970.
	UpdatedAt float64 `json:"updated_at"`
	// Run is the active run; "" when idle.
	Run string `json:"run,omitempty"`
}

// answer begins {"re":…; an absent id is null.
func answer(b []byte, re json.RawMessage) object {
	w := object{b: append(b, '{')}
	w.key("re")
	if len(re) == 0 {
		w.b = append(w.b, "null"...)
	} else {
		w.b = append(w.b, re...)
	}
	return w
}

// AppendError appends {"re":…,"error":{…}}.
func AppendError(b []byte, re json.RawMessage, e *Error) []byte {
	w := answer(b, re)
	w.key("error")
	o := object{b: append(w.b, '{')}
	o.str("code", string(e.Code))
	o.integer("status", uint64(max(e.Status, 0)))
	o.str("message", e.Message)
	o.boolean("retryable", e.Retryable)
	o.optional("run", e.Run)
	w.b = o.end()
	return w.end()
}

// AppendReceipt appends the answer to an accepted command.
func AppendReceipt(b []byte, re json.RawMessage, r *Receipt) []byte {
	w := answer(b, re)
	w.key("ok")
	o := object{b: append(w.b, '{')}
	o.str("session", r.Session)
	o.optional("turn", r.Turn)
	o.optional("run", r.Run)
	o.optional("revision", r.Revision)
	o.str("cursor", r.Cursor)
	o.boolean("repeat", r.Repeat)
	w.b = o.end()
	return w.end()
}

// AppendCancelled appends the answer to a cancel.
func AppendCancelled(b []byte, re json.RawMessage, c *Cancelled) []byte {
	w := answer(b, re)
	w.key("ok")
	o := object{b: append(w.b, '{')}
	o.orNull("run", c.Run)
	o.str("cancel", c.Cancel)
	o.integer("seq", c.Seq)
	w.b = o.end()
	return w.end()
}

// AppendAttached appends the answer to an attach.
func AppendAttached(b []byte, re json.RawMessage, v *View) []byte {
	w := answer(b, re)
	w.key("ok")
	w.b = v.Append(w.b)
	return w.end()
}

// AppendOK appends an answer that says only that it was done, and for which session; "" leaves it out.
func AppendOK(b []byte, re json.RawMessage, session string) []byte {
	w := answer(b, re)
	w.key("ok")
	o := object{b: append(w.b, '{')}
	o.optional("session", session)
	w.b = o.end()
	return w.end()
}

// AppendHello appends the answer to a hello.
func AppendHello(b []byte, re json.RawMessage, h *Hello) []byte {
	w := answer(b, re)
	w.key("ok")
	o := object{b: append(w.b, '{')}
	o.integer("protocol", uint64(h.Protocol))
	o.str("server", h.Server)
	o.str("node", h.Node)
	o.integer("ping_ms", uint64(h.PingMS))
	o.key("limits")
	l := object{b: append(o.b, '{')}
	l.integer("max_frame", uint64(h.Limits.MaxFrame))
	l.integer("max_sessions", uint64(h.Limits.MaxSessions))
	l.integer("max_inflight", uint64(h.Limits.MaxInflight))
	l.integer("max_key", uint64(h.Limits.MaxKey))
	l.integer("max_id", uint64(h.Limits.MaxID))
	o.b = l.end()
	o.key("ops")
	o.b = append(o.b, '[')
	for i, op := range h.Ops {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = AppendString(o.b, string(op))
	}
	o.b = append(o.b, ']')
	w.b = o.end()
	return w.end()
}

// Append appends the view as an object of its own.
func (v *View) Append(b []byte) []byte {
	w := object{b: append(b, '{')}
	v.fields(&w)
	return w.end()
}

func (v *View) fields(w *object) {
	w.str("session", v.Session)
	if v.Document != nil {
		w.key("document")
		w.b = v.Document.append(w.b)
	}
	if v.Cursor == "" {
		return
	}
	w.key("run")
	w.b = v.Run.append(w.b)
	w.str("cursor", v.Cursor)
}

func (d *Document) append(b []byte) []byte {
	w := object{b: append(b, '{')}
	w.list("rows", d.Rows)
	w.optional("revision", d.Revision)
	w.optional("title", d.Title)
	w.integer("total", uint64(max(d.Total, 0)))
	w.optional("before", d.Before)
	return w.end()
}

func (r *Run) append(b []byte) []byte {
	if r == nil {
		return append(b, "null"...)
	}
	w := object{b: append(b, '{')}
	w.str("run", r.Run)
	w.str("turn", r.Turn)
	w.str("phase", r.Phase)
	w.seconds("started_at", r.StartedAt)
	w.optional("model", r.Model)
	w.optional("node", r.Node)
	return w.end()
}

// AppendSessions appends {"sessions":[…]}.
func AppendSessions(b []byte, list []SessionInfo) []byte {
	b = append(b, `{"sessions":[`...)
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		w := object{b: append(b, '{')}
		w.str("session", s.Session)
		w.optional("title", s.Title)
		w.seconds("updated_at", s.UpdatedAt)
		w.optional("run", s.Run)
		b = w.end()
	}
	return append(b, ']', '}')
}
