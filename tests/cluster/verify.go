package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/regen"
	"holdfast/tests/history"
)

// idleLimit is how long Verify waits for every run to end.
const idleLimit = time.Minute

// Redis is a client of the nodes' Redis, past every proxy. It is closed with the test.
func (c *Cluster) Redis() redis.UniversalClient { return c.redis }

// Dump reads a session of tenant main and records it.
func (c *Cluster) Dump(ctx context.Context, session string) (history.Store, error) {
	s, err := history.Dump(ctx, c.redis, regen.Key{Tenant: "main", Session: session})
	if err == nil {
		c.Recorder.Dumped(s)
	}
	return s, err
}

// Owner is the name of the node that holds a session's lease, and its epoch; "" when nobody does.
func (c *Cluster) Owner(ctx context.Context, session string) (node, epoch string, err error) {
	m, err := c.redis.HGetAll(ctx, "hf1:{main/"+session+"}:lease").Result()
	return m["node"], m["epoch"], err
}

// Index is the number of a node by its name; -1 for "" and for a stranger.
func (c *Cluster) Index(name string) int {
	for i, n := range c.nodes {
		if n.name == name {
			return i
		}
	}
	return -1
}

// AwaitIdle waits until a session has no active run.
func (c *Cluster) AwaitIdle(ctx context.Context, session string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		run, err := c.redis.HGet(ctx, "hf1:{main/"+session+"}:head", "run").Result()
		switch {
		case err == nil && run == "", errors.Is(err, redis.Nil):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("session %s: not known to be idle: %w", session, context.Cause(ctx))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("session %s: run %q is still active: %w", session, run, context.Cause(ctx))
		}
	}
}

// Verify waits until every session that a command was sent to is idle, dumps it, and fails the test with every invariant that does
// not hold.
func (c *Cluster) Verify(tb testing.TB, o history.Options) {
	tb.Helper()
	ctx := context.Background()
	limited, cancel := context.WithTimeout(ctx, idleLimit)
	defer cancel()
	for _, key := range c.Recorder.Sessions() {
		if err := c.AwaitIdle(limited, key.Session); err != nil {
			tb.Error(err) // and go on: the history says more
		}
		if _, err := c.Dump(ctx, key.Session); err != nil {
			tb.Error(err)
		}
	}
	c.Recorder.Verify(tb, o)
}
