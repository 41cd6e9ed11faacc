package race_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/tests/race"
)

// Whatever is lost, late or asked again: every answer of the store is one that some order of the calls explains. So no two owners have
// one epoch, no batch counts twice, nothing stale is written, and a stop that was accepted holds.
// contract: C2, C4, C5, C13, C16
func TestStoreIsLinearizable(t *testing.T) {
	until := time.Now().Add(5 * time.Second)
	if testing.Short() {
		until = time.Now().Add(700 * time.Millisecond)
	}
	first, most := max(*seed, 1), *rounds
	ran, calls := 0, 0
	for i := 0; most > 0 && i < most || most == 0 && (i == 0 || time.Now().Before(until)); i++ {
		history := race.Drive(first+uint64(i), 60, nil)
		ran, calls = ran+1, calls+len(history)
		if why := race.Judge(history); why != "" {
			t.Fatalf("seed %d; again with: go test ./tests/race -race -run TestStoreIsLinearizable -rounds 1 -count 20 -seed %d\n%s", first+uint64(i), first+uint64(i), why)
		}
	}
	t.Logf("%d rounds, %d calls", ran, calls)
}

// The judge is worth something: each store that breaks one promise on purpose is found out.
func TestMutantsAreCaught(t *testing.T) {
	ran := 0
	for name, mutate := range mutants {
		if ran++; testing.Short() && ran > 3 {
			break // some of them; the full run takes all
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range uint64(60) {
				if race.Judge(race.Drive(1000+i, 60, mutate)) != "" {
					t.Logf("caught in round %d", i+1)
					return
				}
			}
			require.Fail(t, "nobody noticed")
		})
	}
	require.GreaterOrEqual(t, len(mutants), 8)
}
