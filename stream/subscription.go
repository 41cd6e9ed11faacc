package stream

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/ownership"
	"holdfast/regen"
)

// EventKind is what an event is; the words are the wire's.
type EventKind string

// The kinds of event.
const (
	EventStarted EventKind = "started"
	EventDelta   EventKind = "delta"
	EventSettled EventKind = "settled"
	EventSession EventKind = "session"
	EventReset   EventKind = "reset"
)

// Event is what a reader gets: one entry, or several deltas of one kind folded into one.
type Event struct {
	Kind EventKind
	// From and Seq are the first and the last seq that the event covers.
	From, Seq uint64
	// Cursor is the whole cursor of Seq; "" when the reader may go on counting under the one it has.
	Cursor string
	// Run, Delta and Text belong to a delta. Delta is KindText, KindReasoning or KindTool.
	Run   string
	Delta Kind
	Text  string

	Started *Started
	Settled *Settled
	Change  *SessionChange
	Reset   *View
}

// Subscription is one reader of one session. Nothing is kept for it but a position.
type Subscription struct {
	feed   *feed
	notify func()
	once   sync.Once

	// guarded by feed.mu
	inc   string
	seq   uint64          // the last seq delivered
	epoch ownership.Epoch // the epoch the reader knows
	stale bool            // needs a document
	reset *View           // the document, once it was read
	run   string          // the run that deltas at seq belong to
}

// Close ends the subscription; it may be called twice.
func (s *Subscription) Close() {
	s.once.Do(func() {
		s.feed.mu.Lock()
		s.feed.subs = slices.DeleteFunc(slices.Clone(s.feed.subs), func(o *Subscription) bool { return o == s })
		s.feed.mu.Unlock()
		s.feed.hub.release(s.feed)
	})
}

// Pull gives the next events, about maxBytes of text at most, without waiting. more says that there is more already.
func (s *Subscription) Pull(maxBytes int) (events []Event, more bool) {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.stale {
		if s.reset == nil || !f.loaded {
			return nil, false // the feed reads the document and notifies
		}
		events = append(events, s.takeReset())
	}
	if !f.loaded || s.inc != f.head.Incarnation || len(f.window) == 0 {
		return events, false
	}
	first := f.window[0].ID.Seq
	if s.seq+1 < first {
		s.needReset()
		return events, false
	}
	i := int(s.seq + 1 - first)
	size := 0
	for i < len(f.window) {
		if size >= maxBytes {
			return events, true
		}
		if f.window[i].Kind == KindRestated {
			s.needReset()
			return events, false
		}
		var ev Event
		ev, i = s.fold(f.window, i, maxBytes-size)
		size += len(ev.Text) + 256
		events = append(events, ev)
	}
	return events, false
}

// needReset asks the feed for a document: what the reader has is void, or what it needs is gone.
func (s *Subscription) needReset() {
	s.stale, s.reset, s.feed.stale = true, nil, true
	s.feed.wakeUp()
}

func (s *Subscription) takeReset() Event {
	v := s.reset
	s.stale, s.reset = false, nil
	s.inc, s.seq, s.epoch = v.Cursor.Incarnation, v.Cursor.ID.Seq, v.Cursor.ID.Epoch
	s.run = ""
	if v.Run != nil {
		s.run = v.Run.Run
	}
	return Event{Kind: EventReset, Seq: s.seq, Cursor: v.Cursor.String(), Reset: v}
}

// fold makes one event of the entries from i on: deltas of one kind and epoch become one.
func (s *Subscription) fold(w []Entry, i, room int) (Event, int) {
	e := w[i]
	ev := Event{From: e.ID.Seq, Seq: e.ID.Seq}
	next := i + 1
	switch e.Kind {
	case KindStarted:
		ev.Kind, ev.Started = EventStarted, decode[Started](e.Data)
		s.run = ev.Started.Run
	case KindSettled:
		ev.Kind, ev.Settled = EventSettled, decode[Settled](e.Data)
		s.run = ""
	case KindSession:
		ev.Kind, ev.Change = EventSession, decode[SessionChange](e.Data)
	default:
		ev.Kind, ev.Delta, ev.Run = EventDelta, e.Kind, s.run
		if e.Kind == KindTool {
			ev.Text = e.Data
			break
		}
		size := len(e.Data)
		for next < len(w) && w[next].Kind == e.Kind && w[next].ID.Epoch == e.ID.Epoch && size < room {
			size += len(w[next].Data)
			next++
		}
		ev.Text = join(w[i:next], size)
		ev.Seq = w[next-1].ID.Seq
	}
	s.seq = ev.Seq
	if e.ID.Epoch != s.epoch || ev.Kind != EventDelta {
		s.epoch = e.ID.Epoch
		ev.Cursor = Cursor{Incarnation: s.inc, ID: EntryID{Epoch: e.ID.Epoch, Seq: ev.Seq}}.String()
	}
	return ev, next
}

func join(w []Entry, size int) string {
	if len(w) == 1 {
		return w[0].Data
	}
	var b strings.Builder
	b.Grow(size)
	for _, e := range w {
		b.WriteString(e.Data)
	}
	return b.String()
}

func decode[T any](data string) *T {
	v := new(T)
	_ = json.Unmarshal([]byte(data), v) // written by us and fenced; a broken one is shown as an empty event, the audit finds it
	return v
}

// attach waits until the feed has the log, then places a reader in it.
func (f *feed) attach(ctx context.Context, cursor string, notify func()) (*Subscription, View, error) {
	if err := f.ready(ctx); err != nil {
		return nil, View{}, err
	}
	if c, err := ParseCursor(cursor); err == nil {
		if s, view, ok := f.resume(c, notify); ok {
			return s, view, nil
		}
		// Ahead of what the feed has read so far it may still be right.
		if err := f.catchUp(ctx); err != nil {
			return nil, View{}, err
		}
		if s, view, ok := f.resume(c, notify); ok {
			return s, view, nil
		}
	}
	for range 5 {
		snap, err := f.hub.log.Read(ctx, f.key, Query{})
		if err != nil {
			return nil, View{}, err
		}
		if !snap.Head.Exists() {
			return nil, View{}, ErrNotFound
		}
		if err := f.catchUp(ctx); err != nil {
			return nil, View{}, err
		}
		if s, view, ok := f.place(NewView(f.key.Session, snap), notify); ok {
			return s, view, nil
		}
	}
	return nil, View{}, ErrUnavailable
}

// ready subscribes, waits for the confirmation, then reads: in that order nothing can be missed.
func (f *feed) ready(ctx context.Context) error {
	f.mu.Lock()
	loaded := f.loaded
	f.mu.Unlock()
	if loaded {
		return nil
	}
	t := time.NewTimer(f.hub.cfg.Confirm)
	defer t.Stop()
	select {
	case <-f.confirmed:
	case <-t.C: // without wakes the poll carries on
	case <-ctx.Done():
		return ctx.Err()
	case <-f.ctx.Done():
		return ErrUnavailable
	}
	return f.catchUp(ctx)
}

// resume places a reader at its cursor, if the feed covers it.
func (f *feed) resume(c Cursor, notify func()) (*Subscription, View, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.loaded || !f.head.Accepts(c, f.pos) || len(f.window) > 0 && c.ID.Seq+1 < f.window[0].ID.Seq {
		return nil, View{}, false
	}
	for i := len(f.window) - 1; i >= 0 && f.window[i].ID.Seq > c.ID.Seq; i-- {
		if f.window[i].Kind == KindRestated {
			return nil, View{}, false
		}
	}
	s := &Subscription{feed: f, notify: notify, inc: c.Incarnation, seq: c.ID.Seq, epoch: c.ID.Epoch, run: f.runAt(c.ID.Seq)}
	f.subs = append(slices.Clone(f.subs), s)
	return s, View{Session: f.key.Session, Run: f.active, Cursor: c}, true
}

// runAt is the run whose deltas follow seq; "" if a started entry comes first.
func (f *feed) runAt(seq uint64) string {
	run := ""
	if f.active != nil {
		run = f.active.Run
	}
	for i := len(f.window) - 1; i >= 0; i-- {
		switch e := f.window[i]; {
		case e.ID.Seq <= seq && e.Kind == KindStarted:
			return decode[Started](e.Data).Run
		case e.ID.Seq <= seq && e.Kind == KindRestated:
			return decode[Restated](e.Data).Run
		case e.ID.Seq > seq && e.Kind == KindSettled:
			run = decode[Settled](e.Data).Run
		case e.ID.Seq <= seq && e.Kind == KindSettled:
			return ""
		}
	}
	return run
}

// place puts a reader behind a document. It fails when the feed's log is not the document's, or no longer reaches back to it.
func (f *feed) place(v View, notify func()) (*Subscription, View, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.covers(v) {
		return nil, View{}, false
	}
	s := &Subscription{feed: f, notify: notify, inc: v.Cursor.Incarnation, seq: v.Cursor.ID.Seq, epoch: v.Cursor.ID.Epoch}
	if v.Run != nil {
		s.run = v.Run.Run
	}
	f.subs = append(slices.Clone(f.subs), s)
	return s, v, true
}

func (f *feed) covers(v View) bool {
	c := v.Cursor
	return f.loaded && f.head.Accepts(c, f.pos) &&
		(len(f.window) == 0 || c.ID.Seq+1 >= f.window[0].ID.Seq)
}

// goneIncarnation stands in the cursor of a session that the store lost. No log has it.
const goneIncarnation = "gone"

// resetStale reads the document once for all readers that need it. It says no when that could not be done yet: a little later, not at once.
func (f *feed) resetStale(ctx context.Context) (steady bool) {
	f.mu.Lock()
	stale := f.stale
	f.mu.Unlock()
	if !stale {
		return true
	}
	snap, err := f.hub.log.Read(ctx, f.key, Query{})
	if err != nil {
		return false
	}
	v := NewView(f.key.Session, snap)
	gone := !snap.Head.Exists()
	if gone && snap.Head.Incarnation != "" {
		return true // somebody has just acquired it: what comes of that wakes us
	}
	if gone { // the store lost the session: nobody may wait for the end of its run
		v = View{Session: f.key.Session, Document: &regen.Document{Session: f.key.Session}, Cursor: Cursor{Incarnation: goneIncarnation}}
	}
	if err := f.catchUp(ctx); err != nil {
		return false
	}
	f.mu.Lock()
	var ready []*Subscription
	if f.covers(v) || gone && f.loaded && !f.head.Exists() {
		f.stale = false
		for _, s := range f.subs {
			switch {
			case s.stale && gone && s.inc == goneIncarnation:
				s.stale = false // it knows
			case s.stale:
				s.reset = &v
				ready = append(ready, s)
			}
		}
		steady = true
	}
	f.mu.Unlock()
	notifyAll(ready)
	return steady
}
