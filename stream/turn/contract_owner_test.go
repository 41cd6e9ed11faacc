package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/turn"
)

// ends are the ways in which a run ends. Each gives the node to go on with.
var ends = map[string]func(t *testing.T, w *world, c *call) *node{
	"success": func(t *testing.T, w *world, c *call) *node {
		c.text(t, "same answer")
		c.end(t)
		return w.a
	},
	"provider error": func(t *testing.T, w *world, c *call) *node {
		c.fail <- &turn.SourceError{Code: "upstream_error", Message: "The model failed."}
		return w.a
	},
	"provider error in the middle": func(t *testing.T, w *world, c *call) *node {
		c.text(t, "same")
		c.fail <- errors.New("x")
		return w.a
	},
	"stop before the first word": func(t *testing.T, w *world, c *call) *node {
		w.stop(t, c)
		return w.a
	},
	"stop in the middle": func(t *testing.T, w *world, c *call) *node {
		c.text(t, "same ")
		w.r.textIs("same ")
		w.stop(t, c)
		return w.a
	},
	"stop beside the end": func(t *testing.T, w *world, c *call) *node {
		c.text(t, "same")
		c.end(t)
		w.stop(t, c)
		return w.a
	},
	"crash before the first word": func(t *testing.T, w *world, _ *call) *node { return w.crash(t) },
	"crash in the middle": func(t *testing.T, w *world, c *call) *node {
		c.text(t, "same ")
		w.r.textIs("same ")
		return w.crash(t)
	},
}

// world is a session on nodes that may die.
type world struct {
	*shop
	a, b  *node
	r     *reader
	lives int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{shop: newShop(t)}
	w.a, w.b = newNode(t, "a0", w.opts(), still), newNode(t, "b", w.opts(), still)
	return w
}

// stop stops the run of a call; it may be too late.
func (w *world) stop(t *testing.T, c *call) {
	t.Helper()
	_, err := w.b.Cancel(t.Context(), key, stream.Stop{Run: c.prompt.Run})
	require.NoError(t, err)
}

// crash ends the owner as it is; another one settles what it left, and is given.
func (w *world) crash(t *testing.T) *node {
	t.Helper()
	epoch := w.b.snapshot(t).Lease.Epoch
	w.a.stop()
	w.expire(t)
	w.lives++
	w.a = newNode(t, fmt.Sprintf("a%d", w.lives), w.opts(), still)
	require.NoError(t, w.a.Recover(t.Context(), key, epoch))
	return w.a
}

// expire makes the lease's deadline pass.
func (w *world) expire(t *testing.T) {
	t.Helper()
	require.NoError(t, w.rdb.HSet(t.Context(), sessionKey("lease"), "until", "1").Err())
}

// However a turn ends, and however often it is tried again, the prompt is there once, for the person and for the model, whole: also
// where prompts are equal, contain each other, or are made of parts with pictures and files.
// contract: S14, C12, C15, D1, D4, D6, A14
// case: FC01, FC10, FC54
func TestOneUserRowHoweverTheTurnEnds(t *testing.T) {
	parts, err := regen.ParseContent([]byte(`[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:x"},"own":1.50},{"type":"text","text":"here"}]`))
	require.NoError(t, err)
	files := []json.RawMessage{[]byte(`{"name":"a.txt","size":10,"path":"/up/a","mime":"text/plain","nested":{"k":[1,2.50]}}`)}
	prompts := []regen.Command{
		{Op: regen.OpSend, Content: regen.Text("ok")},
		{Op: regen.OpSend, Content: regen.Text("ok please continue")},
		{Op: regen.OpSend, Content: regen.Text("ok")},
		{Op: regen.OpSend, Content: parts, Attachments: files},
		{Op: regen.OpSend, Content: parts, Attachments: files},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			n := w.a
			for i, cmd := range prompts {
				cmd.Key = fmt.Sprintf("k%d", i)
				rec, err := n.do(t, cmd)
				require.NoError(t, err)
				if w.r == nil {
					w.r = w.b.read(t, rec.Cursor)
				}
				n = end(t, w, n.model.next(t))
				settled := w.r.settled()
				for again := range 2 {
					require.Equal(t, rec.Turn, settled.Turn)
					w.check(t, prompts[:i+1])
					rec2, err := n.do(t, regen.Command{Op: regen.OpRegenerate, Key: fmt.Sprintf("r%d-%d", i, again), Revision: settled.Revision})
					require.NoError(t, err)
					require.Equal(t, rec.Turn, rec2.Turn)
					w.check(t, prompts[:i+1])
					n = end(t, w, n.model.next(t))
					settled = w.r.settled()
				}
				w.check(t, prompts[:i+1])
			}
			require.Zero(t, w.r.resets)
		})
	}
}

// check requires that exactly these prompts are on display and in context, whole and in order.
func (w *world) check(t *testing.T, prompts []regen.Command) {
	t.Helper()
	w.b.oneUserRow(t)
	snap := w.b.snapshot(t)
	i, ids := 0, map[string]bool{}
	for _, l := range snap.Document.Rows {
		if l.Row.Role != regen.RoleUser {
			continue
		}
		want, err := json.Marshal(prompts[i].Content)
		require.NoError(t, err)
		got, err := json.Marshal(l.Row.Content)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.Equal(t, prompts[i].Attachments, l.Row.Attachments)
		require.False(t, ids[l.Row.ID])
		ids[l.Row.ID] = true
		i++
	}
	require.Equal(t, len(prompts), i)
	var given []string
	for _, row := range snap.Document.Prompt(1 << 20) {
		if row.Role == regen.RoleUser {
			given = append(given, row.ID)
		}
	}
	require.Len(t, given, len(prompts), "and the model gets each once")
}

// An owner that was thought dead comes back with any kind of end for its run, when the turn after it has been answered and nobody owns
// the session: it changes nothing, and shows nothing.
// contract: C2, C4, C5, C6, C17, D7, S9
// case: FC16, FC18
func TestLateFinaliserChangesNothing(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *call){
		"success": func(t *testing.T, c *call) { c.end(t) },
		"length":  func(t *testing.T, c *call) { c.send(t, turn.Delta{Finish: "length"}) },
		"filter":  func(t *testing.T, c *call) { c.send(t, turn.Delta{Finish: "content_filter"}) },
		"error":   func(_ *testing.T, c *call) { c.fail <- errors.New("x") },
		"text":    func(t *testing.T, c *call) { c.text(t, "late") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a, b := newNode(t, "old", w.opts(), nodeOptions{ttl: time.Second}), newNode(t, "new", w.opts(), nodeOptions{ttl: time.Second})
			r := b.read(t, a.send(t, "k1", "hello").Cursor)
			c := a.model.next(t)
			c.text(t, "shown ")
			r.textIs("shown ")
			epoch := b.snapshot(t).Lease.Epoch
			a.reach(false)
			w.expire(t)
			require.NoError(t, b.Recover(t.Context(), key, epoch))
			rev := r.settled().Revision
			exchange(t, b, r, again("k2", rev), "better")
			exchange(t, b, r, prompt("k3", "on"), "and on")
			drained, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			require.NoError(t, b.Drain(drained)) // the lease is given back
			require.Empty(t, b.snapshot(t).Lease.Node)
			before := w.state()
			w.written()
			end(t, c)
			a.reach(true)
			wait(t, c.ctx.Done(), "the end of the old model call")
			a.stop()
			require.Equal(t, before, w.state())
			for _, cmd := range w.written() {
				if cmd != "HDEL "+sessionKey("lease")+" -" { // how a renewal begins that is then refused: it frees nothing
					require.NotContains(t, cmd, key.String()+"}", "a write to the session")
				}
			}
			display, _ := b.oneUserRow(t)
			require.Equal(t, []string{"user:hello", "assistant:better", "user:on", "assistant:and on"}, display)
			require.Zero(t, r.resets)
		})
	}
}

// A run that ended is not marked as interrupted, also when its owner died before it heard that the end was stored.
// contract: B10, B13
func TestFinishedRunGetsNoCrashMark(t *testing.T) {
	w := newWorld(t)
	cut := new(tap)
	a := newNode(t, "old", cut.wrap(w.opts()), still)
	r := w.b.read(t, a.send(t, "k1", "hello").Cursor)
	c := a.model.next(t)
	c.text(t, "all of it")
	r.textIs("all of it")
	epoch := w.b.snapshot(t).Lease.Epoch
	cut.arm(lostReply, 1, 1000)
	c.end(t)
	require.Equal(t, "completed", r.settled().Outcome)
	a.stop()
	w.expire(t)
	before := w.state()
	require.NoError(t, w.b.Recover(t.Context(), key, epoch))
	require.Equal(t, before.unowned(), w.state().unowned())
	display, _ := w.b.oneUserRow(t)
	require.Equal(t, []string{"user:hello", "assistant:all of it"}, display)

	// And one that began again after somebody saw it dead is left alone.
	rec := w.b.send(t, "k2", "on")
	c = w.b.model.next(t)
	other := newNode(t, "late", w.opts(), still)
	before = w.state()
	var held *ownership.HeldError
	require.ErrorAs(t, other.Recover(t.Context(), key, epoch), &held)
	require.Equal(t, before, w.state())
	require.Equal(t, rec.Run, held.Run)
	c.end(t)
	r.settled()
}

// Reading a session whose owner is gone answers at once, repairs nothing and writes nothing; it says that the run is there.
// contract: B14, E10
// case: FC28
func TestReadingRepairsNothing(t *testing.T) {
	w := newWorld(t)
	rec := w.a.send(t, "k1", "hello")
	w.a.model.next(t)
	early := w.b.read(t, "")
	require.NotNil(t, early.view.Run, "a run without a word yet is a run")
	require.Equal(t, rec.Run, early.view.Run.Run)
	require.Equal(t, "accepted", early.view.Run.Phase)
	epoch := w.b.snapshot(t).Lease.Epoch
	w.a.stop()
	w.expire(t)
	before := w.state()
	w.written()
	late := newNode(t, "d", w.opts(), still).read(t, "")
	require.Equal(t, rec.Run, late.view.Run.Run)
	require.Empty(t, late.view.Revision)
	require.Empty(t, w.written())
	require.Equal(t, before, w.state())
	require.NoError(t, w.b.Recover(t.Context(), key, epoch))
	for _, r := range []*reader{early, late} { // every reader comes to an end
		require.Equal(t, "interrupted", r.settled().Outcome)
	}
}

// A turn that is silent, that nobody watches and that is older than its lease is not dead: it is left alone, is busy, and can be
// attached to; when it has ended the next one is accepted at once.
// contract: B3, B8, B9, B11, B12
func TestSilentRunIsNotDead(t *testing.T) {
	w := newWorld(t)
	o := nodeOptions{ttl: time.Second, watch: true}
	a, b := newNode(t, "old", w.opts(), o), newNode(t, "new", w.opts(), o)
	rec := a.send(t, "k1", "hello")
	c := a.model.next(t)
	<-time.After(3 * o.ttl) // nobody reads and the model says nothing
	_, err := b.do(t, prompt("k2", "now?"))
	var busy *regen.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, rec.Run, busy.Run)
	r := b.read(t, "")
	require.NotNil(t, r.view.Run)
	c.text(t, "there")
	c.end(t)
	require.Equal(t, "completed", r.settled().Outcome)
	exchange(t, b, r, prompt("k3", "next"), "at once")
}

// A stopped run is over at once, however long its model call takes to hear of it: the next turn is accepted, and what the old call
// says later is nothing.
// contract: B2, B4, C3, C7, C10
// case: FC16
func TestDeafModelHoldsNobodyUp(t *testing.T) {
	w := newWorld(t)
	n := newNode(t, "d", w.opts(), still)
	calls := make(chan chan struct{}, 4)
	deaf := sourceFunc(func(yield func(turn.Delta, error) bool) {
		hear := make(chan struct{})
		calls <- hear
		<-hear
		yield(deltaText("too late"), nil)
	})
	e := turn.New(n.log, n.keeper, nil, n.hub, deaf, turn.Config{Node: "d"})
	t.Cleanup(e.Close)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	rec, err := e.Do(ctx, key, prompt("k1", "hello"))
	require.NoError(t, err)
	r := w.b.read(t, rec.Cursor)
	first := wait(t, calls, "a model call")
	res, err := e.Cancel(ctx, key, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, res.Answer)
	require.Equal(t, "cancelled", r.settled().Outcome)
	rec, err = e.Do(ctx, key, prompt("k2", "next"))
	require.NoError(t, err)
	second := wait(t, calls, "the next model call")
	close(first)
	res, err = e.Cancel(ctx, key, stream.Stop{Run: rec.Run})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, res.Answer)
	require.Equal(t, rec.Run, r.settled().Run)
	close(second)
	res, err = e.Cancel(ctx, key, stream.Stop{Run: "0123456789abcdef0123456789abcdef"})
	require.NoError(t, err)
	require.Equal(t, stream.StopUnknown, res.Answer)
	for _, row := range w.lists() {
		require.NotContains(t, row, "too late")
	}
	w.b.oneUserRow(t)
}

type sourceFunc func(yield func(turn.Delta, error) bool)

func (f sourceFunc) Generate(context.Context, turn.Prompt) iter.Seq2[turn.Delta, error] {
	return iter.Seq2[turn.Delta, error](f)
}

// The repair of a run whose owner died moves nothing in the list of sessions: it is nobody's activity.
// contract: B7
func TestRepairIsNoActivity(t *testing.T) {
	w := newWorld(t)
	w.r = w.b.read(t, w.a.send(t, "k1", "hello").Cursor)
	w.a.model.next(t)
	list := func() float64 {
		return w.rdb.ZScore(t.Context(), "hf1:{main}:sessions", key.Session).Val()
	}
	require.Eventually(t, func() bool { return list() > 0 }, limit, time.Millisecond)
	listed, updated := list(), w.b.snapshot(t).Document.Fields.UpdatedAt
	w.crash(t)
	require.Equal(t, "interrupted", w.r.settled().Outcome)
	w.a.stop() // and with it what it does beside the turn
	require.Equal(t, updated, w.b.snapshot(t).Document.Fields.UpdatedAt)
	require.Equal(t, listed, list())
}

// What the model said before its owner died stands before the mark, and only that: nothing of an earlier run, nothing of a broken or
// foreign entry.
// contract: D8, F1, F2
// case: FC30
func TestRecoveryTrustsThisRunAlone(t *testing.T) {
	w := newWorld(t)
	rec := w.a.send(t, "k1", "one")
	w.r = w.b.read(t, rec.Cursor)
	c := w.a.model.next(t)
	require.Equal(t, rec.Run, w.b.snapshot(t).Head.Run, "accepted before the model is asked")
	c.text(t, "from the first run")
	c.end(t)
	rev := w.r.settled().Revision
	second, err := w.a.do(t, again("k2", rev))
	require.NoError(t, err)
	c = w.a.model.next(t)
	var said strings.Builder
	for i := range 250 {
		word := fmt.Sprintf("w%d ", i)
		said.WriteString(word)
		c.text(t, word)
	}
	w.r.textIs(said.String())
	w.crash(t)
	s := w.r.settled()
	require.Equal(t, second.Run, s.Run)
	display, contexts := w.b.oneUserRow(t)
	require.Equal(t, []string{"user:one", "assistant:" + said.String(), "assistant:The answer was interrupted."}, display)
	require.Equal(t, display[:2], contexts)
	kinds := ""
	for _, e := range w.state().log {
		for k := range e.Values {
			kinds += k
		}
	}
	require.Regexp(t, `^m*s[mt]*t[mt]*em*$`, kinds, "one start, its words, one end")
}

// What somebody else stored in the session's fields while a run was active is there after it: an end changes its own fields alone.
// contract: C8
func TestSettleLeavesOtherFieldsAlone(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.r = w.b.read(t, w.a.send(t, "k1", "hello").Cursor)
			c := w.a.model.next(t)
			require.NoError(t, w.rdb.HSet(t.Context(), sessionKey("doc"), "pause_note", "mine", "title", "renamed").Err())
			end(t, w, c)
			w.r.settled()
			f := w.b.snapshot(t).Document.Fields
			require.Equal(t, "mine", f.Extra["pause_note"])
			require.Equal(t, "renamed", f.Title)
		})
	}
}

// Whatever breaks at the model, the turn ends once, says why without a secret, and the session goes on.
// contract: C16, F13
// case: FC26
func TestEveryModelFaultEndsTheTurn(t *testing.T) {
	w := newWorld(t)
	var r *reader
	for i, fault := range []error{
		&turn.SourceError{Code: "upstream_auth", Message: "safe", Status: 401, Err: errors.New("secret")},
		&turn.SourceError{Code: "upstream_rate_limited", Message: "safe", Status: 429, RetryAfter: time.Hour},
		&turn.SourceError{Code: "upstream_unavailable", Message: "safe"}, &turn.SourceError{Code: "upstream_stalled", Message: "safe"},
		errors.New("dial tcp: lookup secret: no such host"), errors.New("tls: secret"), context.DeadlineExceeded, context.Canceled, nil,
	} {
		for _, words := range []string{"", "so far"} {
			rec := w.a.send(t, fmt.Sprintf("k%d%s", i, words), "hello")
			if r == nil {
				r = w.b.read(t, rec.Cursor)
			}
			c := w.a.model.next(t)
			if words != "" {
				c.text(t, words)
			}
			c.fail <- fault
			s := r.settled()
			require.Equal(t, "failed", s.Outcome)
			raw, err := json.Marshal(s)
			require.NoError(t, err)
			require.NotContains(t, string(raw), "secret")
			require.NotEmpty(t, s.Revision)
		}
	}
	exchange(t, w.a, r, prompt("last", "hello"), "fine")
	w.b.oneUserRow(t)
}
