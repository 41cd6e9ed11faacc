package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
)

// still is a node that sends nothing by itself while a test counts.
var still = nodeOptions{ttl: time.Hour, poll: time.Hour}

// stage is a session with one answered turn, owned by node a, and a node b whose way to the store is tapped.
type stage struct {
	*shop
	a, b *node
	tap  *tap
	r    *reader // on a third node
	rev  string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{shop: newShop(t), tap: new(tap)}
	s.a = newNode(t, "a", s.opts(), still)
	s.b = newNode(t, "b", s.tap.wrap(s.opts()), still)
	rec := s.a.send(t, "k0", "hello")
	s.r = newNode(t, "c", s.opts(), still).read(t, rec.Cursor)
	c := s.a.model.next(t)
	c.text(t, "old answer")
	c.end(t)
	s.rev = s.r.settled().Revision
	require.NotEmpty(t, s.rev)
	return s
}

// Whatever goes wrong on the way to a new answer, at whichever step, the old one is still there, byte for byte; and asking again with
// the same key gives exactly one new answer.
// contract: S3, S4, S7, S8, A10
// case: FC04
func TestRegenerateFailsAtEveryStep(t *testing.T) {
	for _, where := range []string{"on another node", "on the owner"} {
		owner := where == "on the owner"
		steps := 0
		t.Run(where+", all well", func(t *testing.T) { steps = failStep(t, owner, "", 0, 0) })
		require.GreaterOrEqual(t, steps, map[bool]int{true: 1, false: 5}[owner])
		for n := 1; n <= steps+1; n++ { // one more: a broken step may bring another
			for _, how := range []fault{refused, lostAsk, lostReply} {
				t.Run(fmt.Sprintf("%s, step %d of %d %s", where, n, steps, how), func(t *testing.T) { failStep(t, owner, how, n, n) })
			}
			t.Run(fmt.Sprintf("%s, all from step %d on refused", where, n), func(t *testing.T) { failStep(t, owner, refused, n, 1000) })
		}
	}
}

// failStep breaks steps of a regenerate and gives the number of steps that an unbroken one has.
func failStep(t *testing.T, owner bool, how fault, from, until int) (steps int) {
	s := newStage(t)
	if owner { // the tapped node owns the session
		s.rev = exchange(t, s.b, s.r, prompt("k1", "more"), "old answer").Revision
	}
	before := s.state()
	s.tap.arm(how, from, until)
	rec, err := s.b.do(t, again("k2", s.rev))
	steps = len(s.tap.commands())
	s.tap.arm("", 0, 0)
	if err != nil {
		require.ErrorIs(t, err, stream.ErrUnavailable, "the person is told to try again")
		after := s.state()
		require.Equal(t, before.unowned(), after.unowned())
		if owner || before.hashes["lease"]["epoch"] == after.hashes["lease"]["epoch"] {
			require.Equal(t, before, after)
		}
		require.Empty(t, s.b.model.calls, "no model was asked")
	}
	second, secondErr := s.b.do(t, again("k2", s.rev))
	require.NoError(t, secondErr)
	require.Equal(t, err == nil, second.Repeat)
	if err == nil {
		require.Equal(t, rec.Run, second.Run)
	}
	c := s.b.model.next(t)
	c.text(t, "new answer")
	c.end(t)
	end := s.r.settled()
	require.Equal(t, second.Run, end.Run)
	require.Empty(t, s.b.model.calls, "one run for one click")
	display, contexts := s.b.oneUserRow(t)
	require.Equal(t, []string{"assistant:new answer"}, display[len(display)-1:])
	require.Equal(t, display, contexts)
	require.Len(t, end.Variants, 1)
	require.Zero(t, s.r.resets)
	return steps
}

// A regenerate that is refused writes nothing at all, on whichever node it came: no lease, no index, no entry, no key.
// contract: S5, S16, A10, F12
func TestRefusedRegenerateWritesNothing(t *testing.T) {
	s := newStage(t)
	check := func(name string, nodes []*node, cmd regen.Command, ok func(error) bool) {
		t.Helper()
		for _, n := range nodes {
			before := s.state()
			s.written()
			_, err := n.do(t, cmd)
			require.True(t, ok(err), "%s on %s: %v", name, n.name, err)
			require.Empty(t, s.written(), "%s on %s", name, n.name)
			require.Equal(t, before, s.state(), "%s on %s", name, n.name)
		}
	}
	both := []*node{s.a, s.b}
	stale := func(err error) bool { var e *regen.StaleRevisionError; return errors.As(err, &e) }
	busy := func(err error) bool { var e *regen.BusyError; return errors.As(err, &e) }
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	check("no revision", both, again("x1", ""), stale)
	check("an old revision", both, again("x2", "0123"), stale)
	check("with content", both, regen.Command{Op: regen.OpRegenerate, Key: "x3", Revision: s.rev, Content: regen.Text("x")}, is(regen.ErrInvalidRegeneration))
	check("an empty prompt", both, regen.Command{Op: regen.OpSend, Key: "x4"}, is(regen.ErrEmptyPrompt))

	s.a.send(t, "k1", "next")
	c := s.a.model.next(t)
	check("stale and busy", both, again("x5", s.rev), stale)
	check("busy", both, again("x6", s.a.snapshot(t).Head.Revision), busy)
	check("busy send", both, prompt("x7", "me too"), busy)
	c.end(t)
	require.Equal(t, "failed", s.r.settled().Outcome, "a model that says nothing")

	other := newShop(t)
	n := newNode(t, "a", other.opts(), still)
	require.NoError(t, n.Create(t.Context(), key, regen.Fields{ReadOnly: true}, imported(2), imported(2)))
	s.shop = other
	check("a read-only session", []*node{n}, again("x8", n.snapshot(t).Head.Revision), is(regen.ErrReadOnly))
	empty := newShop(t)
	n = newNode(t, "b", empty.opts(), still)
	s.shop = empty
	check("an unknown session", []*node{n}, again("x9", "0123"), is(stream.ErrNotFound))
	require.NoError(t, n.Create(t.Context(), key, regen.Fields{}, nil, nil))
	check("nothing to regenerate", []*node{n}, again("x10", n.snapshot(t).Head.Revision), is(regen.ErrNoRegenerableTurn))
}

// A message sent at the moment of a click on regenerate survives whole: the click was judged before, and is judged again under the
// lease, at every point where the message may come between.
// contract: S6, S10, S15, S17
// case: FC03
func TestPlanIsMadeAgainUnderTheLease(t *testing.T) {
	for _, ended := range []bool{true, false} {
		steps := 0
		t.Run(fmt.Sprintf("all well, ended %t", ended), func(t *testing.T) { steps = failStep(t, false, "", 0, 0) })
		for n := 1; n <= steps; n++ {
			t.Run(fmt.Sprintf("before step %d, ended %t", n, ended), func(t *testing.T) {
				s := newStage(t)
				var sent stream.Receipt
				var c *call
				s.tap.beforeNth(n, func() {
					var err error
					ctx, cancel := context.WithTimeout(context.Background(), limit)
					defer cancel()
					if sent, err = s.a.Do(ctx, key, prompt("k1", "in between")); err != nil {
						return // the lease is b's by now: then the regenerate is first
					}
					c = <-s.a.model.calls
					if ended {
						c.say <- deltaText("kept")
						c.say <- deltaEnd()
						for s.a.busyRun(ctx) != "" {
						}
					}
				})
				_, err := s.b.do(t, again("k2", s.rev))
				if sent.Run == "" { // too late for the message; it was refused, and the click won
					require.NoError(t, err)
					s.b.model.next(t).end(t)
					s.r.settled()
					return
				}
				var stale *regen.StaleRevisionError
				require.ErrorAs(t, err, &stale)
				if !ended {
					require.Equal(t, sent.Run, s.a.snapshot(t).Head.Run)
					c.text(t, "kept")
					c.end(t)
				}
				require.Equal(t, sent.Run, s.r.settled().Run)
				display, _ := s.a.oneUserRow(t)
				require.Equal(t, []string{"user:hello", "assistant:old answer", "user:in between", "assistant:kept"}, display)
				require.Empty(t, s.b.model.calls)
			})
		}
	}
}

// The answer to an acceptance is lost, and the store with it for a while: the same batch says what became of it. The person gets the
// run, once; nothing is tried again that was done.
// contract: S9, C13
// case: FC08
func TestLostCommitReplyIsResolvedByTheSameBatch(t *testing.T) {
	s := newStage(t)
	s.rev = exchange(t, s.b, s.r, prompt("k1", "more"), "old answer").Revision
	first := exchange(t, s.b, s.r, again("k2", s.rev), "second")
	s.tap.arm(lostReply, 1, 1)
	rec, err := s.b.do(t, again("k3", first.Revision))
	require.NoError(t, err)
	require.False(t, rec.Repeat)
	commands := s.tap.commands()
	require.GreaterOrEqual(t, len(commands), 2)
	require.Equal(t, words(commands[0]), words(commands[1]), "the very same batch; fields come in any order")
	s.tap.arm("", 0, 0)
	c := s.b.model.next(t)
	c.text(t, "third")
	c.end(t)
	require.Equal(t, rec.Run, s.r.settled().Run)
	require.Empty(t, s.b.model.calls)
	display, contexts := s.b.oneUserRow(t)
	require.Equal(t, []string{"user:hello", "assistant:old answer", "user:more", "assistant:third"}, display)
	require.Equal(t, display, contexts)
	repeat, err := s.a.do(t, again("k3", first.Revision))
	require.NoError(t, err)
	require.True(t, repeat.Repeat)
	require.Equal(t, rec.Run, repeat.Run)
}

// What fails after a turn was accepted undoes nothing: not the list of sessions, not a tab that hung up, not a model that breaks at once.
// contract: S9
func TestFailureAfterAcceptanceUndoesNothing(t *testing.T) {
	s := newStage(t)
	s.tap.breaks(refused, "hf1:{main}:sessions")
	ctx, cancel := context.WithCancel(t.Context())
	rec, err := s.b.Do(ctx, key, again("k1", s.rev))
	cancel() // the client is gone
	require.NoError(t, err)
	c := s.b.model.next(t)
	require.Equal(t, rec.Run, s.b.snapshot(t).Head.Run)
	c.text(t, "part")
	c.fail <- errors.New("broken")
	end := s.r.settled()
	require.Equal(t, "failed", end.Outcome)
	require.Equal(t, rec.Run, end.Run)
	require.Len(t, end.Variants, 1)
	display, contexts := s.b.oneUserRow(t)
	require.Equal(t, []string{"user:hello", "assistant:part", "assistant:The model could not be reached."}, display)
	require.Equal(t, display[:2], contexts)
	require.Positive(t, s.tap.breaksCount(), "the list did fail")
	var v struct{ Rows []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(s.rdb.HGet(t.Context(), sessionKey("var"), end.Variants[0]).Val()), &v))
	require.Contains(t, string(v.Rows[0]), "old answer", "the old answer is a variant")
}

// Nobody ever sees a session that is cut but not running, nor one that is answered but still running: the two are one step.
// contract: S11, A1, A8
// case: FC12
func TestNoReaderSeesHalfAStep(t *testing.T) {
	s := newStage(t)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			snap, err := s.a.log.Read(context.Background(), key, stream.Query{})
			if err != nil {
				continue
			}
			last := snap.Document.Rows[len(snap.Document.Rows)-1].Row
			if running := snap.Head.Run != ""; running != (last.Role == regen.RoleUser) || running && last.Run != snap.Head.Run {
				t.Errorf("run %q beside a last row of %s of run %q", snap.Head.Run, last.Role, last.Run)
				return
			}
		}
	})
	rev := s.rev
	for i := range 30 {
		n := []*node{s.a, s.b}[i%2]
		cmd := again(fmt.Sprintf("r%d", i), rev)
		if i%3 == 2 {
			cmd = prompt(fmt.Sprintf("s%d", i), "same text")
		}
		rev = exchange(t, n, s.r, cmd, "same answer").Revision
	}
	close(done)
	wg.Wait()
}

// Every end of a turn tells the revision that the store would give, beside exactly the rows that it names; every reader tells the same.
// contract: A1, A2, A3, A8
func TestEveryEndTellsTheStoredRevision(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *stage, *call){
		"completed": func(t *testing.T, _ *stage, c *call) { c.text(t, "fine"); c.end(t) },
		"failed":    func(t *testing.T, _ *stage, c *call) { c.text(t, "so far"); c.fail <- errors.New("x") },
		"cancelled": func(t *testing.T, s *stage, c *call) {
			c.text(t, "so far")
			_, err := s.b.Cancel(t.Context(), key, stream.Stop{Run: c.prompt.Run})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			_, err := s.b.do(t, again("k1", s.rev))
			require.NoError(t, err)
			c := s.b.model.next(t)
			during := s.a.read(t, "")
			require.Empty(t, during.view.Revision, "nothing may be regenerated while a run is active")
			end(t, s, c)
			settled := s.r.settled()
			require.Equal(t, name, settled.Outcome)
			snap := s.b.snapshot(t)
			minted, ok := snap.Document.Minted()
			require.True(t, ok)
			require.Equal(t, minted, settled.Revision)
			require.Equal(t, minted, snap.Head.Revision)
			require.Equal(t, minted, newNode(t, "d", s.opts(), still).read(t, "").view.Revision)
			var stored []json.RawMessage
			for _, row := range snap.Document.TurnRows(settled.Turn) {
				stored = append(stored, snap.Document.Public(row))
			}
			require.Equal(t, stored, settled.Rows)

			// A part that does not hold the whole last exchange gets none.
			cut, err := s.b.log.Read(t.Context(), key, stream.Query{Rows: 1})
			require.NoError(t, err)
			_, ok = cut.Document.Minted()
			require.False(t, ok)
			require.Empty(t, stream.NewView(key.Session, cut).Revision)
		})
	}
}

// The old answer never comes back by itself: not after a reload, on another node, nor after a crash. The session remembers where it was
// cut, and each cut has a name of its own.
// contract: F3, F6
func TestRemovedAnswerStaysRemoved(t *testing.T) {
	s := newStage(t)
	asked := s.a.snapshot(t).Document.Rows[0].Row.At
	generations := map[string]bool{"": true}
	rev := s.rev
	for i := range 3 {
		rev = exchange(t, []*node{s.b, s.a}[i%2], s.r, again(fmt.Sprintf("r%d", i), rev), fmt.Sprintf("answer %d", i)).Revision
		snap := newNode(t, fmt.Sprintf("d%d", i), s.opts(), still).snapshot(t)
		require.Len(t, snap.Document.Rows, 2)
		require.Equal(t, fmt.Sprintf("answer %d", i), snap.Document.Rows[1].Row.Content.Text())
		f := snap.Document.Fields
		require.Equal(t, f.Watermark, f.Boundary)
		require.NotZero(t, f.Watermark)
		if i == 0 {
			require.Equal(t, asked, f.Watermark)
		}
		require.False(t, generations[f.ShrinkGeneration], "a cut without a name of its own")
		generations[f.ShrinkGeneration] = true
	}
	before := s.a.snapshot(t).Document.Fields
	exchange(t, s.b, s.r, prompt("k9", "on"), "and on")
	after := s.a.snapshot(t).Document.Fields
	require.Equal(t, before.ShrinkGeneration, after.ShrinkGeneration)
	require.Greater(t, after.Watermark, before.Watermark, "it advances and is never cleared")
	require.Equal(t, before.Boundary, after.Boundary)
	for _, row := range s.lists() {
		require.NotContains(t, row, "old answer")
	}
}

func (s *shop) lists() []string {
	st := s.state()
	return slices.Concat(st.lists["rows"], st.lists["ctx"])
}

// words are those of a command, in an order of their own.
func words(command string) []string {
	w := strings.Fields(command)
	slices.Sort(w)
	return w
}

// busyRun is the active run as the store has it.
func (n *node) busyRun(ctx context.Context) string {
	snap, err := n.log.Read(ctx, key, stream.Query{HeadOnly: true})
	if err != nil {
		return ""
	}
	return snap.Head.Run
}
