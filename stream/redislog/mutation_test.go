package redislog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/stream"
	"holdfast/stream/redislog"
)

// A connection that died unseen is replaced without an error; what is done over the new one says so, or its owner would trust a log
// that may have lost entries. Written against a deliberate fault (tests/mutate).
func TestHiddenReconnectIsCounted(t *testing.T) {
	b := backend(t, startRedis(t).options(), redislog.Options{})
	a := newActor(t, b)
	a.accept("k1")
	a.token("a")
	conn := a.check().Conn
	for range 20 {
		require.NoError(t, b.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
		r := a.append(a.at.Next(), "b")
		if r.Status == stream.AppendDone {
			require.Greater(t, r.Conn, conn)
			return
		}
		tail := a.check() // the break was seen after all: ask, and try again
		conn, a.at = tail.Conn, tail.Top
	}
	require.Fail(t, "no connection was ever replaced unseen")
}
