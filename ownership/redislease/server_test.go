package redislease_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
)

// connect gives a client with the settings that the store asks for.
func connect(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func startMini(t testing.TB) *redis.Client { return connect(t, miniredis.RunT(t).Addr()) }

// startRedis runs a redis-server of its own for the test.
func startRedis(t testing.TB, args ...string) *redis.Client {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("HOLDFAST_TEST_ALL") != "" {
			t.Fatal("redis-server is not installed")
		}
		t.Skip("redis-server is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	args = append([]string{"--port", strconv.Itoa(port), "--save", "", "--appendonly", "no", "--dir", t.TempDir(), "--bind", "127.0.0.1"}, args...)
	cmd := exec.Command(program, args...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c := connect(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	require.Eventually(t, func() bool { return c.Ping(t.Context()).Err() == nil }, 10*time.Second, 20*time.Millisecond)
	return c
}
