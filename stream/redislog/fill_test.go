package redislog_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/ownership/redislease"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog"
)

// An import comes in pieces: a piece sent twice is there once, an import begun anew leaves nothing of the first try, nobody sees it
// before the end, and neither an old owner nor a session that exists takes a piece.
func TestFill(t *testing.T) {
	each(t, func(t *testing.T, o *redis.Options) {
		s := open(t, redislog.Single(o), redislog.Options{})
		rdb := raw(t, o)
		leases := redislease.New(rdb, redislease.Options{})
		key := regen.Key{Tenant: "main", Session: "import"}
		acquire := func(node string) ownership.Grant {
			g, err := leases.Acquire(t.Context(), ownership.Request{Key: key.String(), Node: node, Proc: "p", Req: node, TTL: longest, Incarnation: "00112233445566aa"})
			require.NoError(t, err)
			return g
		}
		rows := make([]string, 1203)
		for i := range rows {
			rows[i] = fmt.Sprint("row ", i)
		}
		old := acquire("a")
		require.NoError(t, s.Fill(t.Context(), key, old.Incarnation, old.Epoch, rows[:700], rows[:1]))
		g := acquire("b")
		for range 2 {
			require.NoError(t, s.Fill(t.Context(), key, g.Incarnation, g.Epoch, rows, nil))
		}
		require.Equal(t, rows, rdb.LRange(t.Context(), "hf1:{main/import}:rows", 0, -1).Val())
		require.Zero(t, rdb.LLen(t.Context(), "hf1:{main/import}:ctx").Val())
		snap, err := s.Read(t.Context(), key, stream.Query{HeadOnly: true})
		require.NoError(t, err)
		require.False(t, snap.Head.Exists())
		var fenced *stream.FencedError
		require.ErrorAs(t, s.Fill(t.Context(), key, old.Incarnation, old.Epoch, rows, nil), &fenced)
		require.Equal(t, g.Epoch, fenced.Higher)
		require.NoError(t, rdb.HSet(t.Context(), "hf1:{main/import}:head", "ver", "1").Err())
		var conflict *stream.ConflictError
		require.ErrorAs(t, s.Fill(t.Context(), key, g.Incarnation, g.Epoch, rows, nil), &conflict)
	})
}
