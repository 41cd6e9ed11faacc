package history

import (
	"fmt"
	"time"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// step is what a reader knows of a session at one position.
type step struct {
	pos stream.Cursor
	// run is the active one, if runKnown.
	run      string
	runKnown bool
	doc      tail
	// said is what the active run has said so far, if saidKnown.
	said      []piece
	saidKnown bool
}

type piece struct{ kind, text string }

// track follows one session over all connections of one reader, or through one log.
type track struct {
	reader, node string
	key          regen.Key
	attached     bool // on the present connection
	at           time.Time
	steps        []step // the last one is now; empty: nothing is known yet
	chunk        *chunk // the contiguous range that grows now; nil after a break
	broken       bool   // the event at hand does not follow: its range is nobody's
	f            *findings
}

func (t *track) now() *step { return &t.steps[len(t.steps)-1] }

func (t *track) bad(name, format string, args ...any) {
	t.f.bad(name, t.key, "reader "+t.reader+": "+format, args...)
}

// place puts the reader at a position that a document came with, or that it had never been at.
func (t *track) place(s step) {
	t.chunk = nil
	t.steps = []step{s}
}

// resume puts the reader at a position without a document: where it was then is what it knows.
func (t *track) resume(pos stream.Cursor) {
	for i := len(t.steps) - 1; i >= 0; i-- {
		if t.steps[i].pos == pos {
			if i < len(t.steps)-1 {
				t.chunk = nil
			}
			t.steps = t.steps[:i+1]
			return
		}
	}
	t.place(step{pos: pos})
}

// attach takes the answer to an attach.
func (t *track) attach(v *wire.View) {
	t.attached = true
	pos, err := stream.ParseCursor(v.Cursor)
	if err != nil {
		t.bad(I1, "the attach answer's cursor %q cannot be read", v.Cursor)
		return
	}
	if v.Document != nil {
		t.view(v, pos)
		return
	}
	if len(t.steps) > 0 {
		if had := t.now().pos; pos.Incarnation != had.Incarnation || pos.ID.Seq > had.ID.Seq {
			t.bad(I1, "it had everything up to %s, and an attach without a document goes on behind %s", had, pos)
		}
	}
	t.resume(pos)
}

// view takes a document with its position: an attach answer's or a reset's.
func (t *track) view(v *wire.View, pos stream.Cursor) {
	rows, err := parseRows(v.Document.Rows)
	if err != nil {
		t.bad(I6, "the document at %s cannot be read: %v", pos, err)
	}
	s := step{pos: pos, runKnown: true, saidKnown: v.Run != nil, doc: tail{rows: rows, whole: v.Document.Before == ""}}
	if v.Run != nil {
		s.run = v.Run.Run
		t.f.ran(s.run, t.key)
	}
	t.place(s)
	t.f.sighted(t, sighting{pos: pos, doc: s.doc, revision: v.Document.Revision, hasRevision: true, view: true, active: v.Run != nil})
	t.userRows("the document at "+pos.String(), rows, false)
}

// receipt takes the answer to a command: a socket that does not follow the session follows it from there.
func (t *track) receipt(r wire.Receipt) {
	t.f.ran(r.Run, t.key)
	if t.attached {
		return
	}
	t.attached = true
	if pos, err := stream.ParseCursor(r.Cursor); err == nil {
		t.resume(pos)
	} else {
		t.bad(I1, "the receipt's cursor %q cannot be read", r.Cursor)
	}
}

// event takes an event.
func (t *track) event(ev *event) {
	if !t.attached {
		t.bad(I9, "%s event of a session that this connection does not follow", ev.Kind)
		return
	}
	if ev.Kind == wire.EventReset {
		pos, err := stream.ParseCursor(ev.View.Cursor)
		if err != nil || ev.View.Document == nil {
			t.bad(I1, "a reset without a document or with the unreadable cursor %q", ev.View.Cursor)
			return
		}
		t.view(ev.View, pos)
		return
	}
	switch ev.Kind {
	case wire.EventStarted, wire.EventDelta, wire.EventSettled, wire.EventSession, restated:
	default:
		return // of a newer server
	}
	if len(t.steps) == 0 {
		return // its attach answer could not be read, which was said
	}
	next := t.move(ev)
	t.apply(&next, ev)
	t.keep(next, ev)
}

// move checks the order: the event begins where the reader is, and its epoch is not below the reader's.
func (t *track) move(ev *event) step {
	next := *t.now()
	had := next.pos
	if ev.From != had.ID.Seq+1 || ev.Seq < ev.From {
		what := "a hole"
		if ev.From <= had.ID.Seq {
			what = "a repeat"
		}
		t.bad(I1, "%s: it was at %s, and the %s event covers %d to %d", what, had, ev.Kind, ev.From, ev.Seq)
		next.saidKnown, next.runKnown, next.doc = false, false, tail{}
		t.broken = true
	}
	next.pos.ID.Seq = ev.Seq
	if ev.At == (stream.Cursor{}) {
		return next
	}
	switch {
	case ev.At.Incarnation != had.Incarnation:
		t.bad(I1, "at %s came an event of another incarnation without a reset: %s", had, ev.At)
	case ev.At.ID.Seq != ev.Seq:
		t.bad(I1, "the event with seq %d has the cursor %s", ev.Seq, ev.At)
	case ev.At.ID.Epoch < had.ID.Epoch:
		t.bad(I3, "an entry of epoch %d (seq %d) after one of epoch %d (seq %d)", ev.At.ID.Epoch, ev.Seq, had.ID.Epoch, had.ID.Seq)
	}
	next.pos = ev.At
	next.pos.ID.Seq = ev.Seq
	return next
}

// apply folds the event into what the reader knows.
func (t *track) apply(s *step, ev *event) {
	switch ev.Kind {
	case wire.EventStarted:
		t.f.ran(ev.Run, t.key)
		t.f.started(t, ev.Run)
		if s.runKnown && s.run != "" {
			t.bad(I4, "run %s started at %s while run %s had no settlement", ev.Run, s.pos, s.run)
		}
		s.run, s.runKnown, s.said, s.saidKnown = ev.Run, true, nil, true
		t.userRows("started of run "+ev.Run, ev.Rows, true)
		t.fold(s, ev, func() (tail, bool) { return s.doc.cut(ev.Keep, ev.Rows) })
		t.f.sighted(t, sighting{pos: s.pos, doc: s.doc, active: true})
	case wire.EventDelta:
		if ev.Run != "" {
			t.f.ran(ev.Run, t.key)
		}
		if s.runKnown && (s.run == "" || ev.Run != "" && ev.Run != s.run) {
			t.bad(I4, "a delta of run %q at %s, where the active run is %q", ev.Run, s.pos, s.run)
		}
		s.said = append(s.said, piece{kind: ev.Delta, text: ev.Text}) // a step that is rewound is gone: sharing the array is safe
	case restated:
		s.said = nil
	case wire.EventSettled:
		t.settled(s, ev)
	case wire.EventSession:
		if ev.Change == "rows" {
			t.f.edited[t.key] = true
			t.fold(s, ev, func() (tail, bool) { return s.doc.cut(ev.Keep, ev.Rows) })
			t.f.sighted(t, sighting{pos: s.pos, doc: s.doc, revision: ev.Revision, hasRevision: true})
		}
	}
}

func (t *track) settled(s *step, ev *event) {
	t.f.ran(ev.Run, t.key)
	t.f.settlement(t, s.pos, ev)
	switch {
	case s.runKnown && s.run == "":
		t.bad(I4, "run %s settled at %s, where no run was active", ev.Run, s.pos)
	case s.runKnown && ev.Run != s.run:
		t.bad(I4, "run %s settled at %s, where the active run was %s", ev.Run, s.pos, s.run)
	case s.saidKnown:
		if what := unlike(s.said, ev); what != "" {
			t.bad(I6, "run %s settled %s at %s: %s", ev.Run, ev.Outcome, s.pos, what)
		}
	}
	t.userRows("settled of run "+ev.Run, ev.Rows, true)
	t.fold(s, ev, func() (tail, bool) { return s.doc.settle(ev.Rows) })
	s.run, s.runKnown, s.said, s.saidKnown = "", true, nil, false
	t.f.sighted(t, sighting{pos: s.pos, doc: s.doc, revision: ev.Revision, hasRevision: true})
}

func (t *track) fold(s *step, ev *event, f func() (tail, bool)) {
	doc, ok := f()
	if !ok {
		t.bad(I6, "%s at %s builds on a row that its document does not have: it has %s", ev.Kind, s.pos, ids(s.doc.rows))
	}
	s.doc = doc
}

// keep makes next the reader's position and remembers the event for I2.
func (t *track) keep(next step, ev *event) {
	had := t.now().pos
	t.steps = append(t.steps, next)
	if t.broken {
		t.broken, t.chunk = false, nil
		return
	}
	if t.chunk == nil || t.chunk.end() != had {
		t.chunk = t.f.newChunk(t, had)
	}
	t.chunk.add(next.pos, ev)
}

// userRows checks that rows hold at most one user row per turn; of one turn alone, exactly one, the first.
func (t *track) userRows(where string, rows []row, oneTurn bool) {
	count := map[string]int{}
	for i, r := range rows {
		if r.Role != string(regen.RoleUser) || r.Turn == "" {
			continue
		}
		if count[r.Turn]++; count[r.Turn] == 2 {
			t.bad(I7, "%s has two user rows of turn %s", where, r.Turn)
		}
		if oneTurn && i > 0 && count[r.Turn] == 1 {
			t.bad(I7, "%s does not begin with the turn's user row", where)
		}
	}
	if oneTurn && len(count) == 0 {
		t.bad(I7, "%s has no user row", where)
	}
}

// settlementSeen is one settlement as somebody saw it.
type settlementSeen struct {
	key     regen.Key
	pos     stream.Cursor
	outcome string
	reader  string
	at      time.Time
}

// sighting is a document, or a revision, that somebody had at a position.
type sighting struct {
	reader                    string
	pos                       stream.Cursor
	doc                       tail
	revision                  string
	hasRevision, view, active bool
}

func (t *track) String() string { return fmt.Sprintf("%s of %s", t.reader, t.key) }
