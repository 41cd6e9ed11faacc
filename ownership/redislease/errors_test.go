package redislease_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/ownership/redislease"
)

type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// What may have been written is never reported as not written, and what a retry cures is told from what it does not.
func TestErrorClasses(t *testing.T) {
	unknown, refused := new(*ownership.UnknownError), new(*ownership.RefusedError)
	for _, c := range []struct {
		err error
		is  error
		as  any
	}{
		{err: io.EOF, as: unknown},
		{err: context.DeadlineExceeded, as: unknown},
		{err: context.Canceled, as: unknown},
		{err: &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, as: unknown},
		{err: &net.OpError{Op: "write", Err: errors.New("connection reset")}, as: unknown},
		{err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}, is: ownership.ErrUnavailable},
		{err: redis.ErrPoolTimeout, is: ownership.ErrUnavailable},
		{err: redis.ErrClosed, is: ownership.ErrUnavailable},
		{err: refusal("TRYAGAIN Multiple keys request during rehashing of slot"), is: ownership.ErrUnavailable},
		{err: refusal("CLUSTERDOWN The cluster is down"), is: ownership.ErrUnavailable},
		{err: refusal("READONLY You can't write against a read only replica."), is: ownership.ErrUnavailable},
		{err: refusal("LOADING Redis is loading the dataset in memory"), is: ownership.ErrUnavailable},
		{err: refusal("MASTERDOWN Link with MASTER is down"), is: ownership.ErrUnavailable},
		{err: refusal("NOREPLICAS Not enough good replicas to write."), is: ownership.ErrUnavailable},
		{err: refusal("BUSY Redis is busy running a script"), is: ownership.ErrUnavailable},
		{err: refusal("ERR max number of clients reached"), is: ownership.ErrUnavailable},
		{err: refusal("OOM command not allowed when used memory > 'maxmemory'."), is: ownership.ErrFull},
		{err: refusal("MISCONF Redis is configured to save RDB snapshots"), as: refused},
		{err: refusal("NOPERM this user has no permissions"), as: refused},
		{err: refusal("WRONGTYPE Operation against a key holding the wrong kind of value"), as: refused},
	} {
		got := redislease.Classify(c.err)
		if c.is != nil {
			require.ErrorIs(t, got, c.is, c.err)
		}
		if c.as != nil {
			require.ErrorAs(t, got, c.as, c.err)
		}
		require.ErrorIs(t, got, c.err)
	}
	require.NoError(t, redislease.Classify(nil))
}

// A server that is not there says so on every call, and a lease that cannot be renewed for now is not lost.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	s := redislease.New(connect(t, addr), redislease.Options{})
	ctx := t.Context()
	_, err = s.Acquire(ctx, ownership.Request{Key: "t/s", Node: "a", TTL: time.Second})
	require.ErrorIs(t, err, ownership.ErrUnavailable)
	require.ErrorIs(t, s.Release(ctx, ownership.Lease{Key: "t/s"}), ownership.ErrUnavailable)
	_, _, err = s.Look(ctx, "t/s")
	require.ErrorIs(t, err, ownership.ErrUnavailable)
	_, err = s.Beat(ctx, "a")
	require.ErrorIs(t, err, ownership.ErrUnavailable)
	got, err := s.Renew(ctx, []ownership.Renewal{{Key: "t/s"}, {Key: "t/r"}})
	require.NoError(t, err)
	for _, r := range got {
		require.Equal(t, ownership.RenewUnknown, r.Status)
		require.ErrorIs(t, r.Err, ownership.ErrUnavailable)
	}
}

// A server that takes the question and never answers leaves the outcome unknown.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s := redislease.New(connect(t, l.Addr().String()), redislease.Options{}) // the backlog accepts, nobody reads
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = s.Acquire(ctx, ownership.Request{Key: "t/s", Node: "a", TTL: time.Second})
	var unknown *ownership.UnknownError
	require.ErrorAs(t, err, &unknown)
	got, err := s.Renew(ctx, []ownership.Renewal{{Key: "t/s"}})
	require.NoError(t, err)
	require.Equal(t, ownership.RenewUnknown, got[0].Status)
}
