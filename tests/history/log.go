package history

import (
	"encoding/json"
	"fmt"

	"holdfast/gateway/wire"
	"holdfast/stream"
)

// readLog goes through a dumped log as if it were one more reader, which sees every entry by itself.
func (f *findings) readLog(n int, s *Store) {
	t := &track{reader: fmt.Sprintf("log of dump %d", n), key: s.Key, attached: true, at: s.At, f: f}
	inc := s.Head["inc"]
	for _, e := range s.Log {
		if len(t.steps) == 0 {
			t.begin(s, e.ID)
		}
		here := stream.Cursor{Incarnation: inc, ID: e.ID}
		if e.Kind == stream.KindMarker {
			t.marker(here)
			continue
		}
		ev, err := entryEvent(e)
		if err != nil {
			t.bad(I6, "entry %s cannot be read: %v", e.ID, err)
			continue
		}
		if ev.Kind == wire.EventDelta && t.now().runKnown {
			ev.Run = t.now().run
		}
		ev.From, ev.Seq, ev.At = e.ID.Seq, e.ID.Seq, here
		t.event(ev)
	}
}

// begin places the log's reader just before the first kept entry.
func (t *track) begin(s *Store, first stream.EntryID) {
	pos := s.before()
	if pos == (stream.Cursor{}) {
		pos = stream.Cursor{Incarnation: s.Head["inc"], ID: stream.EntryID{Epoch: first.Epoch, Seq: first.Seq - min(first.Seq, 1)}}
	}
	t.place(step{pos: pos})
}

// marker takes the beginning of an epoch. It has the seq of the entry before it, and is no position of a reader.
func (t *track) marker(at stream.Cursor) {
	had := t.now().pos
	switch {
	case at.ID.Epoch < had.ID.Epoch:
		t.bad(I3, "the marker %s stands after %s", at.ID, had.ID)
	case at.ID.Seq != had.ID.Seq:
		t.bad(I1, "the marker %s stands after %s", at.ID, had.ID)
	}
}

// entryEvent makes of a log entry the event that a reader gets of it.
func entryEvent(e stream.Entry) (*event, error) {
	switch e.Kind {
	case stream.KindText:
		return &event{Kind: wire.EventDelta, Delta: wire.KindText, Text: e.Data}, nil
	case stream.KindReasoning:
		return &event{Kind: wire.EventDelta, Delta: wire.KindReasoning, Text: e.Data}, nil
	case stream.KindTool:
		return &event{Kind: wire.EventDelta, Delta: wire.KindTool, Text: e.Data}, nil
	case stream.KindStarted, stream.KindSettled, stream.KindSession, stream.KindRestated:
	default:
		return nil, fmt.Errorf("kind %q", e.Kind)
	}
	var w struct {
		Run, Turn, Keep                         string
		Rows                                    []row
		Outcome, Cause, Revision, Change, Title string
	}
	if err := json.Unmarshal([]byte(e.Data), &w); err != nil {
		return nil, err
	}
	kinds := map[stream.Kind]string{
		stream.KindStarted: wire.EventStarted, stream.KindSettled: wire.EventSettled,
		stream.KindSession: wire.EventSession, stream.KindRestated: restated,
	}
	return &event{
		Kind: kinds[e.Kind], Run: w.Run, Turn: w.Turn, Keep: w.Keep, Rows: w.Rows,
		Outcome: w.Outcome, Cause: w.Cause, Revision: w.Revision, Change: w.Change, Title: w.Title,
	}, nil
}
