package turn_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/ownership/redislease"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog"
	"holdfast/stream/turn"
)

// The tests of this file were written against deliberate faults of the engine (tests/mutate): what it makes of answers that never came.

var errNoAnswer = &stream.UnknownError{Err: errors.New("no answer")}

// spyLog is a store whose answers get lost, and that remembers what it was asked to append.
type spyLog struct {
	*redislog.Store
	mu    sync.Mutex
	bytes map[stream.EntryID][]string // per id, what was sent under it
	// loseAppend says of the nth append (from 1) whether it is applied and whether its answer comes; loseWrite likewise.
	loseAppend, loseWrite func(n int) (applied, answered bool)
	appends, writes       int
	hold                  chan struct{} // answers that are lost come when it is closed
	begun                 chan struct{} // closed by the first append
	checks                atomic.Int64
	loseCancels           atomic.Int64  // how many stops get no answer
	moved                 atomic.Uint64 // connections that were replaced unseen
}

func (s *spyLog) Append(key regen.Key, e stream.Entry, done func(stream.AppendResult)) {
	s.mu.Lock()
	if s.appends++; s.appends == 1 {
		close(s.begun)
	}
	s.bytes[e.ID] = append(s.bytes[e.ID], e.Data)
	applied, answered := true, true
	if s.loseAppend != nil {
		applied, answered = s.loseAppend(s.appends)
	}
	s.mu.Unlock()
	lost := stream.AppendResult{Status: stream.AppendUnknown, Err: errNoAnswer}
	switch {
	case !applied:
		tail, _ := s.Store.Check(context.Background(), key) // the connection count that the caller expects: it is not what tells
		lost.Conn = tail.Conn
		go func() {
			<-s.hold
			done(lost)
		}()
	case !answered:
		s.Store.Append(key, e, func(r stream.AppendResult) {
			lost.Conn = r.Conn
			go func() {
				<-s.hold
				done(lost)
			}()
		})
	default:
		s.Store.Append(key, e, func(r stream.AppendResult) {
			r.Conn += s.moved.Load()
			done(r)
		})
	}
}

func (s *spyLog) Check(ctx context.Context, key regen.Key) (stream.Tail, error) {
	defer s.checks.Add(1)
	tail, err := s.Store.Check(ctx, key)
	tail.Conn += s.moved.Load()
	return tail, err
}

func (s *spyLog) appended() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appends
}

func (s *spyLog) Write(ctx context.Context, key regen.Key, c *stream.Change) (stream.WriteResult, error) {
	s.mu.Lock()
	s.writes++
	applied, answered := true, true
	if s.loseWrite != nil {
		applied, answered = s.loseWrite(s.writes)
	}
	s.mu.Unlock()
	if !applied {
		return stream.WriteResult{}, errNoAnswer
	}
	res, err := s.Store.Write(ctx, key, c)
	if !answered {
		return stream.WriteResult{}, errNoAnswer
	}
	return res, err
}

func (s *spyLog) Cancel(ctx context.Context, key regen.Key, stop stream.Stop) (stream.StopResult, error) {
	if s.loseCancels.Add(-1) >= 0 {
		return stream.StopResult{}, errNoAnswer
	}
	return s.Store.Cancel(ctx, key, stop)
}

// blindLeases answers no renewal while it is blind: the owner can write, and does not know whether it may.
type blindLeases struct {
	*redislease.Store
	blind atomic.Bool
}

func (b *blindLeases) Renew(ctx context.Context, rs []ownership.Renewal) ([]ownership.Renewed, error) {
	if b.blind.Load() {
		return nil, &ownership.UnknownError{Err: errors.New("no answer")}
	}
	return b.Store.Renew(ctx, rs)
}

// notYet has seen too little of every owner to say that it is gone.
type notYet struct{}

func (notYet) Observe(ownership.Lease, int64) (bool, time.Duration) { return false, time.Second }

// spied is a node whose store is a spy.
type spied struct {
	*node
	opts   *redis.Options
	spy    *spyLog
	leases *blindLeases
	doubt  chan bool
}

func newSpied(t *testing.T, ttl ownership.Config) *spied {
	t.Helper()
	opts := newStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	n := &spied{node: &node{name: "a", model: &model{calls: make(chan *call, 64)}}, doubt: make(chan bool, 64), opts: opts}
	n.log = redislog.New(redislog.Single(opts), redislog.Options{PingEvery: -1, Timeout: limit})
	client := redis.NewClient(opts)
	n.spy = &spyLog{Store: n.log, bytes: map[stream.EntryID][]string{}, hold: make(chan struct{}), begun: make(chan struct{})}
	n.leases = &blindLeases{Store: redislease.New(client, redislease.Options{})}
	ttl.Node, ttl.Proc = "a", "a-1"
	ttl.Events.Doubt = func(_ string, doubtful bool) { n.doubt <- doubtful }
	n.keeper = ownership.NewKeeper(n.leases, ttl)
	n.hub = stream.NewHub(n.log, n.log, stream.HubConfig{})
	n.Engine = turn.New(n.spy, n.keeper, notYet{}, n.hub, n.model, turn.Config{
		Node: "a", Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.log.Run(ctx) })
	wg.Go(func() { _ = n.keeper.Run(ctx) })
	t.Cleanup(func() {
		n.hub.Close()
		n.Engine.Close()
		cancel()
		wg.Wait()
		_ = n.log.Close()
		_ = client.Close()
	})
	return n
}

// pushed waits until all that the model said waits for the log: the next delta is taken when the one before was pushed.
func (c *call) pushed(t *testing.T) {
	t.Helper()
	c.send(t, turn.Delta{Kind: turn.Text})
}

// talk runs one turn of the words and proves that a reader saw them once, in order, without a reset, and the document has them.
func (n *spied) talk(t *testing.T, words ...string) {
	t.Helper()
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	all := ""
	for _, w := range words {
		c.text(t, w)
		all += w
		wait(t, n.spy.begun, "the first append") // the others wait behind it
	}
	c.pushed(t)
	close(n.spy.hold)
	r.textIs(all)
	c.end(t)
	require.Equal(t, "completed", r.settled().Outcome)
	require.Equal(t, all, r.text.String())
	require.Zero(t, r.resets)
	snap := n.snapshot(t)
	require.Len(t, snap.Document.Rows, 2)
	require.Equal(t, all, snap.Document.Rows[1].Row.Content.Text())
	require.Empty(t, snap.Head.Run)
}

// An append without an answer is asked about: applied or not, its words are seen once, and an id never carries other bytes.
func TestUnknownAppends(t *testing.T) {
	for name, applied := range map[string]bool{"applied": true, "not applied": false} {
		t.Run(name, func(t *testing.T) {
			n := newSpied(t, ownership.Config{})
			n.spy.loseAppend = func(i int) (bool, bool) { return applied || i%2 == 0, i%2 == 0 }
			n.talk(t, "a", "b", "c", "d", "e", "f", "g", "h")
			n.spy.mu.Lock()
			defer n.spy.mu.Unlock()
			for id, sent := range n.spy.bytes {
				for _, data := range sent {
					require.Equal(t, sent[0], data, "under id %s", id)
				}
			}
		})
	}
}

// An acceptance and a settlement without an answer are sent again as they were: one turn, one receipt, one end.
func TestUnknownWrites(t *testing.T) {
	for name, applied := range map[string]bool{"applied": true, "not applied": false} {
		t.Run(name, func(t *testing.T) {
			n := newSpied(t, ownership.Config{})
			n.spy.loseWrite = func(i int) (bool, bool) { return applied || i%2 == 0, i%2 == 0 }
			n.talk(t, "a", "b")
			rec := n.send(t, "k1", "hello")
			require.True(t, rec.Repeat)
		})
	}
}

// An owner that cannot be sure accepts nothing and shows nothing, though its writes would pass; what the model said meanwhile comes
// when it is sure again.
func TestUnsureOwnerIsSilent(t *testing.T) {
	ttl := limit / 20
	n := newSpied(t, ownership.Config{TTL: ttl, Doubt: limit})
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	c.text(t, "before ")
	r.textIs("before ")
	n.leases.blind.Store(true)
	for !wait(t, n.doubt, "the doubt") {
	}
	appends := n.spy.appended()
	c.text(t, "meanwhile ")
	c.pushed(t)
	for range 2 { // a step of the actor, which has the words by then
		_, err := n.do(t, regen.Command{Op: regen.OpSend, Key: "k2", Content: regen.Text("now?")})
		require.ErrorIs(t, err, stream.ErrUnavailable)
	}
	require.Equal(t, appends, n.spy.appended())
	n.leases.blind.Store(false)
	c.text(t, "after")
	r.textIs("before meanwhile after")
	c.end(t)
	require.Equal(t, "completed", r.settled().Outcome)
	require.Zero(t, r.resets)
}

// Nor does it send again what got no answer.
func TestUnsureOwnerSendsNothingAgain(t *testing.T) {
	n := newSpied(t, ownership.Config{TTL: limit / 20, Doubt: limit})
	n.spy.loseAppend = func(i int) (bool, bool) { return i != 1, i != 1 }
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	c.text(t, "lost")
	n.leases.blind.Store(true)
	for !wait(t, n.doubt, "the doubt") {
	}
	refused := func() { // a step of the actor
		_, err := n.do(t, regen.Command{Op: regen.OpSend, Key: "k2", Content: regen.Text("now?")})
		require.ErrorIs(t, err, stream.ErrUnavailable)
	}
	before := n.spy.checks.Load()
	close(n.spy.hold) // now it learns that nobody knows, and asks
	for n.spy.checks.Load() == before {
		refused()
	}
	refused()
	require.Equal(t, 1, n.spy.appended())
	n.leases.blind.Store(false)
	r.textIs("lost")
	c.end(t)
	require.Equal(t, "completed", r.settled().Outcome)
}

// A word is taken by a store that lost the one before it, over a connection that was replaced without an error to anybody: the person
// gets a reset and the whole text.
func TestHiddenReconnectIsNotTrusted(t *testing.T) {
	n := newSpied(t, ownership.Config{})
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	for _, w := range []string{"one ", "two "} {
		c.text(t, w)
		r.until(w, func(e stream.Event) bool { return e.Text == w })
	}
	rdb := redis.NewClient(n.opts)
	defer func() { _ = rdb.Close() }()
	require.NoError(t, rdb.XDel(t.Context(), sessionKey("log"), n.snapshot(t).Top.String()).Err())
	n.spy.moved.Add(1)
	c.text(t, "three")
	r.until("a reset", isReset)
	r.textIs("one two three")
	c.end(t)
	require.Contains(t, string(r.settled().Rows[1]), "one two three")
}

// A hole that lies deeper than the last words is found, too, when the store is asked about words that did not arrive.
func TestHoleBehindTheTop(t *testing.T) {
	n := newSpied(t, ownership.Config{})
	n.spy.loseAppend = func(i int) (bool, bool) { return i != 4, i != 4 }
	close(n.spy.hold)
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	for _, w := range []string{"one ", "two ", "three "} {
		c.text(t, w)
		r.until(w, func(e stream.Event) bool { return e.Text == w })
	}
	rdb := redis.NewClient(n.opts)
	defer func() { _ = rdb.Close() }()
	top := n.snapshot(t).Top
	top.Seq--
	require.NoError(t, rdb.XDel(t.Context(), sessionKey("log"), top.String()).Err())
	c.text(t, "four")
	r.until("a reset", isReset)
	r.textIs("one two three four")
	c.end(t)
	require.Contains(t, string(r.settled().Rows[1]), "one two three four")
}

// A busy session whose lease has run out is not taken before its owner was seen to be gone: a store that was away ends every lease, and
// no owner.
// contract: B5
func TestExpiredLeaseAloneIsNoProof(t *testing.T) {
	n := newSpied(t, ownership.Config{})
	b := newNode(t, "b", n.opts, nodeOptions{})
	rec := b.send(t, "k1", "hello")
	b.model.next(t)
	b.stop()
	rdb := redis.NewClient(n.opts)
	defer func() { _ = rdb.Close() }()
	require.NoError(t, rdb.HSet(t.Context(), sessionKey("lease"), "until", "1").Err())
	_, err := n.do(t, regen.Command{Op: regen.OpSend, Key: "k2", Content: regen.Text("now?")})
	var busy *regen.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, rec.Run, busy.Run)
	require.Equal(t, "b", n.snapshot(t).Lease.Node)
}

// The log holds the last turn alone.
func TestLogHoldsOneTurn(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	n.model.next(t).end(t)
	r.settled()
	rec := n.send(t, "k2", "again")
	n.model.next(t).end(t)
	r.settled()
	page, err := n.log.Page(t.Context(), key, stream.EntryID{}, 100)
	require.NoError(t, err)
	require.Equal(t, stream.KindStarted, page.Entries[0].Kind)
	require.Contains(t, page.Entries[0].Data, rec.Run)
}

// A stop that comes late, for a run that has ended, does nothing to the run that is active now.
// contract: C2
func TestStopOfAnotherRunIsIgnored(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	n.Stopped(key, "ffffffffffffffffffffffffffffffff")
	for range 20 { // each is a step of the actor; the stop is one of those before
		_, err := n.do(t, regen.Command{Op: regen.OpSend, Key: "k2", Content: regen.Text("now?")})
		var busy *regen.BusyError
		require.ErrorAs(t, err, &busy)
	}
	c.text(t, "all of it")
	c.end(t)
	require.Equal(t, "completed", r.settled().Outcome)
}

// A stop without an answer is sent again: recording it twice is recording it once.
// contract: C10
func TestUnknownStopIsSentAgain(t *testing.T) {
	n := newSpied(t, ownership.Config{})
	rec := n.send(t, "k1", "hello")
	r := n.read(t, rec.Cursor)
	n.model.next(t)
	n.spy.loseCancels.Store(2)
	res, err := n.Cancel(t.Context(), key, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, res.Answer)
	require.Equal(t, "cancelled", r.settled().Outcome)
}

// A stop that nobody was told of is found by the next renewal.
// contract: C13
func TestStopWithoutAWake(t *testing.T) {
	n := newSpied(t, ownership.Config{TTL: limit / 20})
	rec := n.send(t, "k1", "hello")
	r := n.read(t, rec.Cursor)
	n.model.next(t)
	rdb := redis.NewClient(n.opts)
	defer func() { _ = rdb.Close() }()
	require.NoError(t, rdb.HSet(t.Context(), sessionKey("cancel"), rec.Run, "1 somebody").Err())
	require.Equal(t, "cancelled", r.settled().Outcome)
}

// An unsure owner keeps so much of an answer and no more: then the model is told to end.
func TestUnsureOwnerKeepsOneBuffer(t *testing.T) {
	n := newSpied(t, ownership.Config{TTL: limit / 20, Doubt: 10 * limit})
	n.send(t, "k1", "hello")
	c := n.model.next(t)
	n.leases.blind.Store(true)
	for !wait(t, n.doubt, "the doubt") {
	}
	c.text(t, strings.Repeat("x", 300<<10))
	wait(t, c.ctx.Done(), "the end of the model call")
}

// A node that drains sends new commands elsewhere, also those for a session whose run it still ends.
func TestDrainingNodeAcceptsNothing(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	n.send(t, "k1", "hello")
	c := n.model.next(t)
	drained := make(chan error, 1)
	go func() { drained <- n.Drain(t.Context()) }()
	require.Eventually(t, func() bool {
		_, err := n.do(t, regen.Command{Op: regen.OpSend, Key: "k2", Content: regen.Text("now?")})
		return errors.Is(err, turn.ErrDraining)
	}, limit, limit/1000)
	c.end(t)
	require.NoError(t, wait(t, drained, "the end of the drain"))
}

// An answer that ends without a word of why was cut: its text is kept and it counts as failed.
func TestCutAnswerIsFailed(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	r := n.read(t, n.send(t, "k1", "hello").Cursor)
	c := n.model.next(t)
	c.text(t, "half of ")
	c.fail <- nil // the source ends
	s := r.settled()
	require.Equal(t, "failed", s.Outcome)
	require.Contains(t, string(s.Rows[1]), "half of")
}

// Words that wait for the log when the stop comes are not written behind it.
// contract: C9
func TestStopLeavesWaitingWords(t *testing.T) {
	n := newSpied(t, ownership.Config{})
	n.spy.loseAppend = func(i int) (bool, bool) { return true, i != 1 }
	rec := n.send(t, "k1", "hello")
	r := n.read(t, rec.Cursor)
	c := n.model.next(t)
	c.text(t, "logged")
	wait(t, n.spy.begun, "the first append")
	c.text(t, "waiting")
	c.pushed(t)
	_, err := n.Cancel(t.Context(), key, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	wait(t, c.ctx.Done(), "the owner to hear of the stop")
	close(n.spy.hold)
	s := r.settled()
	require.Equal(t, "cancelled", s.Outcome)
	require.Contains(t, string(s.Rows[1]), `"logged"`)
}
