package race_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"holdfast/tests/redistest"
)

// A node that took a dead owner's session and then could not read it does not give it back as if it were idle: the answer gets its end.
// contract: C9
func TestFailedRecoveryIsTriedAgain(t *testing.T) {
	srv := redistest.Embedded(t)
	s := newScene(t, srv.Options())
	a := s.node("a", time.Second)
	rec, c := s.begin(a, "k1")
	p := s.read(a, rec.Cursor)
	s.say(c, "some ")
	p.said("some ")
	a.Kill()
	var lost atomic.Bool
	srv.SetHook(func(peer *server.Peer, name string, args ...string) bool {
		reads := name == "EVALSHA" && slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, ":rows") })
		hit := reads && lost.CompareAndSwap(false, true)
		if hit {
			peer.Close()
		}
		return hit
	})
	s.node("b", time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); s.dump().Head["run"] != "" && time.Now().Before(end); {
		<-tick.C
	}
	require.True(t, lost.Load())
	require.Empty(t, s.dump().Head["run"])
	require.Equal(t, rec.Run, s.dump().Head["last"])
}
