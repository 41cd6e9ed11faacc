package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"holdfast/stream/redislog/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a server and a client that end with the test, client first.
func open(t *testing.T, cfg embedded.Config) (*embedded.Server, *redis.Client) {
	t.Helper()
	s := embedded.New(cfg)
	t.Cleanup(s.Close)
	c := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = c.Close() })
	return s, c
}

// both runs a test on the wall clock and again inside a bubble.
func both(t *testing.T, f func(t *testing.T)) {
	t.Run("wall", f)
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, f) })
}

// A pipeline of far more than 64 KB, with replies as large, passes: nobody waits for a reader that is itself writing.
func TestLargePipelinePasses(t *testing.T) {
	both(t, func(t *testing.T) {
		_, c := open(t, embedded.Config{Tick: -1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		value := strings.Repeat("x", 1000)
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range 2000 {
				p.Set(ctx, "k"+strconv.Itoa(i), value, 0)
				p.Get(ctx, "k"+strconv.Itoa(i))
			}
			return nil
		})
		require.NoError(t, err)
		require.Len(t, cmds, 4000)
		require.Equal(t, value, cmds[3999].(*redis.StringCmd).Val())
	})
}

// A handler of messages may issue commands of its own, while the one who publishes goes on.
func TestHandlersMayIssueCommands(t *testing.T) {
	both(t, func(t *testing.T) {
		_, c := open(t, embedded.Config{Tick: -1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sub := c.Subscribe(ctx, "wake")
		defer func() { _ = sub.Close() }()
		_, err := sub.Receive(ctx)
		require.NoError(t, err)

		const n = 300
		var wg sync.WaitGroup
		wg.Go(func() {
			for range n {
				if err := c.Publish(ctx, "wake", strings.Repeat("p", 4096)).Err(); err != nil {
					t.Errorf("publish: %v", err)
					return
				}
			}
		})
		for range n {
			_, err := sub.ReceiveMessage(ctx)
			require.NoError(t, err)
			require.NoError(t, c.Incr(ctx, "seen").Err())
			require.NoError(t, c.Publish(ctx, "other", "x").Err())
		}
		wg.Wait()
		require.Equal(t, strconv.Itoa(n), c.Get(ctx, "seen").Val())
	})
}

// A subscriber that is not read holds the server up for a while, then is cut; afterwards everybody else is served.
func TestUnreadSubscriberIsCut(t *testing.T) {
	s := embedded.NewStalling(embedded.Config{}, 100*time.Millisecond)
	defer s.Close()
	c := redis.NewClient(s.Options())
	defer func() { _ = c.Close() }()
	ctx := t.Context()
	unread := subscribe(t, s, "w")
	defer func() { _ = unread.Close() }()

	text := strings.Repeat("p", 64<<10)
	for range 2 * embedded.PipeLimit / len(text) {
		require.NoError(t, c.Publish(ctx, "w", text).Err())
	}
	require.Zero(t, c.Publish(ctx, "w", "x").Val(), "the unread one is gone")
	_, err := io.Copy(io.Discard, unread)
	require.NoError(t, err, "what it had got can still be read, and then the end")
}

// subscribe opens a connection that has subscribed and reads nothing from then on.
func subscribe(t *testing.T, s *embedded.Server, name string) net.Conn {
	t.Helper()
	conn, err := s.Dial(t.Context())
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "*2\r\n$9\r\nSUBSCRIBE\r\n$%d\r\n%s\r\n", len(name), name)
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, len("*3\r\n$9\r\nsubscribe\r\n")))
	require.NoError(t, err)
	return conn
}

// Close ends while a subscriber is unread, a publisher stuck behind it and a blocking command waits.
func TestCloseDoesNotHang(t *testing.T) {
	s := embedded.New(embedded.Config{})
	c := redis.NewClient(s.Options())
	ctx := t.Context()
	_ = subscribe(t, s, "w")

	var wg sync.WaitGroup
	wg.Go(func() { _ = c.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "$"}, Block: 0}).Err() })
	wg.Go(func() {
		for c.Publish(ctx, "w", strings.Repeat("p", 64<<10)).Err() == nil {
		}
	})
	closed := make(chan struct{})
	go func() { s.Close(); s.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("close hangs")
	}
	require.NoError(t, c.Close())
	wg.Wait()
	_, err := s.Dial(ctx)
	require.ErrorIs(t, err, net.ErrClosed)
}

// Keys with a time to live go away by themselves as time passes, and only those.
func TestKeysAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t, embedded.Config{Tick: time.Second})
		ctx := t.Context()
		require.NoError(t, c.Set(ctx, "short", "x", 10*time.Second).Err())
		require.NoError(t, c.Set(ctx, "long", "x", 0).Err())
		time.Sleep(9 * time.Second)
		synctest.Wait()
		require.True(t, s.Miniredis().Exists("short"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.False(t, s.Miniredis().Exists("short"))
		require.True(t, s.Miniredis().Exists("long"))
	})
}

// A call ends with its context, and nothing is sent twice.
func TestCallsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := open(t, embedded.Config{Tick: -1})
		require.NoError(t, c.Ping(t.Context()).Err())
		seen := 0
		s.SetHook(func(_ *server.Peer, name string, _ ...string) bool {
			if name != "INCR" {
				return false
			}
			seen++
			return true // the request is lost
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := c.Incr(ctx, "n").Err()
		var timeout net.Error
		require.True(t, errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout), "%v", err)
		require.Equal(t, 100*time.Millisecond, time.Since(start))
		s.SetHook(nil)
		require.EqualValues(t, 1, c.Incr(t.Context(), "n").Val())
		require.Equal(t, 1, seen)
	})
}

// Many callers at once are served, on the wall clock and in one bubble after another.
func TestManyCallers(t *testing.T) {
	for range 3 {
		both(t, func(t *testing.T) {
			_, c := open(t, embedded.Config{Tick: -1})
			ctx := t.Context()
			script := redis.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() {
					if err := script.Run(ctx, c, []string{"n"}, 2).Err(); err != nil {
						t.Errorf("script: %v", err)
					}
				})
			}
			wg.Wait()
			require.Equal(t, "200", c.Get(ctx, "n").Val())
		})
	}
}

// One round trip and one script call; the figures that LIMITS.md compares with come from here.
func BenchmarkRoundTrip(b *testing.B) {
	s := embedded.New(embedded.Config{})
	defer s.Close()
	c := redis.NewClient(s.Options())
	defer func() { _ = c.Close() }()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.HSet(b.Context(), "h", "f", "v").Err(); err != nil {
			b.Fatal(err)
		}
	}
}
