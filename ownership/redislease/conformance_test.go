package redislease_test

import (
	"testing"

	"holdfast/ownership/leasetest"
	"holdfast/ownership/redislease"
)

// Ownership means the same on the store that comes with the program and on a server, and whichever way leases are renewed.
// contract: B2, B6, C6
// case: FC21
func TestConformance(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		leasetest.Run(t, func(t testing.TB) leasetest.Backend {
			c := startMini(t)
			return leasetest.Backend{Store: redislease.New(c, redislease.Options{Chunk: 64}), Client: c}
		})
	})
	t.Run("redis", func(t *testing.T) {
		c := startRedis(t)
		leasetest.Run(t, func(testing.TB) leasetest.Backend {
			return leasetest.Backend{Store: redislease.New(c, redislease.Options{Chunk: 64}), Client: c, Full: true}
		})
	})
	t.Run("redis, one lease per script", func(t *testing.T) {
		c := startRedis(t)
		leasetest.Run(t, func(testing.TB) leasetest.Backend {
			return leasetest.Backend{Store: redislease.New(c, redislease.Options{}), Client: c, Full: true}
		})
	})
}
