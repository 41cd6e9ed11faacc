package wire_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/gateway/wire"
)

// A frame is JSON whatever its numbers are: JSON has no word for what is not a number. Written against a deliberate fault (tests/mutate).
func TestFrameWithNoNumber(t *testing.T) {
	for _, at := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		v := wire.View{Session: "s", Cursor: "aa.1:1", Run: &wire.Run{Run: "r", StartedAt: at}}
		require.True(t, json.Valid(wire.AppendAttached(nil, json.RawMessage("1"), &v)))
	}
}
