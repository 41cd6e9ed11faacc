package redistest

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Each runs f on the embedded store (subtest "embedded") and on a redis-server (subtest "redis"). Both are empty and f's own, so fixed
// key names and t.Parallel are fine; f may change opts.
func Each(t *testing.T, f func(t *testing.T, name string, opts *redis.Options)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { f(t, "embedded", Mini(t)) })
	t.Run("redis", func(t *testing.T) { f(t, "redis", Shared(t)) })
}

// Shared gives the settings of a client for a redis-server that is empty and the test's own until it ends; then the server is used
// again. Starting one for each subtest would cost more than most of them. It is skipped as Server is.
func Shared(tb testing.TB) *redis.Options {
	tb.Helper()
	path := Require(tb, program)
	p, err := spare.take(path)
	if err != nil {
		tb.Fatalf("redis-server: %v", err)
	}
	tb.Cleanup(func() { spare.give(p) })
	return p.Options()
}

// spare holds the servers of this process that no test uses. The kernel ends them with this process; no goroutine waits for them, so
// that a check for leaked goroutines sees nothing.
var spare pool

type pool struct {
	mu   sync.Mutex // guards idle
	idle []*Process
}

func (s *pool) take(path string) (*Process, error) {
	for p := s.pop(); p != nil; p = s.pop() {
		if p.empty() == nil {
			return p, nil
		}
		p.end() // a test has broken or killed it
	}
	// It keeps nothing, so it gets no directory of its own that nobody would remove.
	p := &Process{path: path, args: settings(os.TempDir(), "--dbfilename", "holdfast-"+strconv.Itoa(os.Getpid())+".rdb")}
	return p, p.startAnywhere()
}

func (s *pool) pop() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return nil
	}
	p := s.idle[n-1]
	s.idle = s.idle[:n-1]
	return p
}

func (s *pool) give(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, p)
}

// empty makes the server as good as new: no keys, no scripts, no connection that a test left behind.
func (p *Process) empty() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client := redis.NewClient(p.Options())
	defer func() { _ = client.Close() }()
	_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, kind := range []string{"normal", "pubsub"} {
			pipe.ClientKillByFilter(ctx, "TYPE", kind, "SKIPME", "yes")
		}
		pipe.ScriptFlush(ctx)
		pipe.FlushAll(ctx)
		return nil
	})
	return err
}
