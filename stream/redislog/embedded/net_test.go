package embedded_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/stream/redislog/embedded"
)

// What is written at one end comes out of the other, whole and in order, far above the buffer's size and in both directions at once.
func TestPipeCarriesBothWays(t *testing.T) {
	near, far := embedded.NewPipe(0)
	data := make([]byte, 5*embedded.PipeLimit+17)
	_, _ = rand.Read(data)
	var wg sync.WaitGroup
	for _, ends := range [][2]net.Conn{{near, far}, {far, near}} {
		wg.Go(func() {
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 70_001)
				if _, err := ends[0].Write(rest[:n]); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				rest = rest[n:]
			}
		})
		wg.Go(func() {
			got := make([]byte, len(data))
			if _, err := io.ReadFull(ends[1], got); err != nil || !bytes.Equal(got, data) {
				t.Errorf("other bytes came out: %v", err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, near.Close())
	require.NoError(t, far.Close())
}

// A megabyte may be written before anybody reads; one byte more waits, and says how much went through when its time is over.
func TestPipeHoldsOneMegabyte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := embedded.NewPipe(0)
		n, err := near.Write(make([]byte, embedded.PipeLimit))
		require.NoError(t, err)
		require.Equal(t, embedded.PipeLimit, n)

		require.NoError(t, near.SetWriteDeadline(time.Now().Add(time.Second)))
		start := time.Now()
		n, err = near.Write([]byte("x"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Zero(t, n)
		require.Equal(t, time.Second, time.Since(start))

		_, err = far.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, near.SetWriteDeadline(time.Time{}))
		n, err = near.Write([]byte("x"))
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

// A deadline ends a read that waits, also one that is moved while it waits, and the error is what the net package promises.
func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := embedded.NewPipe(0)
		start := time.Now()
		require.NoError(t, near.SetDeadline(start.Add(3*time.Second)))
		time.AfterFunc(time.Second, func() { _ = near.SetReadDeadline(start.Add(2 * time.Second)) })
		_, err := near.Read(make([]byte, 1))
		require.Equal(t, 2*time.Second, time.Since(start))
		var timeout net.Error
		require.True(t, errors.As(err, &timeout) && timeout.Timeout(), "%v", err)

		require.NoError(t, near.SetReadDeadline(start.Add(-time.Second)))
		_, err = near.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)

		require.NoError(t, near.SetReadDeadline(time.Time{}))
		read := make(chan error)
		go func() {
			_, err := near.Read(make([]byte, 1))
			read <- err
		}()
		time.Sleep(time.Hour)
		require.NoError(t, near.Close())
		require.ErrorIs(t, <-read, net.ErrClosed)
	})
}

// A closed end is read to the end of what it had written; after that both ends say so, and nobody is left waiting.
func TestPipeClose(t *testing.T) {
	near, far := embedded.NewPipe(0)
	_, err := near.Write([]byte("last words"))
	require.NoError(t, err)
	require.NoError(t, near.Close())
	require.NoError(t, near.Close(), "a second close changes nothing")

	got, err := io.ReadAll(far)
	require.NoError(t, err)
	require.Equal(t, "last words", string(got))
	_, err = far.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, err = near.Write([]byte("x"))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = near.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorIs(t, near.SetDeadline(time.Now()), net.ErrClosed)
}

// A writer that waits is released when the reader goes.
func TestPipeCloseReleasesWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := embedded.NewPipe(0)
		wrote := make(chan error)
		go func() {
			_, err := near.Write(make([]byte, 2*embedded.PipeLimit))
			wrote <- err
		}()
		synctest.Wait()
		require.NoError(t, far.Close())
		require.ErrorIs(t, <-wrote, io.ErrClosedPipe)
	})
}

// A far end whose bytes nobody takes for the stall time is cut; a slow reader that takes a little now and then is not.
func TestPipeStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := embedded.NewPipe(time.Second)
		start := time.Now()
		wrote := make(chan error, 1)
		go func() {
			_, err := far.Write(make([]byte, 2*embedded.PipeLimit))
			wrote <- err
		}()
		for range 10 {
			time.Sleep(900 * time.Millisecond)
			_, err := io.ReadFull(near, make([]byte, 1000))
			require.NoError(t, err)
		}
		require.Error(t, <-wrote)
		require.Equal(t, 10*900*time.Millisecond+time.Second, time.Since(start))
		_, err := io.Copy(io.Discard, near)
		require.NoError(t, err, "the rest is read, then the end")
	})
}
