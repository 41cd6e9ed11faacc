package redislease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"holdfast/ownership/leasetest"
	"holdfast/ownership/redislease"
)

// A Redis Cluster keeps every promise too, and no script reaches for a key that it did not declare.
func TestCluster(t *testing.T) {
	c := startRedis(t, "--cluster-enabled", "yes")
	require.NoError(t, c.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool {
		info, err := c.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	}, 20*time.Second, 20*time.Millisecond)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{c.Options().Addr}, MaxRetries: -1, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	t.Cleanup(redislease.Strict())
	leasetest.Run(t, func(testing.TB) leasetest.Backend {
		return leasetest.Backend{Store: redislease.New(cluster, redislease.Options{}), Client: cluster}
	})
}
