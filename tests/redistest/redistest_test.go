package redistest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/tests/redistest"
)

// A server keeps what it was told to keep, through a power cut, and nothing else.
func TestServerRestart(t *testing.T) {
	for args, kept := range map[string]bool{"no": false, "yes": true} {
		p := redistest.Server(t, "--appendonly", args, "--appendfsync", "always")
		rdb := redis.NewClient(p.Options())
		require.NoError(t, rdb.Set(t.Context(), "k", "v", 0).Err())
		p.Restart()
		require.NoError(t, rdb.Close())
		rdb = redis.NewClient(p.Options())
		require.Equal(t, kept, rdb.Get(t.Context(), "k").Err() == nil)
		require.NoError(t, rdb.Close())
	}
}

// A reply that the proxy loses is a time-out for the client, and the server has done what it was asked.
func TestProxyLosesReplies(t *testing.T) {
	p := redistest.Server(t)
	proxy := redistest.NewProxy(t, p.Addr())
	direct := redis.NewClient(p.Options())
	defer func() { _ = direct.Close() }()
	o := p.Options()
	o.Addr, o.ReadTimeout = proxy.Addr(), 200*time.Millisecond
	rdb := redis.NewClient(o)
	defer func() { _ = rdb.Close() }()
	require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	proxy.LoseReplies()
	require.Error(t, rdb.Incr(t.Context(), "n").Err())
	proxy.Heal()
	require.Eventually(t, func() bool { return direct.Get(t.Context(), "n").Val() == "2" }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	proxy.Refuse()
	require.Error(t, rdb.Ping(t.Context()).Err())
}
