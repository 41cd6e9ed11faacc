package regen

import "encoding/json"

// Document is one conversation, seen through a window at its end: the last display rows, the last context rows, and for what
// lies below them only the number and the chain. It is an immutable value: operations return new ones. The zero value with
// a Session is a session that does not exist yet.
//
// A document that an operation gave may show only the end of its window in Rows and Context; RowsBelow and ContextBelow count
// from there. What it does not show it still has: operations and Prompt see the whole window.
type Document struct {
	Session string
	// Version counts the changes; 0 means that the session does not exist. RowsVersion is the version of the last change of
	// rows or context.
	Version, RowsVersion uint64
	// Rows are the display rows of the window. RowsBelow is how many lie below it, RowsBase the chain there ("" is EmptyChain).
	Rows      []Link
	RowsBelow int
	RowsBase  Chain
	// Context likewise.
	Context      []ContextLink
	ContextBelow int
	ContextBase  Chain
	Fields       Fields
	// Active is the run that owns the next write; nil when idle.
	Active *Active
	// lower is the rest of the window, below Rows and Context; nil when there is none. See window.go.
	lower *stretch
}

// Active is the active run, as the head record keeps it.
type Active struct {
	Run string `json:"run"`
	// Turn and Row are the turn's id and its user row's.
	Turn string `json:"turn"`
	Row  string `json:"row"`
	// Source is the user row's source.
	Source string `json:"source,omitempty"`
	// StartedAt is the acceptance, in seconds since 1970.
	StartedAt float64 `json:"started_at"`
	// Model is the model asked for; "" is the default one.
	Model string `json:"model,omitempty"`
	// Regenerate says that the run answers a prompt again.
	Regenerate bool `json:"regenerate,omitempty"`
}

// Normalise fits the context window to the display window, as a loader must after reading both: references to rows below the
// display window, and what stands before the last of them, move below the context window. It returns d itself where nothing
// moves.
func (d *Document) Normalise() *Document {
	if d.RowsBelow == 0 {
		return d
	}
	shown := make(map[string]bool, len(d.Rows))
	for _, l := range d.Rows {
		shown[l.Row.ID] = true
	}
	drop := 0
	for i, l := range d.Context {
		if l.Row == nil && !shown[l.Ref] {
			drop = i + 1
		}
	}
	if drop == 0 {
		return d
	}
	to := *d
	to.ContextBelow += drop
	to.ContextBase = d.Context[drop-1].Chain
	to.Context = d.Context[drop:]
	return &to
}

// Total is the number of display rows, those below the window included.
func (d *Document) Total() int { return d.RowsBelow + len(d.Rows) }

// IsActive says whether r is the user row of the active run. The token decides, not the row's time.
func (d *Document) IsActive(r *Row) bool {
	return d.Active != nil && r.Role == RoleUser && r.Token != "" && r.Token == Token(d.Active.Run, d.Active.StartedAt)
}

// Public gives a row of this document as clients see it.
func (d *Document) Public(r Row) json.RawMessage { return r.Public(d.IsActive(&r)) }

// TurnRows gives the rows of a turn that are in the window, from its user row on; nil when there are none.
func (d *Document) TurnRows(turn string) []Row {
	rows := d.whole().Rows
	end := len(rows)
	for end > 0 && rows[end-1].Row.Turn != turn {
		end--
	}
	start := end
	for start > 0 && rows[start-1].Row.Turn == turn {
		start--
	}
	return rowValues(rows[start:end])
}

func rowValues(links []Link) []Row {
	if len(links) == 0 {
		return nil
	}
	rows := make([]Row, len(links))
	for i, l := range links {
		rows[i] = *l.Row
	}
	return rows
}

func (d *Document) rowsChain() Chain {
	if n := len(d.Rows); n > 0 {
		return d.Rows[n-1].Chain
	}
	return d.RowsBase.or()
}

func (d *Document) contextChain() Chain {
	if n := len(d.Context); n > 0 {
		return d.Context[n-1].Chain
	}
	return d.ContextBase.or()
}
