package wire

import "encoding/json"

// The names of events.
const (
	EventStarted  = "started"
	EventDelta    = "delta"
	EventSettled  = "settled"
	EventSession  = "session"
	EventReset    = "reset"
	EventDegraded = "degraded"
	EventGoAway   = "goaway"
	EventPing     = "ping"
)

// The kinds of a delta.
const (
	KindText      = "text"
	KindReasoning = "reasoning"
	KindTool      = "tool" // the text is one whole tool call as JSON
)

// Started is the event of an acceptance.
type Started struct {
	Session, Run, Turn string
	Seq                uint64
	// Keep is the id of the last row that stays; "" (null) when none stays.
	Keep   string
	Rows   []json.RawMessage
	At     float64
	Model  string
	Node   string
	Cursor string
}

// Append appends the event.
func (e *Started) Append(b []byte) []byte {
	w := event(b, EventStarted)
	w.str("session", e.Session)
	w.str("run", e.Run)
	w.str("turn", e.Turn)
	w.integer("seq", e.Seq)
	w.orNull("keep", e.Keep)
	w.list("rows", e.Rows)
	if e.At != 0 {
		w.seconds("at", e.At)
	}
	w.optional("model", e.Model)
	w.optional("node", e.Node)
	w.optional("cursor", e.Cursor)
	return w.end()
}

// Delta is a piece of an answer. From is left out where it equals Seq.
type Delta struct {
	Session, Run string
	From, Seq    uint64
	// Kind is KindText, KindReasoning or KindTool.
	Kind   string
	Text   string
	Cursor string
}

// Append appends the event.
func (e *Delta) Append(b []byte) []byte {
	w := event(b, EventDelta)
	w.str("session", e.Session)
	w.str("run", e.Run)
	w.integer("seq", e.Seq)
	if e.From != e.Seq {
		w.integer("from", e.From)
	}
	w.str("kind", e.Kind)
	w.str("text", e.Text)
	w.optional("cursor", e.Cursor)
	return w.end()
}

// Settled is the one terminal event of a run.
type Settled struct {
	Session, Run, Turn string
	Seq                uint64
	Outcome, Cause     string
	Rows               []json.RawMessage
	Revision           string
	Usage              json.RawMessage
	Variants           []string
	Node               string
	Cursor             string
}

// Append appends the event.
func (e *Settled) Append(b []byte) []byte {
	w := event(b, EventSettled)
	w.str("session", e.Session)
	w.str("run", e.Run)
	w.optional("turn", e.Turn)
	w.integer("seq", e.Seq)
	w.str("outcome", e.Outcome)
	w.optional("cause", e.Cause)
	w.list("rows", e.Rows)
	w.optional("revision", e.Revision)
	w.raw("usage", e.Usage)
	w.strings("variants", e.Variants)
	w.optional("node", e.Node)
	w.optional("cursor", e.Cursor)
	return w.end()
}

// SessionChange is a change outside a run.
type SessionChange struct {
	Session string
	Seq     uint64
	// Change is "rows" or "title".
	Change string
	// Keep and Rows belong to "rows".
	Keep     string
	Rows     []json.RawMessage
	Revision string
	Title    string
	Cursor   string
}

// Append appends the event.
func (e *SessionChange) Append(b []byte) []byte {
	w := event(b, EventSession)
	w.str("session", e.Session)
	w.integer("seq", e.Seq)
	w.str("change", e.Change)
	if e.Change == "rows" {
		w.orNull("keep", e.Keep)
		w.list("rows", e.Rows)
	}
	w.optional("revision", e.Revision)
	w.optional("title", e.Title)
	w.optional("cursor", e.Cursor)
	return w.end()
}

// AppendReset appends a reset: the client forgets what it has of the session and takes the document.
func AppendReset(b []byte, v *View) []byte {
	w := event(b, EventReset)
	v.fields(&w)
	return w.end()
}

// AppendDegraded appends whether the store is out of reach.
func AppendDegraded(b []byte, on bool) []byte {
	w := event(b, EventDegraded)
	w.boolean("on", on)
	return w.end()
}

// AppendGoAway appends the request to connect elsewhere after that many milliseconds.
func AppendGoAway(b []byte, reconnectMS int) []byte {
	w := event(b, EventGoAway)
	w.integer("reconnect_in_ms", uint64(max(reconnectMS, 0)))
	return w.end()
}

// AppendPing appends the sign of life.
func AppendPing(b []byte) []byte {
	w := event(b, EventPing)
	return w.end()
}

func event(b []byte, name string) object {
	w := object{b: append(b, '{')}
	w.str("event", name)
	return w
}
