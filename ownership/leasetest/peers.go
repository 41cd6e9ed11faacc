package leasetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

var peerCases = map[string]func(*rig){
	"a heartbeat moves its own counter alone":  beats,
	"an index is a set read in pages":          indexes,
	"a node with an index stays on the list":   leaves,
	"a session that nobody owned can be seen":  looksAtNothing,
	"a look tells the active run and is quiet": looks,
}

func beats(r *rig) {
	a, b := "a-"+random(4), "b-"+random(4)
	_, err := r.store.Beat(r.ctx, a)
	require.NoError(r, err)
	p, err := r.store.Beat(r.ctx, b)
	require.NoError(r, err)
	require.InDelta(r, r.now(), p.Now, 60_000)
	q, err := r.store.Beat(r.ctx, b)
	require.NoError(r, err)
	require.GreaterOrEqual(r, q.Now, p.Now)
	require.Equal(r, int64(1), q.Counters[a])
	require.Equal(r, p.Counters[b]+1, q.Counters[b])
}

func indexes(r *rig) {
	node := "n-" + random(4)
	want := map[string]bool{}
	for i := range 600 {
		key := fmt.Sprintf("acme/s%d", i)
		want[key] = true
		require.NoError(r, r.store.IndexAdd(r.ctx, node, key))
	}
	require.NoError(r, r.store.IndexAdd(r.ctx, node, slices.Collect(maps.Keys(want))...))
	require.NoError(r, r.store.IndexAdd(r.ctx, node))
	require.NoError(r, r.store.IndexRemove(r.ctx, node, "acme/s0", "acme/never"))
	require.NoError(r, r.store.IndexRemove(r.ctx, node))
	delete(want, "acme/s0")
	got := map[string]bool{}
	for cursor := uint64(0); ; {
		keys, next, err := r.store.IndexScan(r.ctx, node, cursor, 100)
		require.NoError(r, err)
		for _, key := range keys {
			got[key] = true
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	require.Equal(r, want, got)
}

func leaves(r *rig) {
	node := "n-" + random(4)
	_, err := r.store.Beat(r.ctx, node)
	require.NoError(r, err)
	require.NoError(r, r.store.IndexAdd(r.ctx, node, r.key))
	require.NoError(r, r.store.Leave(r.ctx, node))
	p, err := r.store.Beat(r.ctx, "other")
	require.NoError(r, err)
	require.Contains(r, p.Counters, node)
	require.NoError(r, r.store.IndexRemove(r.ctx, node, r.key))
	require.NoError(r, r.store.Leave(r.ctx, node))
	p, err = r.store.Beat(r.ctx, "other")
	require.NoError(r, err)
	require.NotContains(r, p.Counters, node)
}

func looksAtNothing(r *rig) {
	for _, look := range []func() (ownership.Lease, int64, error){
		func() (ownership.Lease, int64, error) { return r.store.Look(r.ctx, r.key) },
		func() (ownership.Lease, int64, error) { return r.store.Cut(r.ctx, r.key) },
	} {
		l, now, err := look()
		require.NoError(r, err)
		require.Equal(r, ownership.Lease{Key: r.key}, l)
		require.Positive(r, now)
	}
	require.False(r, r.exists("lease"))
}

func looks(r *rig) {
	r.acquire(r.request("a"))
	r.accept("r1")
	before, err := r.client.HGetAll(r.ctx, r.name("lease")).Result()
	require.NoError(r, err)
	l, _, err := r.store.Look(r.ctx, r.key)
	require.NoError(r, err)
	require.Equal(r, "r1", l.Run)
	after, err := r.client.HGetAll(r.ctx, r.name("lease")).Result()
	require.NoError(r, err)
	require.Equal(r, before, after)
}
