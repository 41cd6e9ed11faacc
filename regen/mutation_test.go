package regen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// The last turn goes to the model whole, however small the budget is. Written against a deliberate fault (tests/mutate).
func TestLastTurnIsNeverCut(t *testing.T) {
	id := func(c string) string { return strings.Repeat(c, 32) }
	plan, err := (&regen.Document{Session: "s"}).Plan(regen.Command{Op: regen.OpSend, Key: "k", Content: regen.Text("a question")})
	require.NoError(t, err)
	c, err := plan.Commit(regen.Mint{Run: id("1"), Turn: id("2"), Row: id("3"), Variant: id("4"), Generation: id("5"), At: 1})
	require.NoError(t, err)
	s, err := c.Document.Settle(regen.Outcome{
		Run: id("1"), Kind: regen.Completed, Text: "an answer", At: 2, AnswerRow: id("6"), ErrorRow: id("7"),
	})
	require.NoError(t, err)
	require.Len(t, s.Document.Prompt(1), 2)
}
