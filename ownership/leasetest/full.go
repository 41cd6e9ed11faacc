package leasetest

import (
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

var fullCases = map[string]func(*rig){
	"full memory: owners go on and the dead are ended": fullTakeOver,
	"full memory: a new session is refused whole":      fullNew,
}

// fill makes every write that needs memory fail until the case ends.
func (r *rig) fill() {
	r.Helper()
	require.NoError(r, r.client.ConfigSet(r.ctx, "maxmemory-policy", "noeviction").Err())
	require.NoError(r, r.client.ConfigSet(r.ctx, "maxmemory", "1").Err())
	r.Cleanup(func() { _ = r.client.ConfigSet(r.ctx, "maxmemory", "0").Err() })
}

func fullTakeOver(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	node := "n-" + random(4)
	r.fill()
	defer func() { require.NoError(r, r.client.ConfigSet(r.ctx, "maxmemory", "0").Err()) }()
	require.ErrorContains(r, r.client.Set(r.ctx, r.name("x"), "1", 0).Err(), "OOM")

	require.Equal(r, ownership.RenewOK, r.renew(r.renewal("a", g.Epoch, "r1")).Status)
	_, err := r.store.Beat(r.ctx, node)
	require.NoError(r, err)
	require.NoError(r, r.store.IndexAdd(r.ctx, node, r.key))
	require.NoError(r, r.store.IndexRemove(r.ctx, node, r.key))
	require.NoError(r, r.store.Leave(r.ctx, node))
	q := r.request("a")
	b := r.acquire(q)
	require.Greater(r, b.Epoch, g.Epoch)
	require.Equal(r, b.Epoch, r.acquire(q).Epoch)
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", b.Epoch)))
	c := r.acquire(r.request("c"))
	require.Equal(r, "r1", c.Run)
	require.Len(r, r.log(), 3)
}

func fullNew(r *rig) {
	r.fill()
	_, err := r.store.Acquire(r.ctx, r.request("a"))
	require.ErrorIs(r, err, ownership.ErrFull)
	require.NoError(r, r.client.ConfigSet(r.ctx, "maxmemory", "0").Err())
	for _, part := range []string{"lease", "head", "log"} {
		require.False(r, r.exists(part), part)
	}
}
