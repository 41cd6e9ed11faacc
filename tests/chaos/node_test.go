package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/tests/cluster"
	"holdfast/tests/history"
)

const tabs = 24

// Nodes die under load, one after the other: every accepted run is settled once, and every word that was seen stays.
func TestNodesAreKilled(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, LeaseTTL: 2 * time.Second})
	l, end := start(t, c, tabs)
	during(t, 1500*time.Millisecond, func(i int) {
		c.Kill(i % 3)
		after(200 * time.Millisecond)
		c.Restart(i % 3)
	})
	end()
	require.NotZero(t, l.turns())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// A node stands still for longer than its leases and comes back: its sessions were taken over, it writes nothing more, and nobody sees two
// answers.
func TestNodeIsPausedBeyondItsLeases(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, LeaseTTL: time.Second})
	l, end := start(t, c, tabs)
	during(t, 500*time.Millisecond, func(i int) {
		c.Pause(i % 3)
		after(2500 * time.Millisecond)
		c.Resume(i % 3)
	})
	end()
	require.NotZero(t, l.turns())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// The only node stands still for longer than its leases: nobody came between, so no answer is cut.
func TestPauseWithoutTakeOverCutsNothing(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1, LeaseTTL: time.Second})
	l, end := start(t, c, tabs)
	during(t, 500*time.Millisecond, func(int) {
		c.Pause(0)
		after(2 * time.Second)
		c.Resume(0)
	})
	end()
	require.NotZero(t, l.turns())
	require.Zero(t, l.cut())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// A node gets next to no time: it stands still for nine tenths of every fifth of a second, and nothing is lost.
func TestStarvedNode(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2, LeaseTTL: 2 * time.Second})
	l, end := start(t, c, tabs)
	during(t, 20*time.Millisecond, func(int) {
		c.Pause(0)
		after(180 * time.Millisecond)
		c.Resume(0)
	})
	end()
	require.NotZero(t, l.turns())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// A rolling restart under load cuts no answer.
func TestRollingRestartCutsNothing(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 3, LeaseTTL: 2 * time.Second, Args: []string{"--drain-timeout", "60s"}})
	l, end := start(t, c, tabs)
	for i := range 3 {
		c.Term(i)
		require.NoError(t, c.Wait(i))
		c.Restart(i)
	}
	end()
	require.NotZero(t, l.turns())
	require.Zero(t, l.cut())
	c.Verify(t, history.Options{SettleWithin: limit})
}
