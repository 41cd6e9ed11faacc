package redistest_test

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/tests/redistest"
)

// patience is how long a client waits that is meant to lose something, and limit how long anything else may take.
const (
	patience = 200 * time.Millisecond
	limit    = 20 * time.Second
)

// behind starts a server and a proxy before it; direct goes around the proxy, through does not.
func behind(t *testing.T, protocol int) (p *redistest.Proxy, direct, through *redis.Client) {
	t.Helper()
	opts := redistest.Shared(t)
	p = redistest.NewProxy(t, opts.Addr)
	direct = redistest.Client(t, opts)
	o := p.Options()
	o.Protocol, o.ReadTimeout = protocol, patience
	through = redistest.Client(t, o)
	return p, direct, through
}

func equals(t *testing.T, rdb *redis.Client, want string) {
	t.Helper()
	require.Eventually(t, func() bool { return rdb.Get(t.Context(), "n").Val() == want }, limit, 5*time.Millisecond)
}

func happened(t *testing.T, f *redistest.Fault) {
	t.Helper()
	select {
	case <-f.Done():
	case <-time.After(limit):
		t.Fatal("nothing was lost")
	}
}

// Everything passes whole and in order when nothing is broken: large values, pipelines, transactions, messages, maps.
func TestProxyPasses(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		p, _, rdb := behind(t, protocol)
		ctx := t.Context()
		big := strings.Repeat("0123456789\r\n", 50_000)
		require.NoError(t, rdb.Set(ctx, "big", big, 0).Err())
		require.Equal(t, big, rdb.Get(ctx, "big").Val())
		require.NoError(t, rdb.HSet(ctx, "h", "a", "1", "b", "").Err())
		require.Equal(t, map[string]string{"a": "1", "b": ""}, rdb.HGetAll(ctx, "h").Val())
		require.ErrorIs(t, rdb.Get(ctx, "none").Err(), redis.Nil)
		require.ErrorContains(t, rdb.Incr(ctx, "h").Err(), "WRONGTYPE")
		cmds, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for range 500 {
				pipe.Incr(ctx, "n")
			}
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 500, cmds[499].(*redis.IntCmd).Val())
		require.Equal(t, 500, p.Count("incr")-1)

		sub := rdb.Subscribe(ctx, "wake")
		_, err = sub.Receive(ctx)
		require.NoError(t, err)
		for range 20 {
			require.NoError(t, rdb.Publish(ctx, "wake", "x").Err())
			_, err = sub.ReceiveMessage(ctx)
			require.NoError(t, err)
		}
		require.NoError(t, sub.Close())
		require.NoError(t, rdb.Close())
		require.Eventually(t, func() bool { return p.Connections() == 0 }, limit, 5*time.Millisecond)
	}
}

// A reply that is kept back is a time-out for the client, and the server has done what it was asked.
func TestProxyLosesReplies(t *testing.T) {
	p, direct, rdb := behind(t, 2)
	require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	p.LoseReplies()
	require.Error(t, rdb.Incr(t.Context(), "n").Err())
	p.Heal()
	equals(t, direct, "2")
	require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	p.Refuse()
	require.Error(t, rdb.Ping(t.Context()).Err())
	p.Heal()
	require.NoError(t, rdb.Ping(t.Context()).Err())
}

// Nothing passes a black hole, and what went into it stays lost after healing.
func TestProxyBlackhole(t *testing.T) {
	p, direct, rdb := behind(t, 2)
	require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	p.Blackhole()
	require.Error(t, rdb.Incr(t.Context(), "n").Err())
	p.Heal()
	require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	equals(t, direct, "2")
}

// A request that was kept back and let go arrives late, after its client has given it up.
func TestProxyDeliversLate(t *testing.T) {
	p, direct, rdb := behind(t, 2)
	require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	p.LoseRequests()
	require.Error(t, rdb.Incr(t.Context(), "n").Err())
	require.Equal(t, "1", direct.Get(t.Context(), "n").Val())
	p.Release()
	equals(t, direct, "2")
}

// Exactly the command that was meant loses its reply: those before it are answered, it is applied, and nothing is answered after it.
func TestProxyLosesOneReply(t *testing.T) {
	for name, after := range map[string]redistest.After{"cut": redistest.ThenCut, "silence": redistest.ThenSilence} {
		t.Run(name, func(t *testing.T) {
			p, direct, rdb := behind(t, 3)
			ctx := t.Context()
			lost := p.LoseReply(redistest.Nth(2, redistest.Named("incr")), after)
			raw, err := net.Dial("tcp", p.Addr()) // a client of the library's gives all of a pipeline up
			require.NoError(t, err)
			defer func() { _ = raw.Close() }()
			_, err = io.WriteString(raw, strings.Repeat("*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n", 3))
			require.NoError(t, err)
			happened(t, lost)
			require.NoError(t, raw.SetReadDeadline(time.Now().Add(patience)))
			got, err := io.ReadAll(raw)
			require.Equal(t, ":1\r\n", string(got))
			if after == redistest.ThenCut {
				require.NoError(t, err, "the end of the connection")
			} else {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				equals(t, direct, "3")
			}
			require.NotEqual(t, "1", direct.Get(ctx, "n").Val(), "the second was applied")
			require.NoError(t, rdb.Incr(ctx, "m").Err(), "it happens once")
		})
	}
}

// Exactly the command that was meant is thrown away, and what follows it on its connection; other connections go on.
func TestProxyLosesOneRequest(t *testing.T) {
	for name, after := range map[string]redistest.After{"cut": redistest.ThenCut, "silence": redistest.ThenSilence} {
		t.Run(name, func(t *testing.T) {
			p, direct, rdb := behind(t, 2)
			ctx := t.Context()
			lost := p.LoseRequest(func(words []string) bool { return words[0] == "set" && words[1] == "b" }, after)
			_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for _, k := range []string{"a", "b", "c"} {
					pipe.Set(ctx, k, "x", 0)
				}
				return nil
			})
			require.Error(t, err)
			happened(t, lost)
			require.NoError(t, rdb.Set(ctx, "d", "x", 0).Err())
			require.ElementsMatch(t, []string{"a", "d"}, direct.Keys(ctx, "*").Val())
		})
	}
}

// A cut ends every connection at once, a subscriber's too, and new ones are served; a reset says that it is one.
func TestProxyCuts(t *testing.T) {
	p, _, rdb := behind(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for _, c := range []struct {
		cut  func()
		says error
	}{{p.Cut, io.EOF}, {p.Reset, syscall.ECONNRESET}} {
		sub := rdb.Subscribe(ctx, "wake")
		_, err := sub.Receive(ctx)
		require.NoError(t, err)
		c.cut()
		_, err = sub.Receive(ctx)
		require.ErrorIs(t, err, c.says)
		require.NoError(t, sub.Close())
		require.Eventually(t, func() bool { return rdb.Ping(ctx).Err() == nil }, limit, 5*time.Millisecond)
	}
}

// A delay makes each answer later by both ways, and not by the number of commands under way.
func TestProxyDelays(t *testing.T) {
	p, _, rdb := behind(t, 2)
	require.NoError(t, rdb.Ping(t.Context()).Err())
	const delay = 30 * time.Millisecond
	p.Delay(delay)
	start := time.Now()
	_, err := rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for range 1000 {
			pipe.Ping(t.Context())
		}
		return nil
	})
	require.NoError(t, err)
	took := time.Since(start)
	require.GreaterOrEqual(t, took, 2*delay)
	require.Less(t, took, 100*delay)
}
