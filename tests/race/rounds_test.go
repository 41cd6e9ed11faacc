package race_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/tests/race"
)

// Whatever people press at the same time, on whatever nodes, and whatever is lost, late or repeated meanwhile: no answer is lost,
// doubled, mixed up or cut, and every page comes to the same end.
// contract: A9, A10, C1, C2, C3, C5, C13, C16
// case: FC07, FC08, FC16, FC18, FC21
func TestRounds(t *testing.T) {
	first, most, until := *seed, *rounds, time.Time{}
	if first == 0 {
		first = 1
	}
	if most == 0 { // bounded by time alone: what a machine can do in it
		most, until = 100_000, time.Now().Add(12*time.Second)
		if testing.Short() {
			until = time.Now().Add(2 * time.Second)
		}
	}
	var mu sync.Mutex
	next, ran, commands, kills := 0, 0, 0, 0
	var wg sync.WaitGroup
	for range 3 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= most || t.Failed() || (i > 0 && !until.IsZero() && time.Now().After(until)) {
					return
				}
				r := race.Round(first + uint64(i))
				mu.Lock()
				ran, commands, kills = ran+1, commands+r.Commands, kills+r.Kills
				mu.Unlock()
				judge(t, first+uint64(i), r)
			}
		})
	}
	wg.Wait()
	t.Logf("%d rounds, %d commands, %d kills", ran, commands, kills)
}

func judge(t *testing.T, seed uint64, r race.Report) {
	if r.Stuck == "" && len(r.Violations) == 0 {
		return
	}
	t.Errorf("seed %d; again with: go test ./tests/race -race -run 'TestRounds$' -rounds 1 -count 20 -seed %d\n%s", seed, seed, strings.Join(r.Trace, "\n"))
	if r.Stuck != "" {
		t.Error(r.Stuck)
	}
	for i, v := range r.Violations {
		if i < 10 {
			t.Error(v)
		}
	}
}
