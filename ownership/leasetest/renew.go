package leasetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

var renewCases = map[string]func(*rig){
	"a renewal moves the deadline":                  renewMoves,
	"a late renewal finds the same epoch":           renewLate,
	"a renewal tells of a stop for its run":         renewStop,
	"a record from the past counts as gone":         renewPast,
	"after a release there is nothing to renew":     renewReleased,
	"many leases are renewed, each on its own":      renewMany,
	"renewals go on after the scripts were flushed": renewFlushed,
}

func renewMoves(r *rig) {
	g := r.acquire(r.request("a"))
	r.set("lease", "until", ms(g.Now+1))
	got := r.renew(r.renewal("a", g.Epoch, ""))
	require.Equal(r, ownership.RenewOK, got.Status)
	require.GreaterOrEqual(r, got.Until, g.Now+ttl.Milliseconds())
	require.Equal(r, got.Until, r.number("lease", "until"))
	require.False(r, got.Stop)
	require.Equal(r, text(g.Epoch), r.get("lease", "epoch"))
}

func renewLate(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	r.set("lease", "until", "1")
	require.Equal(r, ownership.RenewOK, r.renew(r.renewal("a", g.Epoch, "r1")).Status)
	q := r.request("b")
	q.Observed = g.Epoch
	r.held(q)
}

func renewStop(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	r.set("cancel", "r0", "1 somebody", "k:r1", "1 somebody")
	require.False(r, r.renew(r.renewal("a", g.Epoch, "r1")).Stop, "a stop for another run, or for a command")
	r.set("cancel", "r1", "1 somebody")
	require.True(r, r.renew(r.renewal("a", g.Epoch, "r1")).Stop)
	require.False(r, r.renew(r.renewal("a", g.Epoch, "")).Stop)
}

func renewPast(r *rig) {
	g := r.acquire(r.request("a"))
	r.set("lease", "epoch", text(g.Epoch-5)) // a restored backup
	require.Equal(r, ownership.RenewGone, r.renew(r.renewal("a", g.Epoch, "")).Status)
	r.set("lease", "epoch", text(g.Epoch), "node", "b") // two nodes were given one epoch
	require.Equal(r, ownership.RenewLost, r.renew(r.renewal("a", g.Epoch, "")).Status)
}

func renewReleased(r *rig) {
	g := r.acquire(r.request("a"))
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", g.Epoch)))
	require.Equal(r, ownership.RenewLost, r.renew(r.renewal("a", g.Epoch, "")).Status)
	require.Equal(r, "0", r.get("lease", "until"))
}

func renewMany(r *rig) {
	var ask []ownership.Renewal
	first := r.key
	for i := range 150 { // more than two chunks
		r.key = fmt.Sprintf("%s-%d", first, i)
		g := r.acquire(r.request("a"))
		switch i % 3 {
		case 1:
			g.Epoch-- // not ours
		case 2:
			r.drop("lease")
		}
		ask = append(ask, r.renewal("a", g.Epoch, ""))
	}
	got, err := r.store.Renew(r.ctx, ask)
	require.NoError(r, err)
	require.Len(r, got, len(ask))
	for i, x := range got {
		require.NoError(r, x.Err)
		require.Equal(r, []ownership.RenewStatus{ownership.RenewOK, ownership.RenewLost, ownership.RenewGone}[i%3], x.Status, i)
	}
	none, err := r.store.Renew(r.ctx, nil)
	require.NoError(r, err)
	require.Empty(r, none)
}

func renewFlushed(r *rig) {
	g := r.acquire(r.request("a"))
	require.Equal(r, ownership.RenewOK, r.renew(r.renewal("a", g.Epoch, "")).Status)
	require.NoError(r, r.client.ScriptFlush(r.ctx).Err())
	require.Equal(r, ownership.RenewOK, r.renew(r.renewal("a", g.Epoch, "")).Status)
}
