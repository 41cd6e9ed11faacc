package stream_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"holdfast/stream"
)

// A reader that does not read costs a position: however much comes meanwhile, it gets it in bounded pieces, whole, and the end too.
// contract: E2, E14
func TestSlowReaderGetsTheEnd(t *testing.T) {
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, _ := attach(t, h, "aa.5:3")
		defer s.Close()
		synctest.Wait()
		var want strings.Builder
		const n = 20_000
		for i := range uint64(n) {
			word := fmt.Sprintf("w%d ", i)
			want.WriteString(word)
			h.Offer(key, "aa", entry(5, 4+i, stream.KindText, word))
		}
		h.Offer(key, "aa", entry(5, 4+n, stream.KindSettled, `{"run":"r1","outcome":"completed"}`))
		got, next := "", uint64(4)
		for more := true; more; {
			var events []stream.Event
			events, more = s.Pull(4000)
			size := 0
			for _, e := range events {
				require.Equal(t, next, e.From)
				next = e.Seq + 1
				size += len(e.Text)
				if e.Kind == stream.EventSettled {
					require.False(t, more)
					require.Equal(t, want.String(), got)
					require.Equal(t, uint64(4+n), e.Seq)
				}
				got += e.Text
			}
			require.Less(t, size, 8000, "a piece is near its limit")
		}
		require.Equal(t, uint64(5+n), next)
	})
	// However it left, nothing follows the session any more.
	b = running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		one, _ := attach(t, h, "aa.5:3")
		two, _ := attach(t, h, "")
		one.Close()
		one.Close()
		require.Equal(t, 1, h.Followed())
		two.Close()
		require.Zero(t, h.Followed())
		b.change(func(b *book) { b.head.Version = 0 })
		_, _, err := h.Attach(t.Context(), key, "", func() {})
		require.Error(t, err)
		require.Zero(t, h.Followed(), "a refused attach leaves nothing")
	})
}

// Whether a reader has a hole before it is seen from its own place in the log: nobody else's coming and going hides it.
// contract: E3, E9
func TestHoleIsSeenWhoeverElseReads(t *testing.T) {
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		behind, _ := attach(t, h, "aa.5:2")
		defer behind.Close()
		b.change(func(b *book) { // this run ended and another began and ended: the log keeps the last one
			b.entries = []stream.Entry{entry(5, 8, stream.KindStarted, `{"run":"r2"}`), entry(5, 9, stream.KindSettled, `{"run":"r2"}`)}
			b.head.Run, b.head.Active, b.head.Start, b.head.Before = "", nil, stream.EntryID{}, at(5, 7)
		})
		h.Wake(key)
		synctest.Wait()
		for range 3 { // others come, read and go
			s, _ := attach(t, h, "")
			require.Empty(t, pull(t, s))
			s.Close()
		}
		events := pull(t, behind)
		require.NotEmpty(t, events)
		require.Equal(t, stream.EventReset, events[0].Kind, "not the end of a run that it never saw begin")
	})
}

// An entry that nobody can read stops nobody: what follows it comes, and the end of the run too.
// contract: E5, E6
func TestBrokenEntryStopsNobody(t *testing.T) {
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, _ := attach(t, h, "aa.5:3")
		defer s.Close()
		b.add(entry(5, 4, stream.KindSession, `{"change":`), entry(5, 5, stream.KindText, "c"), entry(5, 6, stream.KindSettled, `not json`),
			entry(5, 7, stream.KindSession, `{"change":"title","title":"T"}`))
		h.Wake(key)
		events := pull(t, s)
		require.Len(t, events, 4)
		for i, e := range events {
			require.EqualValues(t, 4+i, e.Seq, "each with its own position")
		}
		require.Equal(t, "c", events[1].Text)
		require.Equal(t, stream.EventSettled, events[2].Kind)
		require.Equal(t, "T", events[3].Change.Title)
		again, v := attach(t, h, "aa.5:6")
		defer again.Close()
		require.Nil(t, v.Run, "the end counts")
	})
}

// Where replay meets live text nothing comes twice and nothing is missed, whichever of the two is quicker; a copy from another life of
// the log is none.
// contract: E1, E7
func TestReplayMeetsLive(t *testing.T) {
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, v := attach(t, h, "aa.5:1")
		defer s.Close()
		require.Nil(t, v.Document)
		h.Offer(key, "aa", entry(5, 2, stream.KindText, "a"), entry(5, 3, stream.KindText, "b"), entry(5, 4, stream.KindText, "c"))
		b.add(entry(5, 4, stream.KindText, "c"), entry(5, 5, stream.KindText, "d"))
		h.Wake(key)
		h.Offer(key, "aa", entry(5, 4, stream.KindText, "c"), entry(5, 5, stream.KindText, "d"))
		h.Offer(key, "zz", entry(5, 6, stream.KindText, "foreign"))
		require.Equal(t, "abcd", text(pull(t, s)))
		require.Empty(t, pull(t, s))
	})
}

// A cursor at the top gets nothing again; one that cannot be used, whatever is wrong with it, gets the document and then everything
// after it, and never a part.
// contract: E8, E12
func TestCursorIsServedWholeOrNotAtAll(t *testing.T) {
	for cursor, served := range map[string]bool{
		"aa.5:3": true, "aa.5:1": true, "": false, "junk": false, "bb.5:3": false, "aa.5:99": false, "aa.4:2": false, "aa.6:2": false, "aa.5:-1": false,
	} {
		b := running()
		bubble(t, b, func(t *testing.T, h *stream.Hub) {
			s, v := attach(t, h, cursor)
			defer s.Close()
			require.Equal(t, served, v.Document == nil, cursor)
			events := pull(t, s)
			switch {
			case cursor == "aa.5:3":
				require.Empty(t, events)
			case served:
				require.Equal(t, "ab", text(events))
			default: // the document is the one of the run's start: all of its text follows
				require.Equal(t, "aa.5:1", v.Cursor.String())
				require.Equal(t, "ab", text(events))
			}
		})
	}
}

// The end of a run is not the end of the subscription: a title, and the next run, come to the same reader.
// contract: E11
func TestSubscriptionOutlivesTheRun(t *testing.T) {
	b := running()
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, _ := attach(t, h, "aa.5:3")
		defer s.Close()
		h.Offer(key, "aa", entry(5, 4, stream.KindSettled, `{"run":"r1"}`), entry(5, 5, stream.KindSession, `{"change":"title","title":"T"}`),
			entry(5, 6, stream.KindStarted, `{"run":"r2"}`), entry(5, 7, stream.KindText, "x"))
		events := pull(t, s)
		var kinds []stream.EventKind
		for _, e := range events {
			kinds = append(kinds, e.Kind)
		}
		require.Equal(t, []stream.EventKind{stream.EventSettled, stream.EventSession, stream.EventStarted, stream.EventDelta}, kinds)
		require.Equal(t, "r2", events[3].Run)
	})
}

// A whole run that began and ended while nobody was told of anything reaches an idle reader with the next sign of life.
// contract: E13
func TestRunInTheGapIsTold(t *testing.T) {
	b := running()
	b.add(entry(5, 4, stream.KindSettled, `{"run":"r1"}`))
	b.change(func(b *book) { b.head.Run, b.head.Active, b.head.Start = "", nil, stream.EntryID{} })
	bubble(t, b, func(t *testing.T, h *stream.Hub) {
		s, v := attach(t, h, "aa.5:4")
		defer s.Close()
		require.Nil(t, v.Run)
		synctest.Wait() // the feed has read what its own beginning told it of
		b.add(entry(5, 5, stream.KindStarted, `{"run":"r2"}`), entry(5, 6, stream.KindText, "x"), entry(5, 7, stream.KindSettled, `{"run":"r2"}`))
		require.Empty(t, pull(t, s), "nobody said anything")
		b.fn(stream.Wake{Confirmed: true}) // the subscription is back
		events := pull(t, s)
		require.Len(t, events, 3)
		require.Equal(t, stream.EventStarted, events[0].Kind)
		require.Equal(t, stream.EventSettled, events[2].Kind)
	})
}
