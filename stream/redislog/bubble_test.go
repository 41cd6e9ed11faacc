package redislog_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/ownership/redislease"
	"holdfast/stream"
	"holdfast/stream/logtest"
	"holdfast/stream/redislog"
	"holdfast/stream/redislog/embedded"
)

// The store works on a test's own clock, more than once in one process; what is written there needs no time at all.
func TestInBubble(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			srv := embedded.New(embedded.Config{Tick: -1})
			c := redis.NewClient(srv.Options())
			s := redislog.New(redislog.Single(srv.Options()), redislog.Options{PingEvery: -1})
			var wg sync.WaitGroup
			wg.Go(func() { _ = s.Run(t.Context()) })
			a := newActor(t, logtest.Backend{Store: s, Leases: redislease.New(c, redislease.Options{})})
			got := make(chan stream.Wake, 100)
			stop := s.Follow(a.key, func(w stream.Wake) { got <- w })
			waitConfirmed(t, got)
			start := time.Now()
			a.accept("k1")
			for range 10 {
				wg.Go(func() { _, _ = s.Check(t.Context(), a.key) }) // all want the one connection
			}
			a.token("x")
			a.settle()
			synctest.Wait()
			require.Zero(t, time.Since(start))
			require.NotEmpty(t, got)
			stop()
			require.NoError(t, s.Close())
			wg.Wait()
			require.NoError(t, c.Close())
			srv.Close()
		})
	}
}
