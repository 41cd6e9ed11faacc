package redislease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/ownership/redislease"
)

// A lease that the store says is another process's is not renewed, even under the same node and epoch: a restarted node that finds
// its old record after a lossy failover must not take it for its own. Written against a deliberate fault (tests/mutate).
// contract: C4
func TestRenewalAsksForTheProcess(t *testing.T) {
	c := startMini(t)
	s := redislease.New(c, redislease.Options{})
	g, err := s.Acquire(t.Context(), ownership.Request{
		Key: "t/s", Node: "a", Proc: "p1", Req: "q", TTL: 10 * time.Second, Incarnation: "i",
	})
	require.NoError(t, err)
	r := ownership.Renewal{Key: "t/s", Node: "a", Proc: "p1", Epoch: g.Epoch, TTL: 10 * time.Second}
	require.Equal(t, ownership.RenewOK, renewOne(t, s, r))
	r.Proc = "p2"
	require.Equal(t, ownership.RenewLost, renewOne(t, s, r))
}

func renewOne(t *testing.T, s *redislease.Store, r ownership.Renewal) ownership.RenewStatus {
	t.Helper()
	got, err := s.Renew(t.Context(), []ownership.Renewal{r})
	require.NoError(t, err)
	require.Len(t, got, 1)
	return got[0].Status
}
