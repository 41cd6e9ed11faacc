package leasetest

import (
	"strconv"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

var acquireCases = map[string]func(*rig){
	"a new session gets a lease, a head and a marker":     newSession,
	"the epoch rises across a release":                    risesAcrossRelease,
	"the epoch rises across an expiry":                    risesAcrossExpiry,
	"the epoch rises above what the caller saw":           risesAboveSeen,
	"the epoch rises above each record on its own":        risesAboveEachRecord,
	"the epoch rises across a deleted session":            risesAcrossDelete,
	"an epoch that cannot be exact is refused":            refusesHugeEpoch,
	"a repeat of a request gives the same grant":          repeatsGrant,
	"a late repeat does not raise the epoch":              lateRepeat,
	"a repeat after a release is a new request":           repeatAfterRelease,
	"a command that was accepted acquires nothing":        knownCommand,
	"a release by somebody else does nothing":             foreignRelease,
	"a session without an acceptance leaves only a lease": ghostRelease,
	"an acquired ghost does not age away":                 ghostAgain,
	"followers are told":                                  publishesWake,
}

func newSession(r *rig) {
	q := r.request("a")
	g := r.acquire(q)
	require.True(r, g.Fresh)
	require.Equal(r, q.Incarnation, g.Incarnation)
	require.Zero(r, g.Seq)
	require.Empty(r, g.Run)
	require.Zero(r, g.PrevEpoch)
	require.GreaterOrEqual(r, int64(g.Epoch), g.Now)
	require.Equal(r, []string{id(g.Epoch, 0) + "m"}, r.log())
	require.Equal(r, id(g.Epoch, 0), r.get("head", "before"))
	require.Equal(r, text(g.Epoch)+":1", r.get("head", "fences"))
	for field, want := range map[string]string{"inc": g.Incarnation, "epoch": text(g.Epoch), "seq": "0", "ver": "0", "rver": "0", "batch": "0", "run": ""} {
		require.Equal(r, want, r.get("head", field), field)
	}
	l, now, err := r.store.Look(r.ctx, r.key)
	require.NoError(r, err)
	require.GreaterOrEqual(r, now, g.Now)
	require.Equal(r, ownership.Lease{Key: r.key, Node: "a", Proc: "a-p", Epoch: g.Epoch, Until: g.Now + ttl.Milliseconds(), TTL: ttl}, l)
}

func risesAcrossRelease(r *rig) {
	g := r.acquire(r.request("a"))
	r.set("head", "ver", "1")
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", g.Epoch)))
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", g.Epoch)))
	require.Equal(r, "0", r.get("lease", "until"))
	require.Equal(r, text(g.Epoch), r.get("lease", "epoch"))
	again := r.acquire(r.request("b"))
	require.Greater(r, again.Epoch, g.Epoch)
	require.Equal(r, g.Incarnation, again.Incarnation)
	require.False(r, again.Fresh)
	require.Equal(r, g.Epoch, again.PrevEpoch)
	require.Empty(r, again.PrevNode)
}

func risesAcrossExpiry(r *rig) {
	g := r.acquire(r.request("a"))
	r.expire()
	again := r.acquire(r.request("b"))
	require.Greater(r, again.Epoch, g.Epoch)
	require.Equal(r, "a", again.PrevNode)
}

func risesAboveSeen(r *rig) {
	g := r.acquire(r.request("a"))
	r.drop("lease", "head", "log") // the store lost its memory
	q := r.request("b")
	q.Seen = g.Epoch + 1_000_000_000 // it ran ahead of the clock
	again := r.acquire(q)
	require.Equal(r, q.Seen+1, again.Epoch)
	require.NotEqual(r, g.Incarnation, again.Incarnation)
	require.True(r, again.Fresh)
}

func risesAboveEachRecord(r *rig) {
	far := ownership.Epoch(r.now()) + 1_000_000_000
	for _, lost := range [][]string{{"head", "log"}, {"lease", "log"}, {"lease", "head"}} {
		q := r.request("a")
		q.Seen = far
		g := r.acquire(q)
		r.drop(lost...)
		far = r.acquire(r.request("b")).Epoch
		require.Greater(r, far, g.Epoch, "without %v", lost)
	}
}

func risesAcrossDelete(r *rig) {
	q := r.request("a")
	q.Seen = ownership.Epoch(r.now()) + 1_000_000_000
	g := r.acquire(q)
	r.drop("head", "log", "doc", "rows") // what a deletion leaves is the lease
	again := r.acquire(r.request("b"))
	require.Greater(r, again.Epoch, g.Epoch)
	require.True(r, again.Fresh)
	require.Error(r, r.append(g.Epoch, 1))
}

func refusesHugeEpoch(r *rig) {
	q := r.request("a")
	q.Seen = 1<<53 - 1
	_, err := r.store.Acquire(r.ctx, q)
	var refused *ownership.RefusedError
	require.ErrorAs(r, err, &refused)
	require.False(r, r.exists("lease"))
	require.False(r, r.exists("log"))
}

func repeatsGrant(r *rig) {
	q := r.request("a")
	g := r.acquire(q)
	r.set("lease", "until", ms(g.Now+1))
	again := r.acquire(q)
	require.GreaterOrEqual(r, again.Now, g.Now)
	require.Equal(r, again.Now+ttl.Milliseconds(), r.number("lease", "until"), "trusted from before the repeat was sent")
	again.Now = g.Now
	require.Equal(r, g, again)

	// Also when it took over a busy session with another node's entries in it.
	require.NoError(r, r.append(g.Epoch, 1))
	r.accept("r1")
	r.expire()
	q = r.request("b")
	q.Observed = g.Epoch
	g = r.acquire(q)
	again = r.acquire(q)
	again.Now = g.Now
	require.Equal(r, g, again)
	require.Equal(r, "a", again.PrevNode)
	require.Equal(r, uint64(1), again.Seq)
	require.Len(r, r.log(), 3)
}

func lateRepeat(r *rig) {
	q := r.request("a")
	g := r.acquire(q)
	r.accept("r1")
	r.set("head", "batch", "1")
	require.NoError(r, r.append(g.Epoch, 1))
	require.Equal(r, g.Epoch, r.acquire(q).Epoch, "a copy of the request that was stuck on the way")
	require.Equal(r, "1", r.get("head", "batch"))
	require.Len(r, r.log(), 2)
	require.Equal(r, ownership.RenewOK, r.renew(r.renewal("a", g.Epoch, "")).Status)
}

func repeatAfterRelease(r *rig) {
	q := r.request("a")
	g := r.acquire(q)
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", g.Epoch)))
	require.Greater(r, r.acquire(q).Epoch, g.Epoch)
}

func knownCommand(r *rig) {
	for _, generation := range []string{"keys", "keys2"} {
		r.set(generation, "k-"+generation, "r1 hash {}")
		q := r.request("a")
		q.CommandKey = "k-" + generation
		_, err := r.store.Acquire(r.ctx, q)
		var known *ownership.KnownError
		require.ErrorAs(r, err, &known)
		require.Equal(r, "r1 hash {}", known.Value)
	}
	require.False(r, r.exists("lease"))
	require.False(r, r.exists("head"))
	q := r.request("a")
	q.CommandKey = "another"
	r.acquire(q)
}

func foreignRelease(r *rig) {
	g := r.acquire(r.request("a"))
	for _, l := range []ownership.Lease{
		r.lease("b", g.Epoch), r.lease("a", g.Epoch-1),
		{Key: r.key, Node: "a", Proc: "earlier", Epoch: g.Epoch},
	} {
		require.NoError(r, r.store.Release(r.ctx, l))
	}
	require.Equal(r, "a", r.get("lease", "node"))
	require.True(r, r.exists("head"))
}

func ghostRelease(r *rig) {
	g := r.acquire(r.request("a"))
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", g.Epoch)))
	require.False(r, r.exists("head"))
	require.False(r, r.exists("log"))
	left, err := r.client.TTL(r.ctx, r.name("lease")).Result()
	require.NoError(r, err)
	require.InDelta(r, (7 * 24 * 3600), left.Seconds(), 60)
	require.Equal(r, text(g.Epoch), r.get("lease", "epoch"))
}

func ghostAgain(r *rig) {
	g := r.acquire(r.request("a"))
	require.NoError(r, r.store.Release(r.ctx, r.lease("a", g.Epoch)))
	require.Greater(r, r.acquire(r.request("a")).Epoch, g.Epoch)
	left, err := r.client.TTL(r.ctx, r.name("lease")).Result()
	require.NoError(r, err)
	require.Negative(r, left, "a lease in use has no expiry")
}

func publishesWake(r *rig) {
	sub := r.client.Subscribe(r.ctx, r.name("wake"))
	defer func() { require.NoError(r, sub.Close()) }()
	_, err := sub.Receive(r.ctx)
	require.NoError(r, err)
	r.acquire(r.request("a"))
	m, err := sub.ReceiveMessage(r.ctx)
	require.NoError(r, err)
	require.Equal(r, "w", m.Payload)
}

func ms(n int64) string { return strconv.FormatInt(n, 10) }
