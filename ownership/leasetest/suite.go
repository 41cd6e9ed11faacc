package leasetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
)

// Store is everything a lease store does.
type Store interface {
	ownership.Backend
	ownership.Peers
}

// Backend is a store under test.
type Backend struct {
	Store Store
	// Client reaches the same server.
	Client redis.UniversalClient
	// Full says that the server can be made full with CONFIG SET maxmemory; then the cases about full memory run too.
	Full bool
}

// Run runs the suite. open is called once per case; its backend may be shared or new.
func Run(t *testing.T, open func(t testing.TB) Backend) {
	t.Helper()
	groups := []map[string]func(*rig){acquireCases, busyCases, repairCases, renewCases, peerCases}
	for _, cases := range groups {
		for name, run := range cases {
			t.Run(name, func(t *testing.T) { run(newRig(t, open(t))) })
		}
	}
	for name, run := range fullCases {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			if !b.Full {
				return // the server has no limit to reach
			}
			run(newRig(t, b))
		})
	}
}

// rig is one case: a session and the ways to look at it.
type rig struct {
	*testing.T
	store  Store
	client redis.UniversalClient
	ctx    context.Context
	key    string
}

func newRig(t *testing.T, b Backend) *rig {
	return &rig{T: t, store: b.Store, client: b.Client, ctx: t.Context(), key: "acme/" + random(8)}
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// ttl is long: no case waits for a deadline, those that need one move it.
const ttl = 10 * time.Second

func (r *rig) name(part string) string { return "hf1:{" + r.key + "}:" + part }

// request is a first attempt of node, whose process is node's name with "-p".
func (r *rig) request(node string) ownership.Request {
	return ownership.Request{
		Key: r.key, Node: node, Proc: node + "-p", Req: random(16), TTL: ttl, Incarnation: random(8),
	}
}

func (r *rig) acquire(q ownership.Request) ownership.Grant {
	r.Helper()
	g, err := r.store.Acquire(r.ctx, q)
	require.NoError(r, err)
	return g
}

func (r *rig) held(q ownership.Request) *ownership.HeldError {
	r.Helper()
	_, err := r.store.Acquire(r.ctx, q)
	var held *ownership.HeldError
	require.ErrorAs(r, err, &held)
	return held
}

func (r *rig) lease(node string, e ownership.Epoch) ownership.Lease {
	return ownership.Lease{Key: r.key, Node: node, Proc: node + "-p", Epoch: e}
}

func (r *rig) renewal(node string, e ownership.Epoch, run string) ownership.Renewal {
	return ownership.Renewal{Key: r.key, Node: node, Proc: node + "-p", Epoch: e, TTL: ttl, Run: run}
}

func (r *rig) renew(q ownership.Renewal) ownership.Renewed {
	r.Helper()
	got, err := r.store.Renew(r.ctx, []ownership.Renewal{q})
	require.NoError(r, err)
	require.Len(r, got, 1)
	require.NoError(r, got[0].Err)
	return got[0]
}

// accept makes the session exist with an active run, as an acceptance would.
func (r *rig) accept(run string) {
	r.Helper()
	r.set("head", "ver", "1", "run", run)
}

func (r *rig) set(part string, pairs ...any) {
	r.Helper()
	require.NoError(r, r.client.HSet(r.ctx, r.name(part), pairs...).Err())
}

func (r *rig) get(part, field string) string {
	r.Helper()
	v, err := r.client.HGet(r.ctx, r.name(part), field).Result()
	if err != redis.Nil {
		require.NoError(r, err)
	}
	return v
}

func (r *rig) number(part, field string) int64 {
	r.Helper()
	n, err := strconv.ParseInt(r.get(part, field), 10, 64)
	require.NoError(r, err)
	return n
}

func (r *rig) drop(parts ...string) {
	r.Helper()
	for _, p := range parts {
		require.NoError(r, r.client.Del(r.ctx, r.name(p)).Err())
	}
}

func (r *rig) exists(part string) bool {
	r.Helper()
	n, err := r.client.Exists(r.ctx, r.name(part)).Result()
	require.NoError(r, err)
	return n == 1
}

// expire puts the deadline into the past.
func (r *rig) expire() {
	r.Helper()
	r.set("lease", "until", strconv.FormatInt(r.now()-1, 10))
}

func (r *rig) now() int64 {
	r.Helper()
	t, err := r.client.Time(r.ctx).Result()
	require.NoError(r, err)
	return t.UnixMilli()
}

// append writes one entry as an owner would and says whether the log took it.
func (r *rig) append(e ownership.Epoch, seq uint64) error {
	return r.client.XAdd(r.ctx, &redis.XAddArgs{
		Stream: r.name("log"), NoMkStream: true, ID: id(e, seq), Values: []string{"t", "x"},
	}).Err()
}

// log gives the ids of the log, oldest first; a marker's with "m".
func (r *rig) log() []string {
	r.Helper()
	all, err := r.client.XRange(r.ctx, r.name("log"), "-", "+").Result()
	require.NoError(r, err)
	var ids []string
	for _, m := range all {
		if _, ok := m.Values["m"]; ok {
			m.ID += "m"
		}
		ids = append(ids, m.ID)
	}
	return ids
}

func id(e ownership.Epoch, seq uint64) string {
	return strconv.FormatUint(uint64(e), 10) + "-" + strconv.FormatUint(seq, 10)
}

func text(e ownership.Epoch) string { return strconv.FormatUint(uint64(e), 10) }
