package multinode_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"holdfast/client"
	"holdfast/gateway/wire"
	"holdfast/stream/upstream/demo"
	"holdfast/tests/cluster"
	"holdfast/tests/history"
)

// The figures in docs/performance.md come from -rounds 10 and both times.
var (
	rounds   = flag.Int("rounds", 3, "how often TestKilledOwner kills an owner")
	leaseTTL = flag.Duration("ttl", 3*time.Second, "the lease of TestKilledOwner")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is ten times what a step needs on a busy machine.
const limit = 90 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// hasText is true once a tab has seen so many bytes of text.
func hasText(bytes int) func(client.Event) bool {
	seen := 0
	return func(ev client.Event) bool {
		switch ev.Event {
		case wire.EventReset:
			seen = 0
		case wire.EventDelta:
			seen += len(ev.Text)
		}
		return seen >= bytes
	}
}

// answer reads the text that a tab got of a run, to its end.
func answer(ctx context.Context, t *testing.T, c *cluster.Client, run string) (text, outcome string) {
	t.Helper()
	var b strings.Builder
	ev, err := c.Until(ctx, func(ev client.Event) bool {
		switch {
		case ev.Event == wire.EventReset:
			b.Reset()
		case ev.Event == wire.EventDelta && ev.Run == run && ev.Kind == "text":
			b.WriteString(ev.Text)
		}
		return ev.Event == wire.EventSettled && ev.Run == run
	})
	require.NoError(t, err)
	return b.String(), ev.Outcome
}

// A tab on either node sees every word of a turn that runs on the other, and of one that is joined in the middle.
func TestEveryWordOnEveryNode(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	ctx := within(t)
	a, b, late := c.Client(t, 0), c.Client(t, 1), c.Client(t, 1)
	rec, err := a.Send(ctx, "s1", "/long 120", client.SendOptions{})
	require.NoError(t, err)
	_, err = b.Attach(ctx, "s1")
	require.NoError(t, err)
	_, err = b.Until(ctx, hasText(100))
	require.NoError(t, err)
	view, err := late.Attach(ctx, "s1")
	require.NoError(t, err)
	require.NotNil(t, view.Run)
	want := demo.Script("/long 120", rec.Run)
	var wg sync.WaitGroup
	for _, tab := range []*cluster.Client{a, late} {
		wg.Go(func() {
			text, outcome := answer(ctx, t, tab, rec.Run)
			require.Equal(t, want, text)
			require.Equal(t, "completed", outcome)
		})
	}
	wg.Wait()
	_, err = b.Settled(ctx, rec.Run)
	require.NoError(t, err)
	c.Verify(t, history.Options{})
}

// A stop works from the other node, and also before the receipt came.
func TestStopFromAnywhere(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	ctx := within(t)
	a, b := c.Client(t, 0), c.Client(t, 1)
	rec, err := a.Send(ctx, "s1", "/stall", client.SendOptions{})
	require.NoError(t, err)
	_, err = a.Until(ctx, hasText(1))
	require.NoError(t, err)
	done, err := b.Cancel(ctx, "s1", rec.Run)
	require.NoError(t, err)
	require.Equal(t, "accepted", string(done.Cancel))
	ev, err := a.Settled(ctx, rec.Run)
	require.NoError(t, err)
	require.Equal(t, "cancelled", ev.Outcome)

	for i := range 10 { // a stop that overtakes its command, comes beside it, or after it
		key := fmt.Sprintf("early-%d", i)
		var rec client.Receipt
		var wg sync.WaitGroup
		wg.Go(func() { _, err = b.CancelOf(ctx, "s1", key) })
		wg.Go(func() {
			var sendErr error
			rec, sendErr = a.Send(ctx, "s1", "/stall", client.SendOptions{Key: key})
			require.NoError(t, sendErr)
		})
		wg.Wait()
		require.NoError(t, err)
		ev, err := a.Settled(ctx, rec.Run)
		require.NoError(t, err)
		require.Equal(t, "cancelled", ev.Outcome)
	}
	c.Verify(t, history.Options{})
}

// A regenerate and a send at one moment on two nodes: one is accepted, the other gets a 409, and the document shows the winner's turn
// alone.
// contract: S10, S11, A11
func TestRaceHasOneWinner(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	ctx := within(t)
	a, b := c.Client(t, 0), c.Client(t, 1)
	rec, err := a.Send(ctx, "s1", "/fast /echo first", client.SendOptions{})
	require.NoError(t, err)
	wins := map[string]int{}
	for i := range 20 {
		ev, err := a.Settled(ctx, rec.Run)
		require.NoError(t, err)
		var regenerate, send client.Receipt
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { regenerate, errs[0] = a.Regenerate(ctx, "s1", ev.Revision, client.SendOptions{}) })
		wg.Go(func() {
			send, errs[1] = b.Send(ctx, "s1", fmt.Sprintf("/fast /echo %d", i), client.SendOptions{})
		})
		wg.Wait()
		var refused *wire.Error
		switch {
		case errs[0] == nil && errs[1] == nil:
			// Both can be right only if the send came when the regenerate had ended.
			t.Logf("round %d: one after the other", i)
			_, err = a.Settled(ctx, regenerate.Run)
			require.NoError(t, err)
			rec = send
		case errs[0] == nil:
			require.ErrorAs(t, errs[1], &refused)
			require.Equal(t, 409, refused.Status)
			rec = regenerate
			wins["regenerate"]++
		default:
			require.NoError(t, errs[1])
			require.ErrorAs(t, errs[0], &refused)
			require.Equal(t, 409, refused.Status)
			rec = send
			wins["send"]++
		}
	}
	_, err = a.Settled(ctx, rec.Run)
	require.NoError(t, err)
	t.Logf("winners: %v", wins)
	c.Verify(t, history.Options{})
}

// kill -9 of the owner in mid-answer: one settled run on the other node, with every word that was shown, within the lease's time.
// contract: C5, C9
func TestKilledOwner(t *testing.T) {
	ttl := *leaseTTL
	c := cluster.Start(t, cluster.Options{Nodes: 2, LeaseTTL: ttl})
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(*rounds)*limit)
	defer cancel()
	var took []time.Duration
	for i := range *rounds {
		session := fmt.Sprintf("s%d", i)
		owner := i % 2
		a, b := c.Client(t, owner), c.Client(t, 1-owner)
		rec, err := a.Send(ctx, session, "/long 2000", client.SendOptions{})
		require.NoError(t, err)
		_, err = b.Attach(ctx, session)
		require.NoError(t, err)
		_, err = b.Until(ctx, hasText(200))
		require.NoError(t, err)
		c.Kill(owner)
		killed := time.Now()
		ev, err := b.Settled(ctx, rec.Run)
		require.NoError(t, err)
		took = append(took, time.Since(killed))
		require.Equal(t, "interrupted", ev.Outcome)
		require.Equal(t, c.Name(1-owner), ev.Node)
		again, err := b.Regenerate(ctx, session, ev.Revision, client.SendOptions{})
		require.NoError(t, err)
		_, err = b.Cancel(ctx, session, again.Run)
		require.NoError(t, err)
		_, err = b.Settled(ctx, again.Run)
		require.NoError(t, err)
		c.Restart(owner)
	}
	t.Logf("kill to settled, lease %v: %v", ttl, took)
	for _, d := range took {
		require.Less(t, d, 10*ttl)
	}
	c.Verify(t, history.Options{})
}

// A tab that loses its connection again and again, on changing nodes, has every word once.
func TestResumeOnChangingNodes(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3})
	ctx := within(t)
	a := c.Client(t, 0)
	rec, err := a.Send(ctx, "s1", "/long 300", client.SendOptions{})
	require.NoError(t, err)
	var b strings.Builder
	ended := false
	for i := 1; !ended; i++ {
		_, err := a.Until(ctx, func(ev client.Event) bool {
			if ev.Event == wire.EventDelta {
				b.WriteString(ev.Text)
			}
			ended = ended || ev.Event == wire.EventSettled
			return ended || ev.Event == wire.EventDelta
		})
		require.NoError(t, err)
		if ended || i > 40 {
			continue
		}
		require.NoError(t, a.Reconnect(ctx, i%3))
		view, err := a.Attach(ctx, "s1")
		require.NoError(t, err)
		require.Nil(t, view.Document, "the cursor is accepted")
	}
	require.Equal(t, demo.Script("/long 300", rec.Run), b.String())
	c.Verify(t, history.Options{})
}

// A node that is told to end lets its answer end, and cuts nothing.
func TestTermCutsNothing(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2, Args: []string{"--drain-timeout", "60s"}})
	ctx := within(t)
	a, b := c.Client(t, 0), c.Client(t, 1)
	rec, err := a.Send(ctx, "s1", "/long 100", client.SendOptions{})
	require.NoError(t, err)
	_, err = b.Attach(ctx, "s1")
	require.NoError(t, err)
	_, err = b.Until(ctx, hasText(20))
	require.NoError(t, err)
	c.Term(0)
	ev, err := b.Settled(ctx, rec.Run)
	require.NoError(t, err)
	require.Equal(t, "completed", ev.Outcome)
	require.NoError(t, c.Wait(0))
	next, err := b.Send(ctx, "s1", "/fast /echo on", client.SendOptions{})
	require.NoError(t, err)
	_, err = b.Settled(ctx, next.Run)
	require.NoError(t, err)
	c.Verify(t, history.Options{})
}
