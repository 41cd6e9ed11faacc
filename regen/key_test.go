package regen_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// A session's name can never point at somebody else's files, keys or paths.
func TestIdentifiersAreClosed(t *testing.T) {
	for _, ok := range []string{"a", "A-b_9", "0", strings.Repeat("x", 128)} {
		require.True(t, regen.ValidID(ok), ok)
		k, err := regen.ParseKey("main/" + ok)
		require.NoError(t, err)
		require.Equal(t, "main/"+ok, k.String())
	}
	for _, bad := range []string{"", "-a", "_a", "..", "a/b", "a b", "a{b}", "é", "a\x00", "a\n", strings.Repeat("x", 129)} {
		require.False(t, regen.ValidID(bad), bad)
		_, err := regen.ParseKey("main/" + bad)
		var e *regen.IDError
		require.ErrorAs(t, err, &e, bad)
		require.Error(t, regen.Key{Tenant: bad, Session: "s"}.Validate())
	}
	_, err := regen.ParseKey("main")
	require.Error(t, err)
	require.True(t, regen.ValidHexID(strings.Repeat("0a", 16)))
	for _, bad := range []string{"", "0a", strings.Repeat("0A", 16), strings.Repeat("0g", 16), strings.Repeat("00", 17)} {
		require.False(t, regen.ValidHexID(bad), bad)
	}
}

// The proof of a turn has one spelling, so nobody can make a second one for the same turn.
func TestToken(t *testing.T) {
	for at, want := range map[float64]string{99: "s:99", 12.5: "s:12.5", 1778098700.1234567: "s:1778098700.1234567",
		0.1: "s:0.10000000000000001", 1e22: "s:1e+22"} {
		require.Equal(t, want, regen.Token(" s ", at))
		require.True(t, regen.ValidToken(want), want)
	}
	inf := math.Inf(1)
	for _, at := range []float64{0, -1, inf, -inf, math.NaN()} {
		require.Empty(t, regen.Token("s", at))
	}
	require.Empty(t, regen.Token(" ", 1))
	for _, bad := range []string{"", "s", "s:", ":1", "s:0", "s:-1", "s:1.0", "s:+1", "s:NaN", "s:Inf", "s:0x1p1", " s:1", "s:1e22", "s:0.1"} {
		require.False(t, regen.ValidToken(bad), bad)
	}
	require.True(t, regen.ValidToken("a:b:1"), "the last colon counts")
}
