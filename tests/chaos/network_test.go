package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/tests/cluster"
	"holdfast/tests/history"
)

// One node after the other is cut off from Redis without a word, for longer than its leases: others take over, and the node that comes back
// writes nothing of the past.
func TestNodeIsCutOff(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, Proxy: true, LeaseTTL: time.Second})
	l, end := start(t, c, tabs)
	during(t, 500*time.Millisecond, func(i int) {
		c.Proxy(i % 3).Blackhole()
		after(3 * time.Second)
		c.Proxy(i % 3).Heal()
	})
	end()
	require.NotZero(t, l.turns())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// What Redis does is done, but its answers are lost: nothing is doubled.
func TestRepliesAreLost(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2, Proxy: true, LeaseTTL: 2 * time.Second})
	l, end := start(t, c, tabs)
	during(t, 300*time.Millisecond, func(i int) {
		c.Proxy(i % 2).LoseReplies()
		after(300 * time.Millisecond)
		c.Proxy(i % 2).Heal()
	})
	end()
	require.NotZero(t, l.turns())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// Every connection to Redis is cut again and again: no answer is cut.
func TestConnectionsAreCut(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2, Proxy: true, LeaseTTL: 2 * time.Second})
	l, end := start(t, c, tabs)
	during(t, 250*time.Millisecond, func(i int) { c.Proxy(i % 2).Cut() })
	end()
	require.NotZero(t, l.turns())
	require.Zero(t, l.cut())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// Redis is far away: a fifth of a second each way changes nothing but the speed.
func TestRedisIsFarAway(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2, Proxy: true})
	for i := range 2 {
		c.Proxy(i).Delay(100 * time.Millisecond)
	}
	l, end := start(t, c, tabs)
	after(*long)
	end()
	require.NotZero(t, l.turns())
	require.Zero(t, l.cut())
	c.Verify(t, history.Options{SettleWithin: limit})
}
