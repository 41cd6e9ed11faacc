package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tallied gives what a run is told as: the lines and the sum.
func tallied(t *testing.T, all bool, lines ...string) (string, string) {
	t.Helper()
	var out bytes.Buffer
	tl := newTally(&out, all)
	require.NoError(t, tl.readAll(strings.NewReader(strings.Join(lines, "\n"))))
	return out.String(), tl.close().String()
}

// A test with subtests counts through them, and what passed is not shown.
func TestCountsLeaves(t *testing.T) {
	out, sum := tallied(t, true,
		`{"Action":"run","Package":"p","Test":"A"}`,
		`{"Action":"run","Package":"p","Test":"A/x"}`,
		`{"Action":"output","Package":"p","Test":"A/x","Output":"chatter\n"}`,
		`{"Action":"run","Package":"p","Test":"A/y"}`,
		`{"Action":"pass","Package":"p","Test":"A/x"}`,
		`{"Action":"pass","Package":"p","Test":"A/y"}`,
		`{"Action":"pass","Package":"p","Test":"A"}`,
		`{"Action":"run","Package":"p","Test":"B"}`,
		`{"Action":"pass","Package":"p","Test":"B"}`,
		`{"Action":"pass","Package":"p","Elapsed":1.5}`)
	require.Equal(t, "3 passed, 0 failed", sum)
	require.NotContains(t, out, "chatter")
}

// A failure is shown in full and counted once, also when it is a subtest's.
func TestShowsFailures(t *testing.T) {
	out, sum := tallied(t, true,
		`{"Action":"run","Package":"p","Test":"A"}`,
		`{"Action":"run","Package":"p","Test":"A/x"}`,
		`{"Action":"output","Package":"p","Test":"A/x","Output":"    want 1\n"}`,
		`{"Action":"output","Package":"p","Test":"A/x","Output":"    got 2\n"}`,
		`{"Action":"fail","Package":"p","Test":"A/x"}`,
		`{"Action":"output","Package":"p","Test":"A","Output":"--- FAIL: A\n"}`,
		`{"Action":"fail","Package":"p","Test":"A"}`,
		`{"Action":"output","Package":"p","Output":"FAIL\n"}`,
		`{"Action":"fail","Package":"p"}`)
	require.Equal(t, "0 passed, 1 failed", sum)
	require.Contains(t, out, "FAIL  p A/x\n    want 1\n    got 2\n")
}

// A package that does not build, or fails with no test to blame, is one failure.
func TestCountsPackages(t *testing.T) {
	out, sum := tallied(t, true,
		`{"ImportPath":"b [b.test]","Action":"build-output","Output":"b.go:1: undefined: x\n"}`,
		`{"ImportPath":"b [b.test]","Action":"build-fail"}`,
		`{"Action":"output","Package":"b","Output":"FAIL\tb [build failed]\n"}`,
		`{"Action":"fail","Package":"b","FailedBuild":"b [b.test]"}`,
		`{"Action":"run","Package":"p","Test":"A"}`,
		`{"Action":"pass","Package":"p","Test":"A"}`,
		`{"Action":"output","Package":"p","Output":"goleak: found unexpected goroutines\n"}`,
		`{"Action":"fail","Package":"p"}`,
		`go: something is wrong`)
	require.Equal(t, "1 passed, 2 failed", sum)
	require.Contains(t, out, "undefined: x")
	require.Contains(t, out, "unexpected goroutines")
	require.Contains(t, out, "go: something is wrong")
}

// A skip is shown with its reason, and is a failure where everything must run.
func TestSkips(t *testing.T) {
	lines := []string{
		`{"Action":"run","Package":"p","Test":"A"}`,
		`{"Action":"output","Package":"p","Test":"A","Output":"=== RUN   A\n"}`,
		`{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:7: redis-server is not installed\n"}`,
		`{"Action":"output","Package":"p","Test":"A","Output":"--- SKIP: A\n"}`,
		`{"Action":"skip","Package":"p","Test":"A"}`,
		`{"Action":"pass","Package":"p"}`,
	}
	out, sum := tallied(t, false, lines...)
	require.Equal(t, "0 passed, 0 failed, 1 skipped", sum)
	require.Contains(t, out, "skip  p A: a_test.go:7: redis-server is not installed")
	out, sum = tallied(t, true, lines...)
	require.Equal(t, "0 passed, 1 failed", sum)
	require.Contains(t, out, "redis-server is not installed")
}
