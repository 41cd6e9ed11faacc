package redislog_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/ownership/redislease"
	"holdfast/regen"
	"holdfast/stream/logtest"
	"holdfast/stream/redislog"
)

// Conversations are kept the same way by the store that comes with the program and by a server.
func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, o *redis.Options) {
		logtest.Run(t, backend(t, o, redislog.Options{}))
	})
}

// A cluster takes every script and every append.
func TestConformanceCluster(t *testing.T) {
	srv := startRedis(t, "--cluster-enabled", "yes")
	c := raw(t, srv.options())
	require.NoError(t, c.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(c.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	}, longest, pollEvery)
	b := backend(t, srv.options(), redislog.Options{})
	b.Store = open(t, redislog.Cluster(&redis.ClusterOptions{Addrs: []string{srv.options().Addr}}), redislog.Options{})
	b.Unsure = true
	logtest.Run(t, b)
}

// A server that forgot its scripts, as after a fail-over, is given them again without anybody noticing.
// case: FC103
func TestScriptsForgotten(t *testing.T) {
	each(t, func(t *testing.T, o *redis.Options) {
		b := backend(t, o, redislog.Options{})
		a := newActor(t, b)
		flush := func() { require.NoError(t, b.Do(t.Context(), "SCRIPT", "FLUSH")) }
		flush()
		a.accept("k1")
		flush()
		_, err := b.Store.Cancel(t.Context(), a.key, stopOf("nothing"))
		require.NoError(t, err)
		flush()
		_, err = b.Store.Check(t.Context(), a.key)
		require.NoError(t, err)
		flush()
		_, err = b.Store.Page(t.Context(), a.key, a.at, 1)
		require.NoError(t, err)
		flush()
		a.read()
	})
}

func backend(t testing.TB, o *redis.Options, opt redislog.Options) logtest.Backend {
	c := raw(t, o)
	return logtest.Backend{
		Store:  open(t, redislog.Single(o), opt),
		Leases: redislease.New(c, redislease.Options{}),
		Do:     func(ctx context.Context, args ...any) error { return c.Do(ctx, args...).Err() },
		Dump:   func(t testing.TB, key regen.Key) any { return dump(t, c, key) },
	}
}

// dump gives all that the server holds of a session.
func dump(t testing.TB, c *redis.Client, key regen.Key) map[string]any {
	ctx, tag := t.Context(), "hf1:{"+key.String()+"}:"
	all := map[string]any{}
	get := func(name string, v any, err error) {
		require.NoError(t, err, name)
		all[name] = v
	}
	for _, name := range []string{"lease", "head", "doc", "var", "cancel", "keys", "keys2"} {
		v, err := c.HGetAll(ctx, tag+name).Result()
		get(name, v, err)
	}
	for _, name := range []string{"rows", "ctx"} {
		v, err := c.LRange(ctx, tag+name, 0, -1).Result()
		get(name, v, err)
	}
	v, err := c.XRange(ctx, tag+"log", "-", "+").Result()
	get("log", v, err)
	return all
}
