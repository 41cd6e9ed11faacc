package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"holdfast/gateway"
	"holdfast/regen"
	"holdfast/stream"
)

var (
	_ gateway.Engine       = (*fakeEngine)(nil)
	_ gateway.Hub          = (*fakeHub)(nil)
	_ gateway.Reader       = (*fakeReader)(nil)
	_ gateway.Subscription = (*stream.Subscription)(nil)
	_ gateway.Hub          = gateway.FromHub(nil)
)

const (
	run1 = "11111111111111111111111111111111"
	run2 = "22222222222222222222222222222222"
	turn = "33333333333333333333333333333333"
)

// fakeEngine does what the test says.
type fakeEngine struct {
	do     func(ctx context.Context, key regen.Key, cmd regen.Command) (stream.Receipt, error)
	cancel func(ctx context.Context, key regen.Key, s stream.Stop) (stream.StopResult, error)
}

func (e *fakeEngine) Do(ctx context.Context, key regen.Key, cmd regen.Command) (stream.Receipt, error) {
	if e.do == nil {
		return stream.Receipt{Session: key.Session, Turn: turn, Run: run1, Cursor: "inc.1:0"}, nil
	}
	return e.do(ctx, key, cmd)
}

func (e *fakeEngine) Cancel(ctx context.Context, key regen.Key, s stream.Stop) (stream.StopResult, error) {
	if e.cancel == nil {
		return stream.StopResult{Answer: stream.StopUnknown}, nil
	}
	return e.cancel(ctx, key, s)
}

type fakeReader struct {
	read     func(key regen.Key, q stream.Query) (stream.Snapshot, error)
	sessions func(tenant string, limit int) ([]stream.SessionInfo, error)
}

func (r *fakeReader) Read(_ context.Context, key regen.Key, q stream.Query) (stream.Snapshot, error) {
	if r.read == nil {
		return stream.Snapshot{}, nil
	}
	return r.read(key, q)
}

func (r *fakeReader) Sessions(_ context.Context, tenant string, limit int) ([]stream.SessionInfo, error) {
	if r.sessions == nil {
		return nil, nil
	}
	return r.sessions(tenant, limit)
}

// fakeHub keeps logs in memory. Event seqs are the index plus one; every cursor "inc.1:<seq>" is served.
type fakeHub struct {
	mu     sync.Mutex
	logs   map[regen.Key]*fakeLog
	attach func(key regen.Key, cursor string) error // may refuse
	pull   func()                                   // called in every Pull
}

type fakeLog struct {
	events []stream.Event
	run    *stream.RunInfo
	subs   map[*fakeSub]struct{}
}

type fakeSub struct {
	hub    *fakeHub
	log    *fakeLog
	pos    int
	notify func()
}

func newHub(sessions ...string) *fakeHub {
	h := &fakeHub{logs: map[regen.Key]*fakeLog{}}
	for _, s := range sessions {
		h.logs[regen.Key{Tenant: "main", Session: s}] = &fakeLog{subs: map[*fakeSub]struct{}{}}
	}
	return h
}

func (h *fakeHub) Attach(_ context.Context, key regen.Key, cursor string, notify func()) (gateway.Subscription, stream.View, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attach != nil {
		if err := h.attach(key, cursor); err != nil {
			return nil, stream.View{}, err
		}
	}
	l := h.logs[key]
	if l == nil {
		return nil, stream.View{}, stream.ErrNotFound
	}
	s := &fakeSub{hub: h, log: l, notify: notify}
	v := stream.View{Session: key.Session, Run: l.run}
	if n, err := fmt.Sscanf(cursor, "inc.1:%d", &s.pos); n != 1 || err != nil || s.pos < 0 || s.pos > len(l.events) {
		s.pos = len(l.events)
		v.Document = &regen.Document{Session: key.Session, Version: 1}
	}
	v.Cursor = stream.Cursor{Incarnation: "inc", ID: stream.EntryID{Epoch: 1, Seq: uint64(s.pos)}}
	l.subs[s] = struct{}{}
	return s, v, nil
}

// add appends events and wakes the readers. Seqs are filled in.
func (h *fakeHub) add(session string, events ...stream.Event) {
	h.mu.Lock()
	l := h.logs[regen.Key{Tenant: "main", Session: session}]
	for _, ev := range events {
		ev.Seq = uint64(len(l.events)) + 1
		ev.From = ev.Seq
		l.events = append(l.events, ev)
	}
	var subs []*fakeSub
	for s := range l.subs {
		subs = append(subs, s)
	}
	h.mu.Unlock()
	for _, s := range subs {
		s.notify()
	}
}

func (h *fakeHub) setRun(session, run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs[regen.Key{Tenant: "main", Session: session}].run = &stream.RunInfo{Run: run, Turn: turn, Phase: "streaming", StartedAt: 1}
}

// readers is the number of open subscriptions.
func (h *fakeHub) readers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, l := range h.logs {
		n += len(l.subs)
	}
	return n
}

// Pull folds deltas, as the real one does.
func (s *fakeSub) Pull(maxBytes int) ([]stream.Event, bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.pull != nil {
		s.hub.pull()
	}
	var out []stream.Event
	size := 0
	for s.pos < len(s.log.events) {
		if size >= maxBytes {
			return out, true
		}
		ev := s.log.events[s.pos]
		s.pos++
		var text strings.Builder
		text.WriteString(ev.Text)
		for ev.Kind == stream.EventDelta && s.pos < len(s.log.events) && s.log.events[s.pos].Kind == stream.EventDelta && size+text.Len() < maxBytes {
			text.WriteString(s.log.events[s.pos].Text)
			s.pos++
			ev.Seq = uint64(s.pos)
		}
		ev.Text = text.String()
		size += len(ev.Text) + 1
		out = append(out, ev)
	}
	return out, false
}

func (s *fakeSub) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.log.subs, s)
}

func delta(text string) stream.Event {
	return stream.Event{Kind: stream.EventDelta, Delta: stream.KindText, Run: run1, Text: text}
}

func started(run string) stream.Event {
	return stream.Event{Kind: stream.EventStarted, Started: &stream.Started{Run: run, Turn: turn}}
}

func settled(run string) stream.Event {
	return stream.Event{Kind: stream.EventSettled, Settled: &stream.Settled{Run: run, Turn: turn, Outcome: "completed"}}
}
