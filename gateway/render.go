package gateway

import (
	"encoding/json"
	"strconv"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// appendEvent renders an event of a session's log.
func appendEvent(b []byte, session string, ev *stream.Event) []byte {
	switch ev.Kind {
	case stream.EventDelta:
		e := wire.Delta{Session: session, Run: ev.Run, From: ev.From, Seq: ev.Seq, Kind: kindOf(ev.Delta), Text: ev.Text, Cursor: ev.Cursor}
		return e.Append(b)
	case stream.EventStarted:
		s := ev.Started
		e := wire.Started{
			Session: session, Run: s.Run, Turn: s.Turn, Seq: ev.Seq, Keep: s.Keep, Rows: s.Rows,
			At: s.At, Model: s.Model, Node: s.Node, Cursor: ev.Cursor,
		}
		return e.Append(b)
	case stream.EventSettled:
		s := ev.Settled
		e := wire.Settled{
			Session: session, Run: s.Run, Turn: s.Turn, Seq: ev.Seq, Outcome: s.Outcome, Cause: s.Cause, Rows: s.Rows,
			Revision: s.Revision, Usage: s.Usage, Variants: s.Variants, Node: s.Node, Cursor: ev.Cursor,
		}
		return e.Append(b)
	case stream.EventSession:
		c := ev.Change
		e := wire.SessionChange{
			Session: session, Seq: ev.Seq, Change: c.Change, Keep: c.Keep, Rows: c.Rows,
			Revision: c.Revision, Title: c.Title, Cursor: ev.Cursor,
		}
		return e.Append(b)
	default: // stream.EventReset
		v := viewOf(ev.Reset)
		return wire.AppendReset(b, &v)
	}
}

func kindOf(k stream.Kind) string {
	switch k {
	case stream.KindReasoning:
		return wire.KindReasoning
	case stream.KindTool:
		return wire.KindTool
	}
	return wire.KindText
}

// runAfter is the active run after an event.
func runAfter(ev *stream.Event, run string) string {
	switch ev.Kind {
	case stream.EventStarted:
		return ev.Started.Run
	case stream.EventSettled:
		return ""
	case stream.EventReset:
		return runOf(ev.Reset)
	}
	return run
}

func runOf(v *stream.View) string {
	if v.Run == nil {
		return ""
	}
	return v.Run.Run
}

func viewOf(v *stream.View) wire.View {
	out := wire.View{Session: v.Session, Cursor: v.Cursor.String()}
	if r := v.Run; r != nil {
		out.Run = &wire.Run{Run: r.Run, Turn: r.Turn, Phase: r.Phase, StartedAt: r.StartedAt, Model: r.Model, Node: r.Node}
	}
	if v.Document != nil {
		out.Document = documentOf(v.Document, v.Total, v.Revision)
	}
	return out
}

func documentOf(d *regen.Document, total int, revision string) *wire.Document {
	out := &wire.Document{Rows: make([]json.RawMessage, len(d.Rows)), Revision: revision, Title: d.Fields.Title, Total: total}
	for i, l := range d.Rows {
		out.Rows[i] = d.Public(*l.Row)
	}
	if d.RowsBelow > 0 {
		out.Before = strconv.Itoa(d.RowsBelow)
	}
	return out
}
