package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/client"
	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/tests/history"
)

// dialLimit is how long Client and Reconnect wait for a node.
const dialLimit = 30 * time.Second

// Client is one tab: a connection whose commands and frames are recorded, and after Reconnect the next one. The methods of the embedded
// connection that are not shadowed here send commands that the history does not know of.
type Client struct {
	*client.Client
	// Name is the reader's name in the history.
	Name string

	cluster *Cluster
	node    int
}

// Client connects a new tab to a node. It is closed with the test.
func (c *Cluster) Client(tb testing.TB, node int) *Client {
	tb.Helper()
	c.mu.Lock()
	c.clients++
	name := fmt.Sprintf("tab%d", c.clients)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	x, err := c.Dial(ctx, name, node)
	if err != nil {
		tb.Fatalf("client of node %s: %v", c.Name(node), err)
	}
	tb.Cleanup(func() { _ = x.Abort() })
	return x
}

// Dial connects a tab of that name to a node. Closing it is the caller's.
func (c *Cluster) Dial(ctx context.Context, name string, node int) (*Client, error) {
	x := &Client{Name: name, cluster: c, node: node}
	return x, x.dial(ctx, nil)
}

func (x *Client) dial(ctx context.Context, cursors map[string]string) error {
	reader := x.cluster.Recorder.Reader("", x.Name, x.cluster.Name(x.node))
	conn, err := client.Dial(ctx, x.cluster.WS(x.node), client.Options{OnFrame: reader.Saw, Cursors: cursors})
	if err != nil {
		return err
	}
	x.Client = conn
	return nil
}

// Reconnect ends the tab's connection, unless it has ended, and connects to a node with the cursors that it has. Events that nobody took
// from the old connection are gone. Attach goes on from there. Nobody may use the tab meanwhile; when it fails, the old connection stays.
func (x *Client) Reconnect(ctx context.Context, node int) error {
	_ = x.Abort()
	x.node = node
	return x.dial(ctx, x.Cursors())
}

// Node is the node of the present connection.
func (x *Client) Node() int { return x.node }

// Send sends a text and records what became of it.
func (x *Client) Send(ctx context.Context, session, text string, o client.SendOptions) (client.Receipt, error) {
	return x.record(history.Command{Session: session, Op: wire.OpSend, Content: text}, o, func(o client.SendOptions) (client.Receipt, error) {
		return x.Client.Send(ctx, session, text, o)
	})
}

// SendContent sends content as JSON and records what became of it.
func (x *Client) SendContent(ctx context.Context, session string, content json.RawMessage, o client.SendOptions) (client.Receipt, error) {
	c := history.Command{Session: session, Op: wire.OpSend}
	if parsed, err := regen.ParseContent(content); err == nil {
		c.Content = parsed.Text()
	}
	return x.record(c, o, func(o client.SendOptions) (client.Receipt, error) {
		return x.Client.SendContent(ctx, session, content, o)
	})
}

// Regenerate asks for the last answer again and records what became of it.
func (x *Client) Regenerate(ctx context.Context, session, revision string, o client.SendOptions) (client.Receipt, error) {
	c := history.Command{Session: session, Op: wire.OpRegenerate, Revision: revision}
	return x.record(c, o, func(o client.SendOptions) (client.Receipt, error) {
		return x.Client.Regenerate(ctx, session, revision, o)
	})
}

func (x *Client) record(c history.Command, o client.SendOptions, do func(client.SendOptions) (client.Receipt, error)) (client.Receipt, error) {
	if o.Key == "" {
		o.Key = client.NewKey() // known before the answer, for what never gets one
	}
	c.Key, c.Sent = o.Key, time.Now()
	r, err := do(o)
	if err == nil {
		receipt := r.Receipt
		c.Receipt = &receipt
	}
	x.sent(c, err)
	return r, err
}

// sent completes a command and records it.
func (x *Client) sent(c history.Command, err error) {
	c.Reader, c.Node, c.Answered = x.Name, x.cluster.Name(x.node), time.Now()
	var refused *wire.Error
	switch {
	case errors.As(err, &refused):
		c.Code = refused.Code
	case err != nil:
		c.Unknown = true
	}
	x.cluster.Recorder.Sent(c)
}

// Cancel stops a run and records the answer.
func (x *Client) Cancel(ctx context.Context, session, run string) (wire.Cancelled, error) {
	c := history.Command{Session: session, Op: wire.OpCancel, Run: run, Sent: time.Now()}
	done, err := x.Client.Cancel(ctx, session, run)
	c.Cancel = done.Cancel
	x.sent(c, err)
	return done, err
}

// CancelOf stops the run of a command whose receipt has not come yet, and records the answer.
func (x *Client) CancelOf(ctx context.Context, session, key string) (wire.Cancelled, error) {
	c := history.Command{Session: session, Op: wire.OpCancel, Of: key, Sent: time.Now()}
	done, err := x.Client.CancelOf(ctx, session, key)
	c.Cancel, c.Run = done.Cancel, done.Run
	x.sent(c, err)
	return done, err
}

// Until takes events until one is what is looked for, and gives it. Its error is Next's.
func (x *Client) Until(ctx context.Context, found func(client.Event) bool) (client.Event, error) {
	for {
		ev, err := x.Next(ctx)
		if err != nil || found(ev) {
			return ev, err
		}
	}
}

// Settled takes events until the settlement of run, or until a reset that shows the run as no longer active.
func (x *Client) Settled(ctx context.Context, run string) (client.Event, error) {
	return x.Until(ctx, func(ev client.Event) bool {
		switch ev.Event {
		case wire.EventSettled:
			return ev.Run == run
		case wire.EventReset:
			return ev.View.Run == nil || ev.View.Run.Run != run
		}
		return false
	})
}
