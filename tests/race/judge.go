package race

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkLimit is how long the search for an order of one history may take.
const checkLimit = 30 * time.Second

// Judge says why a history of calls has no order in which the Spec gives the same answers, as the shortest beginning that has none;
// "" if it has one. A search that takes too long is an answer of its own.
func Judge(history []porcupine.Operation) string {
	switch porcupine.CheckOperationsTimeout(Spec(), history, checkLimit) {
	case porcupine.Ok:
		return ""
	case porcupine.Unknown:
		return fmt.Sprintf("no verdict on %d calls within %v", len(history), checkLimit)
	}
	for _, part := range bySession(history) {
		if porcupine.CheckOperations(Spec(), part) {
			continue
		}
		return shortest(part)
	}
	return "illegal only as a whole"
}

// shortest cuts a history at its returns: what returns later is unknown by then.
func shortest(part []porcupine.Operation) string {
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	n, _ := slices.BinarySearchFunc(part, true, func(op porcupine.Operation, _ bool) int {
		if porcupine.CheckOperations(Spec(), until(part, op.Return)) {
			return -1
		}
		return 0
	})
	n = min(n, len(part)-1)
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d calls of a session have no order; the last of them:\n", n+1, len(part))
	for _, op := range part[max(0, n-25) : n+1] {
		fmt.Fprintf(&b, "  %9d–%9d worker %d: %v → %+v\n", op.Call/1000, op.Return/1000, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}

func until(part []porcupine.Operation, end int64) []porcupine.Operation {
	var out []porcupine.Operation
	for _, op := range part {
		if op.Call > end {
			continue
		}
		if op.Return > end {
			op.Output = Reply{Unknown: true}
		}
		out = append(out, op)
	}
	return out
}
