package logtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
)

var stopCases = map[string]func(*testing.T, Backend){
	"accepted, late, unknown":                  stopAnswers,
	"a stop is told to the owner":              stopTold,
	"of a command before it is accepted":       stopBefore,
	"of a command after it is accepted":        stopAfter,
	"of a command that came too late":          stopVoid,
	"stops for commands cannot pile up":        stopsBounded,
	"a stop before acceptance may be repeated": stopBeforeTwice,
}

func (o *owner) cancel(s stream.Stop) stream.StopResult {
	o.t.Helper()
	r, err := o.b.Store.Cancel(o.t.Context(), o.key, s)
	require.NoError(o.t, err)
	return r
}

// A person who presses stop learns whether it came in time.
// contract: C10
func stopAnswers(t *testing.T, b Backend) {
	o := newOwner(t, b)
	require.Equal(t, stream.StopUnknown, o.cancel(stream.Stop{Run: hexID()}).Answer)
	require.Equal(t, stream.StopUnknown, o.cancel(stream.Stop{}).Answer)
	o.done(o.send("k1", "hi"))
	run := o.doc.Active.Run
	want := stream.StopResult{Answer: stream.StopAccepted, Run: run, Seq: 1}
	require.Equal(t, want, o.cancel(stream.Stop{Run: run, Who: "me"}))
	unchanged(t, b, o.key, func() { require.Equal(t, want, o.cancel(stream.Stop{Run: run, Who: "another tab"})) })
	o.done(o.settle("cancelled", ""))
	unchanged(t, b, o.key, func() {
		require.Equal(t, stream.StopResult{Answer: stream.StopLate, Run: run, Seq: 2}, o.cancel(stream.Stop{Run: run}))
	})
	// The stop of a run that ended does not reach the next one.
	o.done(o.send("k2", "more"))
	require.Equal(t, stream.StopLate, o.cancel(stream.Stop{Run: run}).Answer)
	o.done(o.settle("completed", "x"))
}

// The node that runs it hears of the stop at once, and of a repeated one again.
// case: FC48
func stopTold(t *testing.T, b Backend) {
	type told struct {
		key regen.Key
		run string
	}
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	run := o.doc.Active.Run
	heard := make(chan told, 1000)
	stop := b.Store.FollowNode(o.node, func(key regen.Key, run string) { heard <- told{key, run} })
	defer stop()
	// The subscription begins at some time; a stop may be repeated until it is heard.
	require.Eventually(t, func() bool {
		require.Equal(t, stream.StopAccepted, o.cancel(stream.Stop{Run: run}).Answer)
		return len(heard) > 0
	}, longest, pollEvery)
	require.Equal(t, told{o.key, run}, <-heard)
}

// Stop pressed before the receipt came: the prompt is kept, and its run can only end as cancelled.
// case: FC52
func stopBefore(t *testing.T, b Backend) {
	o := newOwner(t, b)
	require.Equal(t, stream.StopResult{Answer: stream.StopAccepted}, o.cancel(stream.Stop{Of: "k1", Who: "me"}))
	s := o.send("k1", "hi")
	require.True(t, o.done(s).Stopped)
	require.True(t, o.write(s.Change, stream.StatusKnown).Stopped)
	o.refused(o.settle("completed", "x").Change, stream.StatusStopped)
	o.done(o.settle("cancelled", ""))
	require.False(t, o.done(o.send("k2", "more")).Stopped)
	o.done(o.settle("completed", "y"))
}

// Stop pressed when the receipt was on its way, or when all was over.
func stopAfter(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	run := o.doc.Active.Run
	require.Equal(t, stream.StopResult{Answer: stream.StopAccepted, Run: run, Seq: 1}, o.cancel(stream.Stop{Of: "k1"}))
	o.refused(o.settle("completed", "x").Change, stream.StatusStopped)
	o.done(o.settle("cancelled", ""))
	require.Equal(t, stream.StopLate, o.cancel(stream.Stop{Of: "k1"}).Answer)
	o.done(o.send("k2", "more"))
	require.Equal(t, stream.StopResult{Answer: stream.StopLate, Run: run, Seq: 3}, o.cancel(stream.Stop{Of: "k1"}))
	o.done(o.settle("completed", "x"))
}

// A stop for a command that never came does not strike a later one that uses the name again.
func stopVoid(t *testing.T, b Backend) {
	o := newOwner(t, b)
	record := "hf1:{" + o.key.String() + "}:cancel"
	for _, c := range []struct {
		age  int64
		stop bool
	}{{59_000, true}, {61_000, false}} {
		now := o.read(stream.Query{HeadOnly: true}).Now
		require.NoError(t, b.Do(t.Context(), "HSET", record, "k:key", fmt.Sprintf("%d me", now-c.age)))
		s := o.send("key", "hi")
		require.Equal(t, c.stop, o.done(s).Stopped)
		if c.stop {
			o.done(o.settle("cancelled", ""))
			require.NoError(t, b.Do(t.Context(), "HDEL", "hf1:{"+o.key.String()+"}:keys", "key"))
			continue
		}
		o.done(o.settle("completed", "x"))
	}
	require.NoError(t, b.Do(t.Context(), "HINCRBY", record, "k:key", 1), "what is void was consumed all the same")
}

// A second press does not make the first one younger than it is, nor void.
func stopBeforeTwice(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.cancel(stream.Stop{Of: "k1"})
	unchanged(t, b, o.key, func() {
		require.Equal(t, stream.StopResult{Answer: stream.StopAccepted}, o.cancel(stream.Stop{Of: "k1"}))
	})
	require.True(t, o.done(o.send("k1", "hi")).Stopped)
}

// A client that stops commands it never sends cannot fill the store, and does not keep others from stopping theirs for long.
func stopsBounded(t *testing.T, b Backend) {
	o := newOwner(t, b)
	for i := range 64 {
		require.Equal(t, stream.StopAccepted, o.cancel(stream.Stop{Of: fmt.Sprint("k", i)}).Answer)
	}
	unchanged(t, b, o.key, func() { require.Equal(t, stream.StopUnknown, o.cancel(stream.Stop{Of: "one more"}).Answer) })
	now := o.read(stream.Query{HeadOnly: true}).Now
	require.NoError(t, b.Do(t.Context(), "HSET", "hf1:{"+o.key.String()+"}:cancel", "k:k0", fmt.Sprintf("%d me", now-60_000)))
	require.Equal(t, stream.StopAccepted, o.cancel(stream.Stop{Of: "one more"}).Answer)
}
