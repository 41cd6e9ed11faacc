package leasetest

import (
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

var busyCases = map[string]func(*rig){
	"an idle session is taken at once":                      idleTakeOver,
	"a busy session is refused and its owner named":         busyRefused,
	"a busy session needs deadline and observed epoch":      busyTakeOver,
	"the same process gets a busy session with a new epoch": sameProcess,
	"another process of the same node does not":             otherProcess,
	"a busy session that was released is taken at once":     busyReleased,
	"a busy session without a lease is taken at once":       busyForgotten,
	"a deadline too far away is cut":                        farDeadline,
	"the old owner can write nothing after a take-over":     oldOwnerFenced,
}

func idleTakeOver(r *rig) {
	g := r.acquire(r.request("a"))
	r.set("head", "ver", "3", "batch", "7")
	require.NoError(r, r.append(g.Epoch, 1))
	require.NoError(r, r.append(g.Epoch, 2))
	b := r.acquire(r.request("b"))
	require.Greater(r, b.Epoch, g.Epoch)
	require.Equal(r, g.Epoch, b.PrevEpoch)
	require.Equal(r, "a", b.PrevNode)
	require.Equal(r, uint64(2), b.Seq, "the log's, not head's, which appends do not move")
	require.Equal(r, []string{id(g.Epoch, 0) + "m", id(g.Epoch, 1), id(g.Epoch, 2), id(b.Epoch, 2) + "m"}, r.log())
	require.Equal(r, text(g.Epoch)+":1,"+text(b.Epoch)+":3", r.get("head", "fences"))
	require.Equal(r, id(g.Epoch, 0), r.get("head", "before"))
	require.Equal(r, "0", r.get("head", "batch"))
	require.Equal(r, "2", r.get("head", "seq"))
	require.Equal(r, "3", r.get("head", "ver"))

	// An epoch that wrote nothing leaves no fence.
	c := r.acquire(r.request("c"))
	require.Equal(r, text(g.Epoch)+":1,"+text(c.Epoch)+":3", r.get("head", "fences"))
}

func busyRefused(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	before := r.log()
	h := r.held(r.request("b"))
	require.Equal(r, "a", h.Owner)
	require.Equal(r, "a-p", h.Proc)
	require.Equal(r, g.Epoch, h.Epoch)
	require.Equal(r, "r1", h.Run)
	require.Equal(r, g.Now+ttl.Milliseconds(), h.Until)
	require.GreaterOrEqual(r, h.Now, g.Now)
	require.Equal(r, before, r.log())
	require.Equal(r, text(g.Epoch), r.get("head", "epoch"))
}

func busyTakeOver(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	q := r.request("b")
	q.Observed = g.Epoch
	r.held(q) // the deadline is ahead
	r.expire()
	r.held(r.request("b")) // nobody observed anything
	q.Observed = g.Epoch - 1
	r.held(q) // somebody else's epoch was observed
	q.Observed = g.Epoch
	b := r.acquire(q)
	require.Equal(r, "r1", b.Run)
	require.Equal(r, "r1", r.get("head", "run"), "the run is the new owner's to end")
	require.False(r, b.Fresh)
}

func sameProcess(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	again := r.acquire(r.request("a"))
	require.Greater(r, again.Epoch, g.Epoch)
	require.Equal(r, "r1", again.Run)
	require.Equal(r, ownership.RenewLost, r.renew(r.renewal("a", g.Epoch, "")).Status)
}

func otherProcess(r *rig) {
	r.acquire(r.request("a"))
	r.accept("r1")
	q := r.request("a")
	q.Proc = "later"
	require.Equal(r, "a", r.held(q).Owner)
}

func busyReleased(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", g.Epoch)))
	require.True(r, r.exists("log"))
	require.Equal(r, "r1", r.acquire(r.request("b")).Run)
}

func busyForgotten(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	r.drop("lease")
	require.Equal(r, ownership.RenewGone, r.renew(r.renewal("a", g.Epoch, "r1")).Status)
	require.False(r, r.exists("lease"), "a renewal makes no record anew")
	b := r.acquire(r.request("b"))
	require.Equal(r, "r1", b.Run)
	require.Greater(r, b.Epoch, g.Epoch)
}

func farDeadline(r *rig) {
	g := r.acquire(r.request("a"))
	r.accept("r1")
	hour := int64(3600_000)
	r.set("lease", "until", ms(r.now()+hour)) // the clock stepped back by an hour
	l, now, err := r.store.Look(r.ctx, r.key)
	require.NoError(r, err)
	require.True(r, l.Far(now))
	require.Equal(r, ttl, l.Left(now))
	h := r.held(r.request("b"))
	require.Equal(r, h.Now+ttl.Milliseconds(), h.Until)
	require.Equal(r, h.Until, r.number("lease", "until"))

	r.set("lease", "until", ms(r.now()+hour))
	l, now, err = r.store.Cut(r.ctx, r.key)
	require.NoError(r, err)
	require.Equal(r, now+ttl.Milliseconds(), l.Until)
	again, _, err := r.store.Cut(r.ctx, r.key)
	require.NoError(r, err)
	require.Equal(r, l.Until, again.Until, "once")
	require.Equal(r, ownership.RenewOK, r.renew(r.renewal("a", g.Epoch, "r1")).Status, "nobody came between")
}

func oldOwnerFenced(r *rig) {
	g := r.acquire(r.request("a"))
	require.NoError(r, r.append(g.Epoch, 1))
	b := r.acquire(r.request("b"))
	require.Error(r, r.append(g.Epoch, 2))
	lost := r.renew(r.renewal("a", g.Epoch, ""))
	require.Equal(r, ownership.RenewLost, lost.Status)
	require.Equal(r, b.Epoch, lost.Higher)
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", g.Epoch)))
	require.NoError(r, r.append(b.Epoch, 2))
	require.Equal(r, "b", r.get("lease", "node"))
}
