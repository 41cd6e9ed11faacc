package stream

import "holdfast/regen"

// RunInfo is the active run as readers see it.
type RunInfo struct {
	Run  string
	Turn string
	// Phase is "accepted" before the first token and "streaming" after it.
	Phase string
	// StartedAt is in seconds since 1970.
	StartedAt float64
	Model     string
	Node      string
}

// View is what a reader needs before the events: the document, or nothing but the run where its cursor was accepted.
type View struct {
	Session string
	// Document is nil when the cursor was accepted.
	Document *regen.Document
	// Total is the number of display rows; 0 without a document.
	Total int
	// Run is nil when the session is idle.
	Run *RunInfo
	// Cursor is where the events begin.
	Cursor Cursor
	// Revision is absent ("") when nothing may be regenerated.
	Revision string
}

// NewView makes the view of a snapshot: with an active run the cursor stands at the run's start, so that its text follows.
func NewView(session string, s Snapshot) View {
	v := View{Session: session, Document: s.Document, Total: s.Total, Cursor: s.Head.CursorAt(s.Top.Seq)}
	if a := s.Head.Active; s.Head.Run != "" && a != nil {
		v.Run = &RunInfo{Run: a.Run, Turn: a.Turn, Phase: phaseAccepted, StartedAt: a.StartedAt, Model: a.Model, Node: s.Lease.Node}
		v.Cursor = s.Head.CursorAt(s.Head.Start.Seq)
		if s.Top.Seq > max(s.Head.Start.Seq, s.Head.Seq) { // the acceptance itself may have more entries than its started
			v.Run.Phase = phaseStreaming
		}
	} else if s.Document != nil {
		v.Revision, _ = s.Document.Minted()
	}
	return v
}

const (
	phaseAccepted  = "accepted"
	phaseStreaming = "streaming"
)
