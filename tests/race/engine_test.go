package race_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog/embedded"
	"holdfast/stream/turn"
	"holdfast/tests/race"
)

// puppet is a model that the test drives: each run's call arrives on calls.
type puppet struct{ calls chan *speech }

type speech struct {
	prompt turn.Prompt
	ctx    context.Context
	say    chan turn.Delta
	fail   chan error
}

func newPuppet() *puppet { return &puppet{calls: make(chan *speech, 16)} }

func (m *puppet) Generate(ctx context.Context, p turn.Prompt) iter.Seq2[turn.Delta, error] {
	return func(yield func(turn.Delta, error) bool) {
		c := &speech{prompt: p, ctx: ctx, say: make(chan turn.Delta), fail: make(chan error)}
		m.calls <- c
		for {
			select {
			case d := <-c.say:
				if !yield(d, nil) || d.Finish != "" {
					return
				}
			case err := <-c.fail:
				yield(turn.Delta{}, err)
				return
			case <-ctx.Done():
				yield(turn.Delta{}, ctx.Err())
				return
			}
		}
	}
}

// exchange is one turn of the reference model: what a person sees of it.
type exchange struct {
	prompt, answer, outcome string // outcome is "" while it is being answered
	run                     string
}

// refusal is the reference model's no.
type refusal string

// reference is the small document of turns that the engine is compared with.
type reference struct {
	turns    []exchange
	accepted map[string]string // command key → run
	contents map[string]string // command key → what it asked for
	lastRun  string
}

func (r *reference) active() *exchange {
	if n := len(r.turns); n > 0 && r.turns[n-1].outcome == "" {
		return &r.turns[n-1]
	}
	return nil
}

// take says what a command must be answered: a run that was accepted before, a refusal, or neither: it is accepted.
func (r *reference) take(key, asks string, regenerate, fresh bool) (run string, no refusal) {
	if run, ok := r.accepted[key]; ok {
		if r.contents[key] != asks {
			return "", "reused"
		}
		return run, ""
	}
	switch {
	case regenerate && len(r.turns) == 0:
		return "", "missing"
	case regenerate && !fresh:
		return "", "stale"
	case r.active() != nil:
		return "", "busy"
	}
	return "", ""
}

// machine is the engine on two nodes and the reference beside it.
type machine struct {
	ref       reference
	nodes     []*race.Node
	key       regen.Key
	model     *puppet
	call      *speech
	revisions []string // all that were handed out; the last one may be the present one
	minted    bool     // whether there is a present one
	next      int

	sub    *stream.Subscription // a reader on the first node, from the first acceptance on
	ready  chan struct{}
	events []stream.Event
}

func (m *machine) node(t *rapid.T) *race.Node {
	return m.nodes[rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")]
}

// until takes events until one is what is waited for.
func (m *machine) until(t *rapid.T, ok func(stream.Event) bool) {
	for {
		if len(m.events) == 0 {
			m.events, _ = m.sub.Pull(1 << 20)
		}
		for len(m.events) > 0 {
			ev := m.events[0]
			m.events = m.events[1:]
			if ok(ev) {
				return
			}
		}
		wait(t, m.ready, "an event")
	}
}

func (m *machine) name(prefix string) string {
	m.next++
	return fmt.Sprintf("%s%d", prefix, m.next)
}

// press sends a command and compares the answer with the reference's.
func (m *machine) press(t *rapid.T, n *race.Node, c regen.Command, fresh bool) {
	asks := string(c.Op) + c.Content.Text() + c.Revision
	run, no := m.ref.take(c.Key, asks, c.Op == regen.OpRegenerate, fresh)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	rec, err := n.Do(ctx, m.key, c)
	if no != "" {
		require.Equal(t, no, refused(err), "%v", err)
		return
	}
	require.NoError(t, err)
	if run != "" {
		require.Equal(t, run, rec.Run)
		require.True(t, rec.Repeat)
		return
	}
	require.False(t, rec.Repeat)
	prompt := c.Content.Text()
	if c.Op == regen.OpRegenerate {
		last := len(m.ref.turns) - 1
		prompt = m.ref.turns[last].prompt
		m.ref.turns = m.ref.turns[:last]
	}
	m.ref.turns = append(m.ref.turns, exchange{prompt: prompt, run: rec.Run})
	m.ref.accepted[c.Key], m.ref.contents[c.Key] = rec.Run, asks
	if m.sub == nil {
		m.sub, _, err = m.nodes[0].Hub.Attach(ctx, m.key, rec.Cursor, func() {
			select {
			case m.ready <- struct{}{}:
			default:
			}
		})
		require.NoError(t, err)
	}
	m.call = wait(t, m.model.calls, "a model call")
	require.Equal(t, prompt, m.call.prompt.Rows[len(m.call.prompt.Rows)-1].Content.Text())
}

func refused(err error) refusal {
	var stale *regen.StaleRevisionError
	var busy *regen.BusyError
	var reused *stream.KeyReusedError
	switch {
	case errors.As(err, &stale):
		return "stale"
	case errors.As(err, &busy):
		return "busy"
	case errors.As(err, &reused):
		return "reused"
	case errors.Is(err, stream.ErrNotFound):
		return "missing"
	}
	return refusal(fmt.Sprint(err))
}

func (m *machine) send(t *rapid.T) {
	m.press(t, m.node(t), regen.Command{Op: regen.OpSend, Key: m.name("k"), Content: regen.Text(m.name("prompt "))}, true)
}

// again repeats a command, or uses its key for something else.
func (m *machine) again(t *rapid.T) {
	if len(m.ref.accepted) == 0 {
		t.Skip("nothing was accepted")
	}
	key := fmt.Sprintf("k%d", rapid.IntRange(1, m.next).Draw(t, "key"))
	if m.ref.accepted[key] == "" {
		t.Skip("not accepted")
	}
	text, sent := strings.CutPrefix(m.ref.contents[key], string(regen.OpSend))
	if !sent || rapid.Bool().Draw(t, "other") {
		text = "something else"
	}
	m.press(t, m.node(t), regen.Command{Op: regen.OpSend, Key: key, Content: regen.Text(text)}, true)
}

func (m *machine) regenerate(t *rapid.T) {
	n := len(m.revisions)
	c := regen.Command{Op: regen.OpRegenerate, Key: m.name("k")}
	at := rapid.IntRange(0, n).Draw(t, "revision")
	if at < n {
		c.Revision = m.revisions[at]
	}
	m.press(t, m.node(t), c, m.minted && at == n-1 && m.ref.active() == nil)
}

func (m *machine) say(t *rapid.T) {
	a := m.ref.active()
	if a == nil {
		t.Skip("idle")
	}
	word := m.name("word ")
	give(t, m.call.say, turn.Delta{Kind: turn.Text, Text: word})
	m.until(t, func(ev stream.Event) bool { return ev.Text == word }) // it is in the log, so a stop keeps it
	a.answer += word
}

// end has the model end as it is told, and looks at what became of the turn.
func (m *machine) end(t *rapid.T) {
	a := m.ref.active()
	if a == nil {
		t.Skip("idle")
	}
	how := rapid.SampledFrom([]string{"stop", "length", "content_filter", "error"}).Draw(t, "end")
	want := map[string]string{"stop": "completed", "length": "length", "content_filter": "filtered", "error": "failed"}[how]
	if how == "error" {
		give(t, m.call.fail, errors.New("no model"))
	} else {
		give(t, m.call.say, turn.Delta{Finish: how})
	}
	if a.answer == "" {
		want = "failed" // nothing to see is no answer
	}
	m.settled(t, a, want)
}

func (m *machine) cancel(t *rapid.T) {
	runs := []string{"0123456789abcdef0123456789abcdef"}
	for _, e := range m.ref.turns {
		runs = append(runs, e.run)
	}
	run := rapid.SampledFrom(runs).Draw(t, "run")
	a := m.ref.active()
	want := stream.StopUnknown
	switch {
	case a != nil && run == a.run:
		want = stream.StopAccepted
	case run == m.ref.lastRun && run != "":
		want = stream.StopLate
	}
	res, err := m.node(t).Cancel(context.Background(), m.key, stream.Stop{Run: run})
	require.NoError(t, err)
	require.Equal(t, want, res.Answer)
	if want == stream.StopAccepted {
		m.settled(t, a, "cancelled")
	}
}

// settled waits for the end of the active turn, as a reader sees it.
func (m *machine) settled(t *rapid.T, a *exchange, want string) {
	m.until(t, func(ev stream.Event) bool {
		if ev.Kind != stream.EventSettled {
			return false
		}
		require.Equal(t, a.run, ev.Settled.Run)
		require.Equal(t, want, ev.Settled.Outcome)
		return true
	})
	a.outcome = want
	m.ref.lastRun = a.run
}

// Check compares the stored document with the reference: it runs after every step.
func (m *machine) Check(t *rapid.T) {
	snap, err := m.nodes[1].Log.Read(context.Background(), m.key, stream.Query{Rows: 1000})
	require.NoError(t, err)
	if len(m.ref.turns) == 0 {
		require.False(t, snap.Head.Exists())
		return
	}
	var got []string
	for _, l := range snap.Document.Rows {
		switch r := l.Row; {
		case r.Role == regen.RoleUser:
			got = append(got, "user "+r.Content.Text())
		case r.Error:
			got = append(got, "error")
		default:
			got = append(got, fmt.Sprintf("answer %s partial %v", r.Content.Text(), r.Partial))
		}
	}
	var want []string
	for _, e := range m.ref.turns {
		want = append(want, "user "+e.prompt)
		bad := e.outcome == "failed" || e.outcome == "cancelled"
		if e.answer != "" && e.outcome != "" {
			want = append(want, fmt.Sprintf("answer %s partial %v", e.answer, bad))
		}
		if bad {
			want = append(want, "error")
		}
	}
	require.Equal(t, want, got)
	rev, ok := snap.Document.Minted()
	m.minted = ok
	if n := len(m.revisions); ok && (n == 0 || m.revisions[n-1] != rev) {
		require.NotContains(t, m.revisions, rev, "an old revision is valid again")
		m.revisions = append(m.revisions, rev)
	}
}

// Whatever a person does, on whatever node, the document is that of a small model of turns: nothing more, nothing less, in order.
// contract: A10, C10
func TestEngineIsTheReference(t *testing.T) {
	srv := embedded.New(embedded.Config{Tick: -1})
	t.Cleanup(srv.Close)
	model := newPuppet()
	var nodes []*race.Node
	for _, name := range []string{"a", "b"} {
		n := race.NewNode(srv.Options(), race.NodeOptions{Name: name, Proc: name, Source: model, NoWatch: true})
		t.Cleanup(n.Stop)
		nodes = append(nodes, n)
	}
	session := 0
	until := time.Now().Add(3 * time.Second)
	if testing.Short() {
		until = time.Now().Add(500 * time.Millisecond)
	}
	failing := false
	rapid.Check(t, func(t *rapid.T) {
		if time.Now().After(until) && !failing {
			return // as many as fit the time
		}
		failing = true // until it has passed
		session++
		m := &machine{
			nodes: nodes, model: model, ready: make(chan struct{}, 1), key: regen.Key{Tenant: "main", Session: fmt.Sprintf("s%d", session)},
			ref: reference{accepted: map[string]string{}, contents: map[string]string{}},
		}
		t.Repeat(map[string]func(*rapid.T){
			"": m.Check, "send": m.send, "again": m.again, "regenerate": m.regenerate, "say": m.say, "end": m.end, "cancel": m.cancel,
		})
		if a := m.ref.active(); a != nil {
			give(t, m.call.fail, errors.New("over"))
			m.settled(t, a, "failed")
		}
		if m.sub != nil {
			m.sub.Close()
		}
		failing = false
	})
	t.Logf("%d sessions", session)
}

func wait[T any](t require.TestingT, c <-chan T, what string) (v T) {
	select {
	case v = <-c:
	case <-time.After(limit):
		require.FailNow(t, "waited too long for "+what)
	}
	return v
}

func give[T any](t require.TestingT, c chan<- T, v T) {
	select {
	case c <- v:
	case <-time.After(limit):
		require.FailNow(t, "nobody listens to the model")
	}
}
