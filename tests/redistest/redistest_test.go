package redistest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/tests/redistest"
)

// A server keeps what it was told to keep, through a power cut, and nothing else.
func TestServerRestart(t *testing.T) {
	for args, kept := range map[string]bool{"no": false, "yes": true} {
		p := redistest.Server(t, "--appendonly", args, "--appendfsync", "always")
		rdb := redis.NewClient(p.Options())
		require.NoError(t, rdb.Set(t.Context(), "k", "v", 0).Err())
		addr := p.Addr()
		p.Restart()
		require.Equal(t, addr, p.Addr())
		require.NoError(t, rdb.Close())
		rdb = redis.NewClient(p.Options())
		require.Equal(t, kept, rdb.Get(t.Context(), "k").Err() == nil)
		require.NoError(t, rdb.Close())
	}
}

// A killed server is gone when Kill returns; killing it again, and restarting it, work.
func TestServerKill(t *testing.T) {
	p := redistest.Server(t)
	rdb := redistest.Client(t, p.Options())
	require.NotZero(t, p.PID())
	p.Kill()
	p.Kill()
	require.Zero(t, p.PID())
	require.Error(t, rdb.Ping(t.Context()).Err())
	p.Restart()
	require.NoError(t, rdb.Ping(t.Context()).Err())
}

// A paused server answers nothing and loses nothing: what it was sent it does when it goes on.
func TestServerPause(t *testing.T) {
	p := redistest.Server(t)
	rdb := redistest.Client(t, p.Options())
	require.NoError(t, rdb.Incr(t.Context(), "n").Err())
	p.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.Error(t, rdb.Incr(ctx, "n").Err())
	p.Resume()
	require.Eventually(t, func() bool { return rdb.Get(t.Context(), "n").Val() == "2" }, 10*time.Second, 5*time.Millisecond)
}

// A server has the limits it was started with, and refuses a write above them.
func TestServerMemoryLimit(t *testing.T) {
	rdb := redistest.Client(t, redistest.Server(t, "--maxmemory", "2mb").Options())
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = rdb.RPush(t.Context(), "list", strings.Repeat("x", 64<<10)).Err()
	}
	require.ErrorContains(t, err, "OOM")
}

// The servers of two tests know nothing of each other, and a server of a test before has forgotten it.
func TestEachIsEmpty(t *testing.T) {
	for range 3 {
		redistest.Each(t, func(t *testing.T, name string, opts *redis.Options) {
			t.Parallel()
			rdb := redistest.Client(t, opts)
			require.EqualValues(t, 1, rdb.Incr(t.Context(), "n").Val(), name)
			require.NoError(t, rdb.ScriptLoad(t.Context(), "return 1").Err())
		})
	}
}

// The embedded store works inside a bubble.
func TestMiniInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redistest.Client(t, redistest.Mini(t))
		require.EqualValues(t, 1, rdb.Incr(t.Context(), "n").Val())
	})
}

// A missing program is a skip with its reason, and a failure when everything must run.
func TestMissingProgram(t *testing.T) {
	got := run(t, "TestMissingProgramHelper", "HOLDFAST_TEST_ALL=")
	require.NoError(t, got.err)
	require.Contains(t, got.out, "--- SKIP")
	require.Contains(t, got.out, "no-such-program is not installed")

	got = run(t, "TestMissingProgramHelper", "HOLDFAST_TEST_ALL=1")
	require.Error(t, got.err)
	require.Contains(t, got.out, "no-such-program is not installed")
}

// TestMissingProgramHelper is run by the test above, in a process of its own.
func TestMissingProgramHelper(t *testing.T) {
	if os.Getenv("REDISTEST_HELPER") == "" {
		return
	}
	redistest.Require(t, "no-such-program")
}

type result struct {
	out string
	err error
}

// run runs one test of this program again, with a setting of the environment.
func run(t *testing.T, test, setting string) result {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), "REDISTEST_HELPER=1", "HOLDFAST_TEST_QUICK=", setting)
	out, err := cmd.CombinedOutput()
	return result{string(out), err}
}

// A server does not outlive its test's process, however that ends.
func TestServerDiesWithProcess(t *testing.T) {
	redistest.Require(t, "redis-server")
	got := run(t, "TestServerDiesWithProcessHelper", "HOLDFAST_TEST_ALL=")
	require.Error(t, got.err, "it kills itself")
	_, rest, ok := strings.Cut(got.out, "server at ")
	require.True(t, ok, "%s", got.out)
	addr, _, _ := strings.Cut(rest, "\n")
	rdb := redistest.Client(t, &redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1})
	require.Eventually(t, func() bool { return rdb.Ping(t.Context()).Err() != nil }, 10*time.Second, 10*time.Millisecond)
}

// TestServerDiesWithProcessHelper is run by the test above, in a process of its own, and ends it without any cleaning up.
func TestServerDiesWithProcessHelper(t *testing.T) {
	if os.Getenv("REDISTEST_HELPER") == "" {
		return
	}
	fmt.Printf("server at %s\n", redistest.Server(t).Addr())
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Kill())
	select {}
}
