package redislog_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/stream/redislog"
	"holdfast/stream/redislog/embedded"
)

// server is a redis-server of one test, which may be killed and started again on the same port.
type server struct {
	t    testing.TB
	port int
	args []string
	cmd  *exec.Cmd
}

func startRedis(t testing.TB, args ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("HOLDFAST_TEST_ALL") != "" {
			t.Fatal("redis-server is not installed")
		}
		t.Skip("redis-server is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{t: t, port: l.Addr().(*net.TCPAddr).Port}
	require.NoError(t, l.Close())
	s.args = append([]string{"--port", strconv.Itoa(s.port), "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
		"--bind", "127.0.0.1", "--logfile", os.DevNull}, args...)
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *server) start() {
	s.cmd = exec.Command("redis-server", s.args...)
	require.NoError(s.t, s.cmd.Start())
	c := redis.NewClient(s.options())
	defer func() { _ = c.Close() }()
	require.Eventually(s.t, func() bool { return c.Ping(context.Background()).Err() == nil }, 10*time.Second, 5*time.Millisecond)
}

func (s *server) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

func (s *server) options() *redis.Options {
	return &redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), MaxRetries: -1, DialerRetries: 1}
}

// each runs f on the embedded store and on a redis-server.
func each(t *testing.T, f func(t *testing.T, o *redis.Options)) {
	t.Run("miniredis", func(t *testing.T) {
		s := embedded.New(embedded.Config{})
		t.Cleanup(s.Close)
		f(t, s.Options())
	})
	t.Run("redis", func(t *testing.T) { f(t, startRedis(t).options()) })
}

// open runs a store until the test ends.
func open(t testing.TB, connect redislog.Connector, o redislog.Options) *redislog.Store {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second // the machine may be busy; the tests that need a short one say so
	}
	s := redislog.New(connect, o)
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(context.Background()) })
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		wg.Wait()
	})
	return s
}

func raw(t testing.TB, o *redis.Options) *redis.Client {
	c := redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
