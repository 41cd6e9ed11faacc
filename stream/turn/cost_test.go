package turn_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// What a turn costs at the store does not depend on how long the conversation is: bytes and calls of a send and of a regenerate on
// 50 000 rows are within 1.2 times those on 10, also right after the session moved to another node.
func TestCostFollowsTheChange(t *testing.T) {
	if testing.Short() {
		t.Skip("imports 50 000 rows")
	}
	small := measure(t, 10)
	for _, rows := range []int{1000, 50_000} {
		large := measure(t, rows)
		for i, s := range small {
			l := large[i]
			t.Logf("%-22s %6d rows: %6d bytes out, %2d calls; 10 rows: %6d bytes, %2d calls", s.what, rows, l.bytes, l.calls, s.bytes, s.calls)
			require.LessOrEqual(t, l.calls, s.calls+10, s.what) // a new owner reads more pages; renewals may fall in between
			require.LessOrEqual(t, float64(l.bytes), 1.2*float64(s.bytes), s.what)
		}
	}
}

type cost struct {
	what         string
	bytes, calls int64
}

// measure gives what the node that owns a session of so many rows sends to the store for some turns.
func measure(t *testing.T, rows int) []cost {
	t.Helper()
	store := newStore(t)
	var out counter
	counted := out.count(store)
	quiet := nodeOptions{ttl: time.Hour, poll: time.Hour} // no renewal and no poll is counted
	a, b := newNode(t, "a", counted, quiet), newNode(t, "b", counted, quiet)
	seed(t, store, a, rows)
	r := a.read(t, "")
	var costs []cost
	step := func(what string, n *node, cmd regen.Command) string {
		out.bytes.Store(0)
		out.calls.Store(0)
		_, err := n.do(t, cmd)
		require.NoError(t, err)
		c := n.model.next(t)
		c.text(t, "an answer")
		r.until("the answer", func(e stream.Event) bool { return e.Kind == stream.EventDelta })
		c.end(t)
		rev := r.settled().Revision
		costs = append(costs, cost{what, out.bytes.Load(), out.calls.Load()})
		return rev
	}
	send := func(k string) regen.Command {
		return regen.Command{Op: regen.OpSend, Key: k, Content: regen.Text("a question")}
	}
	step("first send", a, send("k0"))
	rev := step("send", a, send("k1"))
	rev = step("regenerate", a, regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: rev})
	step("regenerate after move", b, regen.Command{Op: regen.OpRegenerate, Key: "k3", Revision: rev})
	step("send", b, send("k4"))
	return costs
}

// counter counts what clients write.
type counter struct{ bytes, calls atomic.Int64 }

func (c *counter) count(opts *redis.Options) *redis.Options {
	own := *opts
	dial := opts.Dialer
	own.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: conn, to: c}, nil
	}
	return &own
}

type countedConn struct {
	net.Conn
	to *counter
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.to.bytes.Add(int64(len(b)))
	c.to.calls.Add(1)
	return c.Conn.Write(b)
}

// seed gives the store a session with so many rows, as an import does.
func seed(t testing.TB, opts *redis.Options, n *node, rows int) {
	t.Helper()
	list := make([]regen.Row, rows)
	for i := range list {
		list[i] = regen.Row{
			ID: fmt.Sprintf("%032x", i+1), Turn: fmt.Sprintf("%032x", 1_000_000+i/2), Role: regen.RoleUser, At: float64(i + 1),
			Content: regen.Text(fmt.Sprintf("row %d of a conversation that has gone on for a good while", i)),
		}
		if i%2 == 1 {
			list[i].Role = regen.RoleAssistant
		}
	}
	_, edit, err := regen.NewDocument(key.Session, regen.Fields{Title: "imported"}, list, list)
	require.NoError(t, err)
	// An import brings its rows in pieces before the session exists.
	rdb := redis.NewClient(opts)
	defer func() { _ = rdb.Close() }()
	for name, list := range map[string]*regen.ListEdit{"rows": &edit.Rows, "ctx": &edit.Context} {
		for chunk := range slices.Chunk(list.Append, 500) {
			require.NoError(t, rdb.RPush(t.Context(), sessionKey(name), chunk).Err())
		}
		*list = regen.ListEdit{Before: len(list.Append), Keep: len(list.Append)}
	}
	held, err := n.keeper.Acquire(t.Context(), key.String(), ownership.AcquireOptions{})
	require.NoError(t, err)
	g := held.Grant()
	at := stream.EntryID{Epoch: g.Epoch, Seq: g.Seq}
	res, err := n.log.Write(t.Context(), key, &stream.Change{
		Batch: stream.Batch{Incarnation: g.Incarnation, Epoch: g.Epoch, N: 1, At: at}, Edit: edit,
		Expect: stream.Expect{Rows: rows, Context: rows},
	})
	require.NoError(t, err)
	require.Equal(t, stream.StatusDone, res.Status, res.Reason)
	require.NoError(t, held.Release(t.Context()))
}
