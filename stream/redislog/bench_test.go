package redislog_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog"
)

// naiveAppend is what a store without native fences does: compare and append in a script, one call per token.
var naiveAppend = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('XADD', KEYS[2], '*', 't', ARGV[2])
return 1`)

const (
	benchSessions = 1000
	benchToken    = "eighty bytes of text, as a token with its frame would have on its way to people"
)

// BenchmarkAppendWriter measures appends through the writer and, in the same run and by turns, one script call per token over a pool
// of 64. "x_naive" is the quotient of the two rates.
func BenchmarkAppendWriter(b *testing.B) {
	srv := startRedis(b)
	be := backend(b, srv.options(), redislog.Options{Solo: true})
	actors := make([]*actor, benchSessions)
	for i := range actors {
		actors[i] = newActor(b, be)
		actors[i].accept("k")
	}
	o := srv.options()
	o.PoolSize = 64
	pool := raw(b, o)
	require.NoError(b, naiveAppend.Load(b.Context(), pool).Err())

	var writer, naive time.Duration
	const slice = 20_000
	b.ResetTimer()
	for left := b.N; left > 0; left -= slice {
		n := min(left, slice)
		start := time.Now()
		writeSlice(b, be.Store.(*redislog.Store), actors, n)
		writer += time.Since(start)
		b.StopTimer()
		start = time.Now()
		naiveSlice(b, pool, actors, n)
		naive += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)/writer.Seconds(), "tokens/s")
	b.ReportMetric(float64(b.N)/naive.Seconds(), "naive_tokens/s")
	b.ReportMetric(naive.Seconds()/writer.Seconds(), "x_naive")
}

// writeSlice appends n tokens over all sessions, one under way per session.
func writeSlice(b *testing.B, s *redislog.Store, actors []*actor, n int) {
	var wg sync.WaitGroup
	for i, a := range actors {
		left := n / len(actors)
		if i < n%len(actors) {
			left++
		}
		wg.Add(1)
		var next func(stream.AppendResult)
		next = func(r stream.AppendResult) {
			if r.Status != stream.AppendDone {
				b.Error(r.Err)
				left = 0
			}
			if left == 0 {
				wg.Done()
				return
			}
			left--
			a.at = a.at.Next()
			s.Append(a.key, stream.Entry{ID: a.at, Kind: stream.KindText, Data: benchToken}, next)
		}
		next(stream.AppendResult{Status: stream.AppendDone})
	}
	wg.Wait()
}

// naiveSlice appends to logs of its own, so that the callers need not agree on positions.
func naiveSlice(b *testing.B, pool *redis.Client, actors []*actor, n int) {
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := w; i < n; i += 64 {
				a := actors[i%len(actors)]
				tag := "hf1:{" + a.key.String() + "}:"
				err := naiveAppend.Run(b.Context(), pool, []string{tag + "head", tag + "naive"}, uint64(a.epoch), benchToken).Err()
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkWriteBytes measures what a turn and its regenerate send to the server; it must not grow with the conversation.
func BenchmarkWriteBytes(b *testing.B) {
	for _, rows := range []int{10, 1000, 50_000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			srv := startRedis(b)
			var sent counter
			be := backend(b, srv.options(), redislog.Options{})
			be.Store = open(b, redislog.Single(sent.wrap(srv.options())), redislog.Options{})
			t := &turns{actor: newActor(b, be)}
			t.fill(rows)
			var send, regenerate int64
			for range b.N {
				before := sent.n.Load()
				t.run(regen.Command{Op: regen.OpSend, Key: hexID(), Content: regen.Text("what is it?")})
				between := sent.n.Load()
				t.run(regen.Command{Op: regen.OpRegenerate, Key: hexID(), Revision: t.doc.Revision()})
				send, regenerate = send+between-before, regenerate+sent.n.Load()-between
			}
			b.ReportMetric(float64(send)/float64(b.N), "B/send")
			b.ReportMetric(float64(regenerate)/float64(b.N), "B/regenerate")
		})
	}
}

// turns runs whole turns on a document that is seen through a window.
type turns struct {
	*actor
	doc *regen.Document
}

func (t *turns) fill(rows int) {
	all := make([]regen.Row, rows)
	for i := range all {
		all[i] = regen.Row{ID: fmt.Sprintf("%032x", i), Role: regen.RoleUser, Content: regen.Text("row"), At: 1}
	}
	_, edit, err := regen.NewDocument(t.key.Session, regen.Fields{Title: "long"}, all, all)
	require.NoError(t.t, err)
	c := t.change(stream.KindSession)
	c.Edit = edit
	t.must(c)
	t.doc = t.read().Document
}

// run accepts a command and settles it.
func (t *turns) run(cmd regen.Command) {
	p, err := t.doc.Plan(cmd)
	require.NoError(t.t, err)
	m, err := p.Commit(regen.Mint{Run: hexID(), Turn: hexID(), Row: hexID(), Variant: hexID(), Generation: hexID(), At: 2})
	require.NoError(t.t, err)
	c := t.change(stream.KindStarted)
	c.Expect = expect(t.doc)
	c.Edit, c.Start = m.Edit, t.at
	c.Accept = &stream.Accept{Run: m.Run, Key: cmd.Key, Hash: cmd.Hash()}
	t.must(c)
	t.doc = m.Document
	s, err := t.doc.Settle(regen.Outcome{Run: m.Run, Kind: regen.Completed, Text: "that is it", At: 3, AnswerRow: hexID(), ErrorRow: hexID()})
	require.NoError(t.t, err)
	c = t.change(stream.KindSettled)
	c.Expect = expect(t.doc)
	c.Edit, c.Settle = s.Edit, &stream.Settle{Run: m.Run}
	c.Trim, c.Before, c.Fences = c.Entries[0].ID, t.at, t.fences()
	t.must(c)
	t.doc = s.Document
}

func (t *turns) fences() stream.Fences { return stream.Fences{{Epoch: t.epoch, First: 1}} }

func expect(d *regen.Document) stream.Expect {
	return stream.Expect{Version: d.Version, Rows: d.RowsBelow + len(d.Rows), Context: d.ContextBelow + len(d.Context)}
}

// counter counts what is sent.
type counter struct{ n atomic.Int64 }

func (c *counter) wrap(o *redis.Options) *redis.Options {
	w := *o
	dial := redis.NewDialer(o)
	w.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &countConn{conn, c}, err
	}
	return &w
}

type countConn struct {
	net.Conn
	c *counter
}

func (c *countConn) Write(p []byte) (int, error) {
	c.c.n.Add(int64(len(p)))
	return c.Conn.Write(p)
}
