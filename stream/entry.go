package stream

import "encoding/json"

// Kind is what an entry is. It is the name of the entry's one field in Redis.
type Kind string

// The kinds of entry.
const (
	KindMarker    Kind = "m" // a new epoch begins; takes no seq, readers skip it
	KindText      Kind = "t" // visible text
	KindReasoning Kind = "r" // the model's thinking
	KindTool      Kind = "o" // one whole tool call, JSON
	KindStarted   Kind = "s" // Started
	KindSettled   Kind = "e" // Settled
	KindSession   Kind = "c" // SessionChange
	KindRestated  Kind = "x" // Restated
)

// Entry is one item of a session's log.
type Entry struct {
	ID   EntryID
	Kind Kind
	// Data is text for t and r, JSON for the others, "" for a marker. Nothing in it is private: rows are public projections.
	Data string
}

// Started is the entry of an acceptance: a run began.
type Started struct {
	Run  string `json:"run"`
	Turn string `json:"turn"`
	// Keep is the id of the last row that stays; "" means that none stays (null on the wire).
	Keep string `json:"keep"`
	// Rows are the public rows appended after Keep: the turn's user row.
	Rows []json.RawMessage `json:"rows"`
	// At is the start, in seconds since 1970.
	At float64 `json:"at"`
	// Model is the model asked for; "" is the default one.
	Model string `json:"model,omitempty"`
	// Node is the node that runs it, for people who watch.
	Node string `json:"node,omitempty"`
}

// Settled is the one terminal entry of a run.
type Settled struct {
	Run      string            `json:"run"`
	Turn     string            `json:"turn"`
	Outcome  string            `json:"outcome"`
	Cause    string            `json:"cause,omitempty"`
	Rows     []json.RawMessage `json:"rows"` // the whole turn, from its user row
	Revision string            `json:"revision,omitempty"`
	Usage    json.RawMessage   `json:"usage,omitempty"`
	Variants []string          `json:"variants,omitempty"`
	Node     string            `json:"node,omitempty"`
}

// SessionChange is an entry for a change of the document outside a run.
type SessionChange struct {
	Change string `json:"change"` // "rows" or "title"
	// Keep and Rows are as in Started; used by "rows" alone.
	Keep     string            `json:"keep,omitempty"`
	Rows     []json.RawMessage `json:"rows,omitempty"`
	Revision string            `json:"revision,omitempty"`
	Title    string            `json:"title,omitempty"`
}

// Restated voids everything that the log held of the active run: the store had lost entries that people saw, or the answer begins
// anew. The run's text follows in entries of its own, in the same batch; every reader gets a reset.
type Restated struct {
	Run string `json:"run"`
}
