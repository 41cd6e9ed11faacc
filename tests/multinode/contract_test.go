package multinode_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/client"
	"holdfast/gateway/wire"
	"holdfast/stream/upstream/demo"
	"holdfast/tests/cluster"
	"holdfast/tests/history"
)

// Every node dies in mid-answer and one comes back: what was shown is there, and the session takes the next message as soon as the dead
// owner's lease allows, with tabs that come back at the same time.
// contract: B11, C9, E10
// case: FC25, FC30
func TestAllNodesKilled(t *testing.T) {
	const ttl = 2 * time.Second
	c := cluster.Start(t, cluster.Options{Nodes: 2, LeaseTTL: ttl})
	ctx := within(t)
	a := c.Client(t, 0)
	rec, err := a.Send(ctx, "s1", "/long 2000", client.SendOptions{})
	require.NoError(t, err)
	var shown strings.Builder
	_, err = a.Until(ctx, func(ev client.Event) bool {
		if ev.Event == wire.EventDelta {
			shown.WriteString(ev.Text)
		}
		return shown.Len() > 2000
	})
	require.NoError(t, err)
	c.Kill(0)
	c.Kill(1)
	killed := time.Now()
	c.Restart(1)
	b, other := c.Client(t, 1), c.Client(t, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := other.Attach(ctx, "s1"); err != nil {
			t.Error(err)
		}
	})
	var next client.Receipt
	refusals := 0
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		next, err = b.Send(ctx, "s1", "/fast /echo on", client.SendOptions{})
		if err == nil {
			break
		}
		var refused *wire.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, wire.SessionActive, refused.Code)
		refusals++
		require.Less(t, time.Since(killed), 10*ttl)
	}
	wg.Wait()
	t.Logf("taken %v after the kill, %d refusals", time.Since(killed), refusals)
	_, err = b.Settled(ctx, next.Run)
	require.NoError(t, err)
	script := demo.Script("/long 2000", rec.Run)
	require.True(t, strings.HasPrefix(script, shown.String()))
	view, err := c.Client(t, 1).Attach(ctx, "s1")
	require.NoError(t, err)
	require.Len(t, view.Document.Rows, 5)
	row := string(view.Document.Rows[1])
	require.Contains(t, row, shown.String()[len(shown.String())-200:])
	require.Contains(t, string(view.Document.Rows[2]), `"interrupted":"owner_lost"`)
	c.Verify(t, history.Options{})
}

// A page that was away for three turns clicks on regenerate, on another node, with what it last saw: it is told so, and nothing is lost.
// contract: A10, F7
// case: FC03
func TestPageOutOfDateDeletesNothing(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	ctx := within(t)
	a, b := c.Client(t, 0), c.Client(t, 1)
	rec, err := a.Send(ctx, "s1", "/fast /echo one", client.SendOptions{})
	require.NoError(t, err)
	ev, err := a.Settled(ctx, rec.Run)
	require.NoError(t, err)
	seen := ev.Revision
	for range 3 {
		rec, err = b.Send(ctx, "s1", "/fast /echo more", client.SendOptions{})
		require.NoError(t, err)
		_, err = b.Settled(ctx, rec.Run)
		require.NoError(t, err)
	}
	before, err := c.Dump(ctx, "s1")
	require.NoError(t, err)
	var refused *wire.Error
	_, err = a.Regenerate(ctx, "s1", seen, client.SendOptions{})
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, "stale_regeneration_revision", refused.Code)
	after, err := c.Dump(ctx, "s1")
	require.NoError(t, err)
	require.Equal(t, before.Rows, after.Rows)
	c.Verify(t, history.Options{})
}

// Nothing that was brought along in private fields reaches a tab, whatever happens to the session; what a person put into a file's
// description is theirs and stays.
// contract: A4, A7, F12
func TestPlantedFieldsAreInNoFrame(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	ctx := within(t)
	const body = `{"session":"s1","rows":[
		{"role":"user","content":"/fast /echo hello","_token":"planted-1","_source":"webui","_fork_child":"planted-2","api_content":"planted-3","_active_turn_token":"planted-4","attachments":[{"name":"a","_token":"mine"}]},
		{"role":"assistant","content":"hi","_token":"planted-5","db_id":"planted-6"}]}`
	resp, err := http.Post(c.URL(0)+"/v1/sessions", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	var mu sync.Mutex
	var frames strings.Builder
	tab, err := client.Dial(ctx, c.WS(1), client.Options{OnFrame: func(frame json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		frames.Write(frame)
	}})
	require.NoError(t, err)
	defer func() { _ = tab.Abort() }()
	view, err := tab.Attach(ctx, "s1")
	require.NoError(t, err)
	require.NotEmpty(t, view.Document.Revision)
	rec, err := tab.Regenerate(ctx, "s1", view.Document.Revision, client.SendOptions{})
	require.NoError(t, err)
	for {
		ev, err := tab.Next(ctx)
		require.NoError(t, err)
		if ev.Event == wire.EventSettled && ev.Run == rec.Run {
			require.Equal(t, "completed", ev.Outcome)
			break
		}
	}
	_, err = tab.Send(ctx, "s1", "/error", client.SendOptions{})
	require.NoError(t, err)
	for {
		ev, err := tab.Next(ctx)
		require.NoError(t, err)
		if ev.Event == wire.EventSettled {
			break
		}
	}
	_, err = tab.Attach(ctx, "nobody's")
	require.Error(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, frames.String(), `"_token":"mine"`)
	require.NotContains(t, frames.String(), "planted")
}

// Read-only is forbidden and unknown is not found, on every node; neither says more.
// contract: A7, F12
func TestReadOnlyIsNotUnknown(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	ctx := within(t)
	resp, err := http.Post(c.URL(0)+"/v1/sessions", "application/json",
		strings.NewReader(`{"session":"s1","read_only":true,"rows":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	dump, err := c.Dump(ctx, "s1")
	require.NoError(t, err)
	status := func(err error) int {
		var refused *wire.Error
		require.True(t, errors.As(err, &refused), "%v", err)
		return refused.Status
	}
	for i := range 2 {
		tab := c.Client(t, i)
		view, err := tab.Attach(ctx, "s1")
		require.NoError(t, err)
		require.Len(t, view.Document.Rows, 2)
		require.Empty(t, view.Document.Revision)
		_, err = tab.Client.Send(ctx, "s1", "x", client.SendOptions{})
		require.Equal(t, 403, status(err))
		_, err = tab.Client.Regenerate(ctx, "s1", dump.Head["rev"], client.SendOptions{})
		require.Equal(t, 403, status(err))
		_, err = tab.Client.Regenerate(ctx, "nope", "x", client.SendOptions{})
		require.Equal(t, 404, status(err))
	}
	after, err := c.Dump(ctx, "s1")
	require.NoError(t, err)
	require.Equal(t, dump.Rows, after.Rows)
}
