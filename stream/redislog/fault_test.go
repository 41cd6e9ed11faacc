package redislog_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/stream"
	"holdfast/stream/redislog"
)

// cutter lets a test lose the replies of chosen requests: what is sent arrives, and then the connection is gone.
type cutter struct {
	// next is how many writes from now on lose their replies.
	next atomic.Int64
	mu   sync.Mutex // guards only
	only string     // only writes that contain this text count; "" is all
}

func (c *cutter) arm(n int64, only string) {
	c.mu.Lock()
	c.only = only
	c.mu.Unlock()
	c.next.Store(n)
}

func (c *cutter) wrap(o *redis.Options) *redis.Options {
	w := *o
	dial := o.Dialer
	if dial == nil {
		dial = redis.NewDialer(o)
	}
	w.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &cutConn{Conn: conn, c: c}, nil
	}
	return &w
}

type cutConn struct {
	net.Conn
	c   *cutter
	cut atomic.Bool
}

func (c *cutConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.c.mu.Lock()
	only := c.c.only
	c.c.mu.Unlock()
	if c.c.next.Load() > 0 && strings.Contains(string(p), only) {
		c.c.next.Add(-1)
		c.cut.Store(true)
	}
	return n, err
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.cut.Load() && n > 0 { // the reply came, so the request was applied; nobody hears it
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// A person's prompt whose confirmation was lost is accepted once, whoever asks again; so is an answer's end.
// contract: C13
// case: FC08
func TestReplyLost(t *testing.T) {
	each(t, func(t *testing.T, o *redis.Options) {
		var cut cutter
		b := backend(t, o, redislog.Options{})
		b.Store = open(t, redislog.Single(cut.wrap(o)), redislog.Options{})
		a := newActor(t, b)
		var unknown *stream.UnknownError

		a.must(a.change(stream.KindSession)) // the server has the script now, so one call is one application

		c := a.acceptance("k1")
		cut.arm(1, c.Accept.Run)
		_, err := b.Store.Write(t.Context(), a.key, c)
		require.ErrorAs(t, err, &unknown)
		r, err := b.Store.Write(t.Context(), a.key, c)
		require.NoError(t, err)
		require.Equal(t, stream.StatusKnown, r.Status)
		require.Equal(t, c.Accept.Receipt, r.Known.Receipt)
		a.moved(c)

		s := a.settlement()
		cut.arm(1, s.Settle.Run)
		_, err = b.Store.Write(t.Context(), a.key, s)
		require.ErrorAs(t, err, &unknown)
		r, err = b.Store.Write(t.Context(), a.key, s)
		require.NoError(t, err)
		require.Equal(t, stream.StatusRepeat, r.Status)
	})
}

// A token whose confirmation was lost is unknown, comes under a new count, and is in the log once.
// contract: E4
func TestAppendReplyLost(t *testing.T) {
	each(t, func(t *testing.T, o *redis.Options) {
		var cut cutter
		b := backend(t, o, redislog.Options{})
		b.Store = open(t, redislog.Single(cut.wrap(o)), redislog.Options{})
		a := newActor(t, b)
		a.accept("k1")
		conn := a.check().Conn
		cut.arm(1, "needle")
		r := a.append(a.at.Next(), "needle")
		require.Equal(t, stream.AppendUnknown, r.Status)
		var unknown *stream.UnknownError
		require.ErrorAs(t, r.Err, &unknown)
		tail := a.check()
		require.Greater(t, tail.Conn, conn)
		require.Equal(t, a.at.Next(), tail.Top, "it had been applied")
		r = a.append(a.at.Next(), "needle")
		require.Equal(t, stream.AppendRefused, r.Status)
		require.Equal(t, tail.Conn, r.Conn)
	})
}

// A server that was killed and came back is never taken for the one before: the count moves although no call failed.
func TestCountMovesOverRestart(t *testing.T) {
	srv := startRedis(t)
	b := backend(t, srv.options(), redislog.Options{})
	a := newActor(t, b)
	a.accept("k1")
	a.token("a")
	conn := a.check().Conn
	srv.kill()
	srv.start()
	// The log is gone. Whatever the append is answered, it is not answered under the old count.
	r := a.append(a.at.Next(), "b")
	require.NotEqual(t, stream.AppendDone, r.Status)
	require.Eventually(t, func() bool {
		tail, err := b.Store.Check(t.Context(), a.key)
		return err == nil && tail.Conn > conn && tail.Top.IsZero() && tail.Incarnation == ""
	}, longest, pollEvery)
	require.Equal(t, stream.AppendRefused, a.append(a.at.Next(), "b").Status, "nothing is begun again in silence")
}

// While the store is away everything is refused as not done, not as unknown, and nobody waits long.
func TestStoreAway(t *testing.T) {
	srv := startRedis(t)
	b := backend(t, srv.options(), redislog.Options{})
	a := newActor(t, b)
	a.accept("k1")
	srv.kill()
	// A first call may meet the dead connection; then there is none.
	require.Eventually(t, func() bool {
		_, err := b.Store.Write(t.Context(), a.key, a.settlement())
		var unknown *stream.UnknownError
		return errors.Is(err, stream.ErrUnavailable) && !errors.As(err, &unknown)
	}, longest, pollEvery)
	_, err := b.Store.Read(t.Context(), a.key, stream.Query{})
	require.ErrorIs(t, err, stream.ErrUnavailable)
	_, err = b.Store.Check(t.Context(), a.key)
	require.ErrorIs(t, err, stream.ErrUnavailable)
	require.Eventually(t, func() bool { return a.append(a.at.Next(), "x").Status == stream.AppendFailed }, longest, pollEvery)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Store.Write(ended, a.key, a.settlement())
	require.ErrorIs(t, err, stream.ErrUnavailable)
}

// With memory full nothing new begins, and what runs can be stopped and ended.
func TestMemoryFull(t *testing.T) {
	srv := startRedis(t)
	b := backend(t, srv.options(), redislog.Options{})
	idle, stopped, busy := newActor(t, b), newActor(t, b), newActor(t, b)
	stopped.accept("k1")
	busy.accept("k1")
	require.NoError(t, b.Do(t.Context(), "CONFIG", "SET", "maxmemory", "1"))

	before := b.Dump(t, idle.key)
	_, err := b.Store.Write(t.Context(), idle.key, idle.acceptance("k1"))
	require.ErrorIs(t, err, stream.ErrFull)
	_, err = b.Store.Cancel(t.Context(), idle.key, stopOf("k1"))
	require.ErrorIs(t, err, stream.ErrFull)
	require.Equal(t, before, b.Dump(t, idle.key))
	r := busy.append(busy.at.Next(), "x")
	require.Equal(t, stream.AppendFailed, r.Status)
	require.ErrorIs(t, r.Err, stream.ErrFull)
	require.ErrorIs(t, b.Store.Touch(t.Context(), idle.key, 1), stream.ErrFull)
	both := busy.acceptance("k2")
	both.Settle = &stream.Settle{Run: busy.run}
	_, err = b.Store.Write(t.Context(), busy.key, both)
	require.ErrorIs(t, err, stream.ErrFull)

	got, err := b.Store.Cancel(t.Context(), stopped.key, stream.Stop{Run: stopped.run})
	require.NoError(t, err)
	require.Equal(t, stream.StopAccepted, got.Answer)
	s := stopped.settlement()
	s.Settle.Cancelled = true
	stopped.must(s)
	busy.settle()
}

// A follower is told when its connection was lost and made again, and hears what comes after.
// case: FC49, FC110
func TestFollowAgain(t *testing.T) {
	srv := startRedis(t)
	b := backend(t, srv.options(), redislog.Options{})
	a := newActor(t, b)
	got := make(chan stream.Wake, 1000)
	defer b.Store.Follow(a.key, func(w stream.Wake) { got <- w })()
	waitConfirmed(t, got)
	require.NoError(t, b.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub"))
	waitConfirmed(t, got)
	a.accept("k1")
	require.Equal(t, a.at, waitCopy(t, got).ID)

	srv.kill()
	srv.start()
	waitConfirmed(t, got)
	a2 := newActor(t, b)
	a2.key = a.key
	require.NoError(t, b.Do(t.Context(), "PUBLISH", "hf1:{"+a.key.String()+"}:wake", "cINC\n7-8 t 2\nhi"))
	require.Equal(t, stream.Entry{ID: stream.EntryID{Epoch: 7, Seq: 8}, Kind: stream.KindText, Data: "hi"}, waitCopy(t, got))
	require.NoError(t, b.Do(t.Context(), "PUBLISH", "hf1:{"+a.key.String()+"}:wake", "cINC\n7-8 t 99\nhi"))
	require.Equal(t, stream.Wake{}, await(t, got), "what cannot be read is a bare wake")
}

// A connection that went silent without an end is noticed and replaced.
func TestFollowSilent(t *testing.T) {
	srv := startRedis(t)
	var mute muter
	b := backend(t, srv.options(), redislog.Options{})
	s := open(t, redislog.Single(mute.wrap(srv.options())), redislog.Options{PingEvery: 20 * time.Millisecond})
	a := newActor(t, b)
	got := make(chan stream.Wake, 1000)
	defer s.Follow(a.key, func(w stream.Wake) { got <- w })()
	waitConfirmed(t, got)
	mute.silence()
	waitConfirmed(t, got)
	a.accept("k1")
	require.Equal(t, a.at, waitCopy(t, got).ID)
}

// muter makes the connections of the moment swallow all that comes.
type muter struct{ age atomic.Int64 }

func (m *muter) silence() { m.age.Add(1) }

func (m *muter) wrap(o *redis.Options) *redis.Options {
	w := *o
	dial := redis.NewDialer(o)
	w.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &muteConn{Conn: conn, m: m, born: m.age.Load()}, err
	}
	return &w
}

type muteConn struct {
	net.Conn
	m    *muter
	born int64
}

func (c *muteConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || c.m.age.Load() == c.born {
			return n, err
		}
	}
}

const (
	longest   = 20 * time.Second
	pollEvery = 5 * time.Millisecond
)

func waitConfirmed(t testing.TB, got <-chan stream.Wake) {
	t.Helper()
	for !await(t, got).Confirmed {
	}
}

func waitCopy(t testing.TB, got <-chan stream.Wake) stream.Entry {
	t.Helper()
	for {
		if w := await(t, got); len(w.Entries) > 0 {
			return w.Entries[0]
		}
	}
}
