package race_test

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog/embedded"
	"holdfast/stream/turn"
	"holdfast/tests/history"
	"holdfast/tests/race"
	"holdfast/tests/redistest"
)

var theKey = regen.Key{Tenant: "main", Session: "s1"}

// scene is a store with nodes whose models the test drives.
type scene struct {
	t     *testing.T
	opts  *redis.Options
	rdb   *redis.Client
	model map[*race.Node]*puppet
}

func newScene(t *testing.T, opts *redis.Options) *scene {
	return &scene{t: t, opts: opts, rdb: redistest.Client(t, opts), model: map[*race.Node]*puppet{}}
}

func (s *scene) node(name string, ttl time.Duration) *race.Node {
	model := newPuppet()
	n := race.NewNode(s.opts, race.NodeOptions{Name: name, Proc: name + "1", TTL: ttl, Source: model})
	s.t.Cleanup(n.Stop)
	s.model[n] = model
	return n
}

func (s *scene) do(n *race.Node, c regen.Command) (stream.Receipt, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	return n.Do(ctx, theKey, c)
}

func send(key, text string) regen.Command {
	return regen.Command{Op: regen.OpSend, Key: key, Content: regen.Text(text)}
}

// begin sends a prompt and gives the run's model call.
func (s *scene) begin(n *race.Node, key string) (stream.Receipt, *speech) {
	s.t.Helper()
	rec, err := s.do(n, send(key, "prompt "+key))
	require.NoError(s.t, err)
	return rec, wait(s.t, s.model[n].calls, "a model call")
}

func (s *scene) say(c *speech, words ...string) {
	s.t.Helper()
	for _, w := range words {
		give(s.t, c.say, turn.Delta{Kind: turn.Text, Text: w})
	}
}

func (s *scene) end(c *speech) { s.t.Helper(); give(s.t, c.say, turn.Delta{Finish: "stop"}) }

func (s *scene) dump() history.Store {
	s.t.Helper()
	d, err := history.Dump(s.t.Context(), s.rdb, theKey)
	require.NoError(s.t, err)
	return d
}

// restore puts a session back to what it was, as a store does that comes back with older data.
func (s *scene) restore(d history.Store) {
	s.t.Helper()
	ctx, tag := s.t.Context(), "hf1:{"+theKey.String()+"}:"
	for name, m := range map[string]map[string]string{"lease": d.Lease, "head": d.Head, "doc": d.Doc, "cancel": d.Cancel, "keys": d.Keys} {
		require.NoError(s.t, s.rdb.Del(ctx, tag+name).Err())
		if len(m) > 0 {
			require.NoError(s.t, s.rdb.HSet(ctx, tag+name, m).Err())
		}
	}
	for name, l := range map[string][]string{"rows": d.Rows, "ctx": d.Context} {
		require.NoError(s.t, s.rdb.Del(ctx, tag+name).Err())
		for _, x := range l {
			require.NoError(s.t, s.rdb.RPush(ctx, tag+name, x).Err())
		}
	}
	require.NoError(s.t, s.rdb.Del(ctx, tag+"log").Err())
	for _, e := range d.Log {
		require.NoError(s.t, s.rdb.XAdd(ctx, &redis.XAddArgs{Stream: tag + "log", ID: e.ID.String(), Values: []string{string(e.Kind), e.Data}}).Err())
	}
}

// page is one reader.
type page struct {
	t      *testing.T
	sub    *stream.Subscription
	view   stream.View
	ready  chan struct{}
	events []stream.Event
	text   strings.Builder
	resets int
}

func (s *scene) read(n *race.Node, cursor string) *page {
	s.t.Helper()
	p := &page{t: s.t, ready: make(chan struct{}, 1)}
	var err error
	p.sub, p.view, err = n.Hub.Attach(s.t.Context(), theKey, cursor, func() {
		select {
		case p.ready <- struct{}{}:
		default:
		}
	})
	require.NoError(s.t, err)
	s.t.Cleanup(p.sub.Close)
	return p
}

func (p *page) until(what string, ok func(stream.Event) bool) stream.Event {
	p.t.Helper()
	for {
		if len(p.events) == 0 {
			p.events, _ = p.sub.Pull(1 << 20)
		}
		for len(p.events) > 0 {
			ev := p.events[0]
			p.events = p.events[1:]
			switch ev.Kind {
			case stream.EventDelta:
				p.text.WriteString(ev.Text)
			case stream.EventReset:
				p.resets++
				p.text.Reset()
			}
			if ok(ev) {
				return ev
			}
		}
		wait(p.t, p.ready, what)
	}
}

func (p *page) settled() *stream.Settled {
	p.t.Helper()
	return p.until("the end", func(e stream.Event) bool { return e.Kind == stream.EventSettled }).Settled
}

func (p *page) said(text string) {
	p.t.Helper()
	if p.text.String() != text {
		p.until(text, func(stream.Event) bool { return p.text.String() == text })
	}
}

// ghost runs a command whose answer nobody hears; while it does, the hook must let it pass.
func ghost(srv *embedded.Server, command []string) {
	srv.Miniredis().Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), command)
}

// An owner from a future that the store forgot writes nothing behind the rightful one.
// attack: 2
func TestAttack02_StaleHigherEpoch(t *testing.T) {
	srv := redistest.Embedded(t)
	s := newScene(t, srv.Options())
	base := time.Now().Truncate(time.Second)
	srv.Miniredis().SetTime(base)
	a, c := s.node("a", time.Hour), s.node("c", time.Hour)
	_, first := s.begin(a, "k0")
	p := s.read(a, "")
	s.end(first)
	p.settled()
	old := s.dump()
	srv.Miniredis().SetTime(base.Add(time.Minute))
	b := s.node("b", time.Hour)
	_, future := s.begin(b, "k1")
	s.say(future, "from the future ")
	p.until("a token", func(e stream.Event) bool { return e.Text != "" })
	s.restore(old)
	srv.Miniredis().SetTime(base.Add(time.Second)) // a new master's clock is behind
	b.Reach(false)
	b.Reach(true) // fail-over: connections are made again
	rec, now := s.begin(c, "k2")
	s.say(future, "stale")
	s.say(now, "right ")
	q := s.read(c, rec.Cursor)
	q.said("right ")
	wait(t, future.ctx.Done(), "the end of the stale owner's model call")
	s.end(now)
	require.Equal(t, "completed", q.settled().Outcome)
	for _, e := range s.dump().Log {
		require.NotContains(t, e.Data, "stale")
		require.NotContains(t, e.Data, "future")
	}
}

// A cursor of entries that the store lost is not taken for one of the entries that came in their place.
// attack: 3
func TestAttack03_CursorOfLostEpoch(t *testing.T) {
	s := newScene(t, redistest.Mini(t))
	a := s.node("a", time.Second)
	rec, c := s.begin(a, "k1")
	p := s.read(a, rec.Cursor)
	s.say(c, "one ")
	p.said("one ")
	s.say(c, "two ")
	p.said("one two ")
	d := s.dump()
	seen := stream.Cursor{Incarnation: d.Head["inc"], ID: d.Log[len(d.Log)-1].ID}
	a.Kill()
	require.NoError(t, s.rdb.XDel(t.Context(), "hf1:{"+theKey.String()+"}:log", seen.ID.String()).Err())
	b := s.node("b", time.Second)
	q := s.read(b, rec.Cursor)
	q.settled()
	view := s.read(b, seen.String()).view
	require.NotNil(t, view.Document, "the cursor %s was accepted", seen)
	require.NotEqual(t, seen.ID.Epoch, view.Cursor.ID.Epoch)
}

// The bytes of a token that its owner had given up arrive after the answer has ended: nothing comes behind the end.
// attack: 4
func TestAttack04_DelayedConnection(t *testing.T) {
	srv := redistest.Embedded(t)
	s := newScene(t, srv.Options())
	a := s.node("a", 0)
	rec, c := s.begin(a, "k1")
	p := s.read(a, rec.Cursor)
	late := make(chan []string, 1)
	var done atomic.Bool
	srv.SetHook(func(peer *server.Peer, name string, args ...string) bool {
		held := name == "XADD" && slices.Contains(args, "nomkstream") && done.CompareAndSwap(false, true)
		if held {
			late <- append([]string{name}, args...)
			peer.Close()
		}
		return held
	})
	s.say(c, "word ")
	command := wait(t, late, "an append")
	p.said("word ")
	s.end(c)
	p.settled()
	before := s.dump().Log
	ghost(srv, command)
	require.Equal(t, before, s.dump().Log)
	require.Zero(t, p.resets)
}

// An acceptance whose answer was lost, a take-over, and then the repeat: one press, one turn.
// attack: 5
func TestAttack05_AcceptUnknownThenTakeOver(t *testing.T) {
	srv := redistest.Embedded(t)
	s := newScene(t, srv.Options())
	a := s.node("a", time.Second)
	_, first := s.begin(a, "k0")
	p := s.read(a, "")
	s.end(first)
	p.settled()
	lost := make(chan struct{})
	var done atomic.Bool
	srv.SetHook(func(peer *server.Peer, name string, args ...string) bool {
		accept := name == "EVALSHA" && slices.Contains(args, "k1") && slices.Contains(args, string(stream.KindStarted))
		hit := accept && done.CompareAndSwap(false, true)
		if hit {
			ghost(srv, append([]string{name}, args...))
			a.Reach(false)
			peer.Close()
			close(lost)
		}
		return hit
	})
	type result struct {
		rec stream.Receipt
		err error
	}
	answered := make(chan result, 1)
	go func() {
		rec, err := s.do(a, send("k1", "prompt k1"))
		answered <- result{rec, err}
	}()
	wait(t, lost, "the acceptance")
	b := s.node("b", time.Second)
	q := s.read(b, "")
	require.Equal(t, "interrupted", q.settled().Outcome)
	run := s.dump().Head["last"]
	a.Reach(true)
	if got := wait(t, answered, "the answer"); got.err == nil {
		require.Equal(t, run, got.rec.Run)
	} else {
		require.ErrorIs(t, got.err, stream.ErrUnavailable)
	}
	again, err := s.do(a, send("k1", "prompt k1"))
	require.NoError(t, err)
	require.Equal(t, run, again.Run)
	require.True(t, again.Repeat)
	require.Equal(t, 1, strings.Count(strings.Join(s.dump().Rows, "\n"), "prompt k1"))
}

// A command that is repeated to another node while it runs gets its receipt: not "busy" for the person's own run, and no second one.
// attack: 5
func TestAttack05_OwnKeyBusyOnOtherNode(t *testing.T) {
	s := newScene(t, redistest.Mini(t))
	a, b := s.node("a", 0), s.node("b", 0)
	rec, c := s.begin(a, "k1")
	for _, busy := range []string{"", turn.BusyReplace} {
		cmd := send("k1", "prompt k1")
		cmd.Busy = busy
		again, err := s.do(b, cmd)
		require.NoError(t, err)
		require.Equal(t, rec.Run, again.Run)
		require.True(t, again.Repeat)
	}
	require.NoError(t, c.ctx.Err(), "its own run was stopped")
	p := s.read(b, rec.Cursor)
	s.say(c, "all")
	s.end(c)
	require.Equal(t, "completed", p.settled().Outcome)
}

// A stop that was accepted wins, though nobody told the owner before the model was done.
// attack: 6
func TestAttack06_CancelBeforeCompletedWakeDropped(t *testing.T) {
	srv := redistest.Embedded(t)
	s := newScene(t, srv.Options())
	a, b := s.node("a", time.Hour), s.node("b", time.Hour)
	rec, c := s.begin(a, "k1")
	p := s.read(a, rec.Cursor)
	s.say(c, "some ")
	p.said("some ")
	srv.SetHook(func(peer *server.Peer, name string, _ ...string) bool {
		if name == "PUBLISH" {
			peer.WriteInt(0)
			return true
		}
		return false
	})
	res, err := b.Cancel(t.Context(), theKey, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, res.Answer)
	s.end(c)
	require.Equal(t, "cancelled", p.settled().Outcome)
}

// A command that is refused on a node that is not the owner writes nothing at all: no lease, no marker, no ghost.
// attack: 12
func TestAttack12_RefusedCommandZeroWritesOnNonOwner(t *testing.T) {
	s := newScene(t, redistest.Mini(t))
	a, b := s.node("a", time.Hour), s.node("b", time.Hour)
	_, err := s.do(b, regen.Command{Op: regen.OpRegenerate, Key: "k9", Revision: "r"})
	require.ErrorIs(t, err, stream.ErrNotFound)
	require.Empty(t, s.rdb.Keys(t.Context(), "hf1:{main/*").Val())
	_, c := s.begin(a, "k1")
	p := s.read(a, "")
	s.end(c)
	p.settled()
	before := s.dump()
	var stale *regen.StaleRevisionError
	_, err = s.do(b, regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: "old"})
	require.ErrorAs(t, err, &stale)
	_, err = s.do(b, regen.Command{Op: regen.OpRegenerate, Key: "k3"})
	require.ErrorAs(t, err, &stale)
	_, err = s.do(b, send("k4", ""))
	require.Error(t, err)
	after := s.dump()
	before.At, after.At = time.Time{}, time.Time{}
	before.Lease["until"], after.Lease["until"] = "", "" // the owner renews
	require.Equal(t, before, after)
}

// A tab on the node that owned an idle session sees at once what another node answers there.
// attack: 17
func TestAttack17_LocalReadersAfterIdleTakeOver(t *testing.T) {
	s := newScene(t, redistest.Mini(t))
	a, b := s.node("a", time.Hour), s.node("b", time.Hour)
	_, c := s.begin(a, "k1")
	p := s.read(a, "")
	s.end(c)
	p.settled()
	_, c = s.begin(b, "k2")
	s.say(c, "elsewhere ")
	p.until("a word", func(e stream.Event) bool { return e.Text == "elsewhere " })
	s.end(c)
	require.Equal(t, "completed", p.settled().Outcome)
	require.Zero(t, p.resets)
}

// Two tabs replace the running answer at the same time: it is stopped once, and neither cuts the other's.
// attack: 25
func TestAttack25_ReplaceStopsOneRun(t *testing.T) {
	s := newScene(t, redistest.Mini(t))
	a, b := s.node("a", time.Hour), s.node("b", time.Hour)
	_, old := s.begin(a, "k0")
	var wg sync.WaitGroup
	errs := make([]error, 2)
	recs := make([]stream.Receipt, 2)
	for i, n := range []*race.Node{a, b} {
		wg.Go(func() {
			cmd := send("k"+string('1'+rune(i)), "prompt")
			cmd.Busy = turn.BusyReplace
			recs[i], errs[i] = s.do(n, cmd)
		})
	}
	wg.Wait()
	wait(t, old.ctx.Done(), "the end of the replaced run")
	won := 0
	if errs[0] != nil {
		won = 1
	}
	require.NoError(t, errs[won])
	var busy *regen.BusyError
	require.ErrorAs(t, errs[1-won], &busy)
	require.Equal(t, recs[won].Run, busy.Run)
	require.Equal(t, recs[won].Run, s.dump().Head["run"])
}
