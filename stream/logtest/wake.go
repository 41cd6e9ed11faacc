package logtest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
)

const (
	// longest is how long a thing may take that is asked for again and again.
	longest   = 20 * time.Second
	pollEvery = 10 * time.Millisecond
)

var wakeCases = map[string]func(*testing.T, Backend){
	"confirmed, then copies":             wakeCopies,
	"an owner's coming wakes":            wakeAcquire,
	"each follower is confirmed":         wakeTwo,
	"nothing of another session":         wakeOther,
	"following again after the last one": wakeAgain,
}

// follow gives a session's wakes.
func follow(t *testing.T, b Backend, key regen.Key) (<-chan stream.Wake, func()) {
	got := make(chan stream.Wake, 10_000)
	stop := b.Store.Follow(key, func(w stream.Wake) { got <- w })
	t.Cleanup(stop)
	return got, stop
}

// confirmed waits until a subscription is in force; wakes that come before it are of no account.
func confirmed(t *testing.T, got <-chan stream.Wake) {
	t.Helper()
	for !await(t, got).Confirmed {
	}
}

// copies gathers n copied entries. One may come twice, never before the one that it follows.
func copies(t *testing.T, got <-chan stream.Wake, inc string, n int) (out []stream.Entry) {
	t.Helper()
	for len(out) < n {
		w := await(t, got)
		if len(w.Entries) > 0 {
			require.Equal(t, inc, w.Incarnation)
		}
		for _, e := range w.Entries {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// A tab on another node gets each token with its position, after the log has it.
// contract: E1, E6
func wakeCopies(t *testing.T, b Backend) {
	o := newOwner(t, b)
	got, _ := follow(t, b, o.key)
	confirmed(t, got)
	o.done(o.send("k1", "hi"))
	o.token("a\nb 1")
	o.token("c")
	o.done(o.settle("completed", "ab"))
	// A refused append is told to nobody.
	o.notAppended(o.at, "ghost")
	o.done(o.send("k2", "more"))
	require.Equal(t, o.page().Entries[1:], copies(t, got, o.inc, 5))
}

// Those who watch an idle session learn that another node took it.
func wakeAcquire(t *testing.T, b Backend) {
	o := newOwner(t, b)
	got, _ := follow(t, b, o.key)
	confirmed(t, got)
	acquire(t, b, o.key, o.doc)
	require.Equal(t, stream.Wake{}, await(t, got))
}

// A second follower of the same session is told when it may begin to read, and one that leaves takes nothing from the other.
func wakeTwo(t *testing.T, b Backend) {
	o := newOwner(t, b)
	one, _ := follow(t, b, o.key)
	confirmed(t, one)
	two, leave := follow(t, b, o.key)
	confirmed(t, two)
	o.done(o.send("k1", "hi"))
	require.Len(t, copies(t, one, o.inc, 1), 1)
	require.Len(t, copies(t, two, o.inc, 1), 1)
	leave()
	leave()
	o.done(o.settle("completed", "x"))
	require.Len(t, copies(t, one, o.inc, 1), 1)
}

// Followers hear of their own session alone.
func wakeOther(t *testing.T, b Backend) {
	o, other := newOwner(t, b), newOwner(t, b)
	got, _ := follow(t, b, o.key)
	confirmed(t, got)
	other.done(other.send("k1", "secret"))
	o.done(o.send("k1", "mine"))
	for _, e := range copies(t, got, o.inc, 1) {
		require.Equal(t, o.at, e.ID)
	}
}

// A session that nobody followed for a moment can be followed again.
func wakeAgain(t *testing.T, b Backend) {
	o := newOwner(t, b)
	for range 20 {
		_, stop := follow(t, b, o.key)
		stop()
	}
	got, _ := follow(t, b, o.key)
	confirmed(t, got)
	require.Eventually(t, func() bool { // a confirmation may be of an earlier one, but then the last one's follows
		if r := o.append(o.at.Next(), "x"); r.Status == stream.AppendDone {
			o.at = o.at.Next()
		}
		for len(got) > 0 {
			if w := <-got; len(w.Entries) > 0 {
				return true
			}
		}
		return false
	}, longest, pollEvery)
}
