package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/tests/cluster"
	"holdfast/tests/history"
	"holdfast/tests/redistest"
)

// Redis is killed and comes back with everything it acknowledged: the same answers go on, none is cut.
func TestRedisRestartsWithItsData(t *testing.T) {
	srv := redistest.Server(t, "--appendonly", "yes", "--appendfsync", "always")
	c := cluster.Start(t, cluster.Options{Nodes: 2, Server: srv, LeaseTTL: 2 * time.Second})
	l, end := start(t, c, tabs)
	during(t, 2*time.Second, func(int) { srv.Restart() })
	end()
	require.NotZero(t, l.turns())
	require.Zero(t, l.cut())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// Redis is killed and comes back empty: what is lost is loud, nothing is glued to something else, and new turns work at once.
func TestRedisForgetsEverything(t *testing.T) {
	srv := redistest.Server(t)
	c := cluster.Start(t, cluster.Options{Nodes: 2, Server: srv, LeaseTTL: time.Second})
	l, end := start(t, c, tabs)
	during(t, 3*time.Second, func(int) { srv.Restart() })
	end()
	require.NotZero(t, l.turns())
	c.Verify(t, history.Options{StoreLost: true})
}

// Redis does not answer for longer than every lease lasts: when it does again, the same answers go on, none is cut.
func TestRedisStandsStill(t *testing.T) {
	srv := redistest.Server(t)
	c := cluster.Start(t, cluster.Options{Nodes: 3, Server: srv, LeaseTTL: time.Second})
	l, end := start(t, c, tabs)
	during(t, time.Second, func(int) {
		srv.Pause()
		after(4 * time.Second)
		srv.Resume()
	})
	end()
	require.NotZero(t, l.turns())
	require.Zero(t, l.cut())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// Redis forgets its scripts again and again, as after a fail-over: nobody notices.
func TestScriptsAreForgotten(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	l, end := start(t, c, tabs)
	during(t, 100*time.Millisecond, func(int) {
		require.NoError(t, c.Redis().ScriptFlush(t.Context()).Err())
	})
	end()
	require.NotZero(t, l.turns())
	require.Zero(t, l.cut())
	c.Verify(t, history.Options{SettleWithin: limit})
}

// The memory of Redis is full while answers run: they are settled all the same, new ones are refused, and when there is room again all is
// as before.
func TestRedisIsFull(t *testing.T) {
	srv := redistest.Server(t)
	c := cluster.Start(t, cluster.Options{Nodes: 2, Server: srv})
	l, end := start(t, c, tabs)
	during(t, 1500*time.Millisecond, func(int) {
		require.NoError(t, c.Redis().ConfigSet(t.Context(), "maxmemory", "1").Err())
		after(time.Second)
		require.NoError(t, c.Redis().ConfigSet(t.Context(), "maxmemory", "0").Err())
	})
	end()
	require.NotZero(t, l.turns())
	c.Verify(t, history.Options{SettleWithin: limit})
}
