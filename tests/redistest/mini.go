package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"holdfast/stream/redislog/embedded"
)

// Mini starts an embedded store that ends with the test and gives the settings of a client for it. It works inside a synctest bubble.
// Keys do not age by themselves there; a test that needs it uses Embedded and Miniredis().FastForward.
func Mini(tb testing.TB) *redis.Options {
	tb.Helper()
	return Embedded(tb).Options()
}

// Embedded is Mini for tests that also want the server itself: its clock, its keys, its hook.
func Embedded(tb testing.TB) *embedded.Server {
	tb.Helper()
	// Without a tick a bubble that can make no progress is reported instead of running for ever.
	s := embedded.New(embedded.Config{Tick: -1})
	tb.Cleanup(s.Close)
	return s
}

// Client makes a client that ends with the test. Make it after its server, so that it ends before it.
func Client(tb testing.TB, opts *redis.Options) *redis.Client {
	tb.Helper()
	c := redis.NewClient(opts)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}
