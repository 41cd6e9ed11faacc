package cluster_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/client"
	"holdfast/gateway/wire"
	"holdfast/stream"
	"holdfast/tests/cluster"
	"holdfast/tests/history"
)

// patience bounds one test; it is ten times what a busy machine needs.
const patience = 90 * time.Second

func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func isDelta(ev client.Event) bool { return ev.Event == wire.EventDelta }

// A turn on one node is seen on another, and everything that both saw and the store holds agrees.
func TestTwoNodesServeOneSession(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	ctx := limit(t)
	a, b := c.Client(t, 0), c.Client(t, 1)
	r, err := a.Send(ctx, "s1", "/long 60", client.SendOptions{})
	require.NoError(t, err)
	_, err = a.Until(ctx, isDelta)
	require.NoError(t, err)
	view, err := b.Attach(ctx, "s1")
	require.NoError(t, err)
	require.NotNil(t, view.Document)
	ev, err := b.Settled(ctx, r.Run)
	require.NoError(t, err)
	require.Equal(t, "completed", ev.Outcome)
	_, err = a.Settled(ctx, r.Run)
	require.NoError(t, err)
	owner, _, err := c.Owner(ctx, "s1")
	require.NoError(t, err)
	require.Equal(t, 0, c.Index(owner))

	again, err := b.Regenerate(ctx, "s1", ev.Revision, client.SendOptions{})
	require.NoError(t, err)
	_, err = b.Cancel(ctx, "s1", again.Run)
	require.NoError(t, err)
	_, err = b.Settled(ctx, again.Run)
	require.NoError(t, err)
	_, err = a.Settled(ctx, again.Run)
	require.NoError(t, err)
	_, err = a.Regenerate(ctx, "s1", ev.Revision, client.SendOptions{})
	require.ErrorContains(t, err, string(wire.StaleRevision))
	c.Verify(t, history.Options{})
}

// A node that is killed in mid-answer costs the answer's end and nothing else: the other node settles it, and the tab comes back.
func TestKilledNode(t *testing.T) {
	c := cluster.Start(t, cluster.Options{LeaseTTL: 2 * time.Second})
	ctx := limit(t)
	a, b := c.Client(t, 0), c.Client(t, 1)
	r, err := a.Send(ctx, "s1", "/slow /long 4000", client.SendOptions{})
	require.NoError(t, err)
	_, err = b.Attach(ctx, "s1")
	require.NoError(t, err)
	_, err = b.Until(ctx, isDelta)
	require.NoError(t, err)
	c.Kill(0)
	require.False(t, c.Alive(0))
	ev, err := b.Settled(ctx, r.Run)
	require.NoError(t, err)
	require.Equal(t, "interrupted", ev.Outcome)
	require.NoError(t, a.Reconnect(ctx, 1))
	_, err = a.Attach(ctx, "s1")
	require.NoError(t, err)
	_, err = a.Settled(ctx, r.Run)
	require.NoError(t, err)
	old := c.URL(0)
	c.Restart(0)
	require.NotEqual(t, old, c.URL(0))
	require.NoError(t, a.Reconnect(ctx, 0))
	view, err := a.Attach(ctx, "s1")
	require.NoError(t, err)
	require.Nil(t, view.Document, "its cursor is good on every node")
	c.Verify(t, history.Options{})
}

// A paused node stands still with its sockets open, and goes on where it was.
func TestPausedNode(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	ctx := limit(t)
	a := c.Client(t, 0)
	require.NotZero(t, c.Sockets(0))
	c.Pause(0)
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	require.False(t, c.Ready(short, 0))
	require.Error(t, a.Ping(short))
	c.Resume(0)
	require.NoError(t, a.Ping(ctx))
}

// A node that is asked to end drains and ends in order, and says so.
func TestTerminatedNode(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, Args: []string{"--drain-timeout", "1s"}})
	ctx := limit(t)
	a := c.Client(t, 0)
	_, err := a.Send(ctx, "s1", "/fast hello", client.SendOptions{})
	require.NoError(t, err)
	c.Term(0)
	require.True(t, c.AwaitLog(ctx, 0, "draining"))
	require.NoError(t, c.Wait(0))
	require.Contains(t, c.Logs(0), "listening on")
	_, err = http.Get(c.URL(0) + "/livez")
	require.Error(t, err)
	c.Verify(t, history.Options{})
}

// A node can be cut off from Redis alone, and the history of a client that got no answer still adds up.
func TestNodeCutOffFromRedis(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Proxy: true})
	ctx := limit(t)
	a := c.Client(t, 0)
	c.Proxy(0).Refuse()
	_, err := a.Send(ctx, "s1", "/fast hello", client.SendOptions{Key: "k1"})
	require.ErrorContains(t, err, string(wire.Unavailable))
	b := c.Client(t, 1)
	r, err := b.Send(ctx, "s1", "/fast hello", client.SendOptions{Key: "k1"})
	require.NoError(t, err)
	_, err = b.Settled(ctx, r.Run)
	require.NoError(t, err)
	c.Proxy(0).Heal()
	c.Verify(t, history.Options{})
}

// The history is not blind: a frame that the server never sent is found among real ones.
func TestHistoryOfRealNodesFindsAForgedFrame(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	ctx := limit(t)
	a := c.Client(t, 0)
	r, err := a.Send(ctx, "s1", "/echo ORCHID", client.SendOptions{})
	require.NoError(t, err)
	ev, err := a.Settled(ctx, r.Run)
	require.NoError(t, err)
	c.Verify(t, history.Options{})
	before, err := stream.ParseCursor(ev.Cursor)
	require.NoError(t, err)
	before.ID.Seq = ev.From - 1
	forger := c.Recorder.Reader("", "forger", "n1")
	forger.Saw([]byte(`{"re":1,"ok":{"session":"s1","run":null,"cursor":"` + before.String() + `"}}`))
	forger.Saw([]byte(strings.ReplaceAll(string(ev.Raw), "ORCHID", "WALNUT")))
	names := map[string]bool{}
	for _, v := range c.Recorder.Check(history.Options{}) {
		names[v.Name] = true
	}
	require.Equal(t, map[string]bool{history.I2: true, history.I6: true}, names)
}
