package stream_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// The tests of this file were written against deliberate faults of the hub (tests/mutate). They run in a bubble, where polls and
// time-outs are an hour away: what a reader gets here it gets because of a wake, an offer or a read, never because time passed.

var key = regen.Key{Tenant: "t", Session: "s"}

func at(epoch ownership.Epoch, seq uint64) stream.EntryID {
	return stream.EntryID{Epoch: epoch, Seq: seq}
}

func entry(epoch ownership.Epoch, seq uint64, kind stream.Kind, data string) stream.Entry {
	return stream.Entry{ID: at(epoch, seq), Kind: kind, Data: data}
}

// book is a store of one session in memory, and its wake channel.
type book struct {
	mu      sync.Mutex
	head    stream.Head
	entries []stream.Entry
	pages   int // how often the log was read
	fn      func(stream.Wake)
	silent  bool                   // confirm no subscription
	read    func(*stream.Snapshot) // changes what Read gives
}

func (b *book) Page(_ context.Context, _ regen.Key, after stream.EntryID, limit int) (stream.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pages++; b.pages > 1000 {
		return stream.Page{}, errors.New("the log is read for ever")
	}
	p := stream.Page{Head: b.head, Top: b.top()}
	for _, e := range b.entries {
		if e.ID.Compare(after) <= 0 {
			continue
		}
		if len(p.Entries) == limit {
			p.More = true
			break
		}
		p.Entries = append(p.Entries, e)
	}
	return p, nil
}

func (b *book) Read(context.Context, regen.Key, stream.Query) (stream.Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := stream.Snapshot{Head: b.head, Top: b.top(), Document: &regen.Document{Session: key.Session, Version: b.head.Version}}
	if b.read != nil {
		b.read(&s)
	}
	return s, nil
}

func (b *book) top() stream.EntryID {
	if len(b.entries) == 0 {
		return stream.EntryID{}
	}
	return b.entries[len(b.entries)-1].ID
}

func (b *book) Follow(_ regen.Key, fn func(stream.Wake)) func() {
	b.mu.Lock()
	b.fn = fn
	silent := b.silent
	b.mu.Unlock()
	if !silent {
		fn(stream.Wake{Confirmed: true})
	}
	return func() {}
}

// change edits the store behind the hub's back.
func (b *book) change(f func(*book)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
}

func (b *book) add(es ...stream.Entry) {
	b.change(func(b *book) { b.entries = append(b.entries, es...) })
}

// running is a session with a run under way: started at 5-1, then "a" and "b".
func running() *book {
	return &book{
		head: stream.Head{
			Incarnation: "aa", Epoch: 5, Version: 1, Run: "r1", Active: &regen.Active{Run: "r1", Turn: "t1"}, Start: at(5, 1),
			Fences: stream.Fences{{Epoch: 5, First: 1}}, Before: at(5, 0),
		},
		entries: []stream.Entry{
			entry(5, 0, stream.KindMarker, ""), entry(5, 1, stream.KindStarted, `{"run":"r1"}`),
			entry(5, 2, stream.KindText, "a"), entry(5, 3, stream.KindText, "b"),
		},
	}
}

// bubble runs f with a hub over b.
func bubble(t *testing.T, b *book, f func(t *testing.T, h *stream.Hub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := stream.NewHub(b, b, stream.HubConfig{Poll: 2 * time.Hour, Confirm: time.Hour})
		defer h.Close()
		f(t, h)
	})
}

func attach(t *testing.T, h *stream.Hub, cursor string) (*stream.Subscription, stream.View) {
	t.Helper()
	s, v, err := h.Attach(t.Context(), key, cursor, func() {})
	require.NoError(t, err)
	synctest.Wait() // the feed is at rest: what a test offers is not in its store
	return s, v
}

// pull waits until the hub rests and takes what the reader has.
func pull(t *testing.T, s *stream.Subscription) []stream.Event {
	t.Helper()
	synctest.Wait()
	events, _ := s.Pull(1 << 20)
	if events == nil { // it may have asked for a document
		synctest.Wait()
		events, _ = s.Pull(1 << 20)
	}
	return events
}

func text(events []stream.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.Text)
	}
	return b.String()
}

// A copy is shown only if it is the next entry of the same epoch and life; everything else is read from the log.
//
// contract: E7
func TestOffers(t *testing.T) {
	for name, wrong := range map[string]struct {
		inc string
		e   stream.Entry
	}{
		"another life":  {"bb", entry(5, 4, stream.KindText, "wrong")},
		"another epoch": {"aa", entry(9, 4, stream.KindText, "wrong")},
		"a gap":         {"aa", entry(5, 5, stream.KindText, "d")},
	} {
		t.Run(name, func(t *testing.T) {
			b := running()
			bubble(t, b, func(t *testing.T, h *stream.Hub) {
				s, v := attach(t, h, "aa.5:3")
				defer s.Close()
				require.Nil(t, v.Document)
				b.add(entry(5, 4, stream.KindText, "c"), entry(5, 5, stream.KindText, "d"))
				h.Offer(key, wrong.inc, wrong.e)
				events := pull(t, s)
				require.Equal(t, "cd", text(events))
				require.EqualValues(t, 4, events[0].From)
			})
		})
	}
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, _ := attach(t, h, "aa.5:3")
		defer s.Close()
		synctest.Wait()
		before := b.pages
		h.Offer(key, "aa", entry(5, 4, stream.KindText, "c"))
		require.Equal(t, "c", text(pull(t, s)))
		require.Equal(t, before, b.pages, "the right copy needs no read")
	})
}

// A reader whose place in the log is gone gets the document, never text with a hole before it.
//
// contract: E9
func TestLostEntriesReset(t *testing.T) {
	for name, c := range map[string]struct {
		lose  func(*book)
		first uint64 // of the events behind the document
	}{
		"trimmed": {func(b *book) {
			b.entries = []stream.Entry{entry(9, 8, stream.KindStarted, `{"run":"r2"}`), entry(9, 9, stream.KindText, "x")}
			b.head.Start, b.head.Before, b.head.Fences = at(9, 8), at(5, 7), stream.Fences{{Epoch: 9, First: 8}}
		}, 9},
		"a marker behind lost entries": {func(b *book) {
			b.entries = []stream.Entry{entry(9, 7, stream.KindMarker, ""), entry(9, 8, stream.KindText, "x")}
			b.head.Start, b.head.Before, b.head.Fences = at(9, 7), at(9, 7), stream.Fences{{Epoch: 9, First: 8}}
		}, 8},
		"a lost tail": {func(b *book) { b.entries = b.entries[:3] }, 2},
		"another life": {func(b *book) {
			b.head.Incarnation, b.head.Start = "bb", at(9, 3)
			b.head.Before, b.head.Fences = at(9, 3), stream.Fences{{Epoch: 9, First: 4}}
			b.entries = []stream.Entry{entry(9, 3, stream.KindMarker, ""), entry(9, 4, stream.KindText, "x")}
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			b := running()
			bubble(t, b, func(t *testing.T, h *stream.Hub) {
				s, _ := attach(t, h, "aa.5:3")
				defer s.Close()
				b.change(c.lose)
				h.Wake(key)
				events := pull(t, s)
				require.NotEmpty(t, events)
				require.Equal(t, stream.EventReset, events[0].Kind)
				require.Equal(t, c.first-1, events[0].Seq)
				require.Equal(t, events[0].Reset.Cursor.String(), events[0].Cursor)
				require.Len(t, events, 2)
				require.Equal(t, c.first, events[1].From)
			})
		})
	}
}

// A log that keeps a hole (the store lost entries, and the owner stated the run again behind it) can be attached to: the hole stays
// until the next run has ended.
//
// contract: E9
func TestAttachBehindAHole(t *testing.T) {
	for name, settled := range map[string]bool{"running": false, "settled": true} {
		t.Run(name, func(t *testing.T) {
			b := running()
			b.add(entry(5, 6, stream.KindText, "behind the hole"), entry(9, 6, stream.KindMarker, ""),
				entry(9, 7, stream.KindRestated, `{"run":"r1"}`), entry(9, 8, stream.KindText, "ab"))
			b.head.Start, b.head.Epoch = at(9, 7), 9
			b.head.Fences = stream.Fences{{Epoch: 5, First: 1}, {Epoch: 9, First: 7}}
			want := "ab"
			if settled {
				b.add(entry(9, 9, stream.KindSettled, `{"run":"r1"}`))
				b.head.Run, b.head.Active, b.head.Start, want = "", nil, stream.EntryID{}, ""
			}
			bubble(t, b, func(t *testing.T, h *stream.Hub) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				s, v, err := h.Attach(ctx, key, "", func() {})
				require.NoError(t, err)
				defer s.Close()
				require.NotNil(t, v.Document)
				require.Equal(t, want, text(pull(t, s)))
			})
		})
	}
}

// After a take-over the reader is told the new epoch with its first entry, and its old cursors stop where the epoch did.
//
// contract: E8
func TestNewEpoch(t *testing.T) {
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, _ := attach(t, h, "aa.5:2")
		defer s.Close()
		b.add(entry(9, 3, stream.KindMarker, ""), entry(9, 4, stream.KindText, "c"))
		h.Wake(key)
		events := pull(t, s)
		require.Len(t, events, 2)
		require.Empty(t, events[0].Cursor)
		require.Equal(t, "aa.9:4", events[1].Cursor)
		require.EqualValues(t, 4, events[1].From)

		same, v := attach(t, h, "aa.9:4")
		defer same.Close()
		require.Nil(t, v.Document, "the cursor just given is accepted")
		other, v := attach(t, h, "aa.5:4")
		defer other.Close()
		require.NotNil(t, v.Document, "nothing was written under that epoch at 4")
	})
}

// Text and thinking never run into each other, and one pull stays near its limit.
func TestPullParts(t *testing.T) {
	b := running()
	for i := range uint64(40) {
		kind := stream.KindText
		if i%2 == 1 {
			kind = stream.KindReasoning
		}
		b.add(entry(5, 4+i, kind, strings.Repeat("x", 1000)))
	}
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, _ := attach(t, h, "aa.5:3")
		defer s.Close()
		events, more := s.Pull(4000)
		require.True(t, more)
		require.LessOrEqual(t, len(events), 4)
		for _, e := range events {
			require.Len(t, e.Text, 1000)
		}
	})
}

// What was stated again is never shown behind what it replaces: neither to who reads on nor to who comes back.
func TestRestatedResets(t *testing.T) {
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, _ := attach(t, h, "aa.5:3")
		defer s.Close()
		b.add(entry(5, 4, stream.KindRestated, `{"run":"r1"}`), entry(5, 5, stream.KindText, "ab"))
		b.change(func(b *book) { b.head.Start = at(5, 4) })
		h.Wake(key)
		events := pull(t, s)
		require.Len(t, events, 2)
		require.Equal(t, stream.EventReset, events[0].Kind)
		require.Equal(t, "ab", events[1].Text)

		back, v := attach(t, h, "aa.5:3")
		defer back.Close()
		require.NotNil(t, v.Document)
	})
}

// The log is read only after the subscription is confirmed, and again each time it is: between the two nothing can be missed.
//
// contract: E13
func TestSubscribeThenRead(t *testing.T) {
	b := running()
	b.silent = true
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		got := make(chan *stream.Subscription)
		go func() {
			s, _, err := h.Attach(t.Context(), key, "aa.5:3", func() {})
			if err != nil {
				t.Error(err)
			}
			got <- s
		}()
		synctest.Wait()
		require.Zero(t, b.pages)
		b.fn(stream.Wake{Confirmed: true})
		s := <-got
		defer s.Close()
		require.Empty(t, pull(t, s))
		b.add(entry(5, 4, stream.KindText, "c")) // while the subscription was away
		b.fn(stream.Wake{Confirmed: true})
		require.Equal(t, "c", text(pull(t, s)))
	})
}

// A document is followed only by the log that it belongs to.
func TestDocumentAndLogAgree(t *testing.T) {
	for name, f := range map[string]func(*stream.Snapshot){
		"ahead of the log": func(s *stream.Snapshot) { s.Top, s.Head.Run, s.Head.Active = at(5, 9), "", nil },
		"of another life":  func(s *stream.Snapshot) { s.Head.Incarnation = "bb" },
	} {
		t.Run(name, func(t *testing.T) {
			b := running()
			b.read = f
			bubble(t, b, func(t *testing.T, h *stream.Hub) {
				_, _, err := h.Attach(t.Context(), key, "", func() {})
				require.ErrorIs(t, err, stream.ErrUnavailable)
			})
		})
	}
	b := running()
	b.head.Version = 0
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		_, _, err := h.Attach(t.Context(), key, "", func() {})
		require.ErrorIs(t, err, stream.ErrNotFound)
	})
}

// A reader that missed exactly one turn is served from the log; one that missed more gets the document.
func TestWindowKeepsOneRun(t *testing.T) {
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		one, _ := attach(t, h, "aa.5:3")
		defer one.Close()
		h.Offer(key, "aa", entry(5, 4, stream.KindSettled, `{"run":"r1"}`))
		require.Len(t, pull(t, one), 1)
		two, v := attach(t, h, "aa.5:4")
		defer two.Close()
		require.Nil(t, v.Run, "idle after the end of the run")

		turn := func(first uint64) {
			h.Offer(key, "aa", entry(5, first, stream.KindStarted, `{"run":"r"}`), entry(5, first+1, stream.KindText, "x"),
				entry(5, first+2, stream.KindSettled, `{"run":"r"}`))
		}
		turn(5)
		events := pull(t, one)
		require.Len(t, events, 3)
		require.Equal(t, stream.EventStarted, events[0].Kind)
		turn(8)
		b.change(func(b *book) { // the store as the owner leaves it
			b.head.Run, b.head.Active, b.head.Start, b.head.Before = "", nil, stream.EntryID{}, at(5, 7)
			b.entries = []stream.Entry{
				entry(5, 8, stream.KindStarted, `{"run":"r"}`), entry(5, 9, stream.KindText, "x"), entry(5, 10, stream.KindSettled, `{"run":"r"}`),
			}
		})
		require.Equal(t, stream.EventStarted, pull(t, one)[0].Kind)
		events = pull(t, two)
		require.NotEmpty(t, events)
		require.Equal(t, stream.EventReset, events[0].Kind)
		require.EqualValues(t, 10, events[0].Seq)
	})
}

// A cursor is good for the life, the epoch and the part of the log that it was given for.
//
// contract: E8, E12
func TestAccepts(t *testing.T) {
	h := stream.Head{Incarnation: "aa", Before: at(3, 10), Fences: stream.Fences{{Epoch: 3, First: 5}, {Epoch: 5, First: 12}}}
	for cursor, want := range map[string]bool{
		"aa.3:10": true, "aa.3:11": true, "aa.5:12": true, "aa.5:13": true,
		"bb.5:13": false, "aa.3:9": false, "aa.4:10": false, "aa.5:11": false, "aa.3:12": false, "aa.5:14": false,
	} {
		c, err := stream.ParseCursor(cursor)
		require.NoError(t, err)
		require.Equal(t, want, h.Accepts(c, at(5, 13)), cursor)
	}
	for _, cursor := range []string{"aa.5:03", "aa.05:3", "aa.5:-3", "aa.5:+3", "aa.5:", ".5:3", "5:3", "aa.5"} {
		_, err := stream.ParseCursor(cursor)
		require.ErrorIs(t, err, stream.ErrBadID, cursor)
	}
	require.Len(t, h.Fences.Prune(11), 2, "entry 11 is still epoch 3's")
	require.Len(t, h.Fences.Prune(12), 1)
}
