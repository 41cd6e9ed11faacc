package regen_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// The model sees what was said, partial answers too, and never our error texts, thinking or private marks.
func TestPromptShowsTheModelOnlyItsOwn(t *testing.T) {
	k := newTalk(t)
	k.turn("one", "1")
	k.send("two")
	_, err := k.end(regen.Outcome{Kind: regen.Cancelled, Text: "half", Reasoning: "secret", ToolCalls: []json.RawMessage{[]byte(`{"id":"c"}`)}})
	require.NoError(t, err)
	k.send("three")
	_, err = k.end(regen.Outcome{Kind: regen.Completed, ToolCalls: []json.RawMessage{[]byte(`{"id":"c"}`)}})
	require.NoError(t, err)
	k.send("four")
	rows := k.d.Prompt(0)
	require.Equal(t, []string{"user:one", "assistant:1", "user:two", "assistant:half", "user:three", "user:four"}, show(rows))
	for _, r := range rows {
		require.Empty(t, r.Reasoning+r.Token+r.Source+r.ForkChild)
		require.Empty(t, r.ToolCalls, "a call that nobody answered is refused by providers")
	}
	require.False(t, k.d.NeedsMore(0))
}

// Tool calls with their results stay together in the prompt.
func TestPromptKeepsAnsweredCalls(t *testing.T) {
	rows := []regen.Row{
		{ID: "u", Role: regen.RoleUser, Content: regen.Text("q")},
		{ID: "a", Role: regen.RoleAssistant, ToolCalls: []json.RawMessage{[]byte(`{"id":"c1"}`), []byte(`{"id":"c2"}`), []byte(`"cut"`)}},
		{ID: "t", Role: regen.RoleTool, Content: regen.Text("r"), ToolCallID: "c1", ToolName: "n"},
		{ID: "b", Role: regen.RoleAssistant, Content: regen.Text("done")},
		{ID: "t2", Role: regen.RoleTool, Content: regen.Text("r"), ToolCallID: "c2"},
	}
	k := importTalk(t, regen.Fields{}, rows, rows)
	got := k.d.Prompt(0)
	require.Len(t, got, 5)
	require.Equal(t, []json.RawMessage{[]byte(`{"id":"c1"}`)}, got[1].ToolCalls)
	require.Len(t, k.d.Rows[1].Row.ToolCalls, 3, "the stored row stays")
}

// A long conversation loses whole oldest turns in the prompt, never half a turn and never the last one.
func TestPromptBudget(t *testing.T) {
	k := newTalk(t)
	for range 4 {
		k.turn(strings.Repeat("q", 10), strings.Repeat("a", 10))
	}
	k.send(strings.Repeat("z", 10))
	for budget, want := range map[int]int{0: 9, 90: 9, 89: 7, 70: 7, 50: 5, 49: 3, 30: 3, 29: 1, 10: 1, 1: 1} {
		require.Len(t, k.d.Prompt(budget), want, "budget %d", budget)
		require.False(t, k.d.NeedsMore(budget))
		for n := 0; n <= 9; n++ {
			d := k.store.load(t, k.d, n)
			if !d.NeedsMore(budget) {
				require.Len(t, d.Prompt(budget), want, "budget %d, window %d", budget, n)
			}
		}
		require.False(t, k.store.load(t, k.d, 9).NeedsMore(budget))
	}
	require.True(t, k.store.load(t, k.d, 4).NeedsMore(0))
	require.True(t, k.store.load(t, k.d, 4).NeedsMore(1000))
	require.False(t, k.store.load(t, k.d, 4).NeedsMore(30), "the turn below cannot fit")
	require.True(t, k.store.load(t, k.d, 0).NeedsMore(1))
	require.Len(t, k.store.load(t, k.d, 4).Prompt(0), 3, "half a turn is no part of a prompt")
}

// A summary in front of an imported conversation is part of the prompt while it fits.
func TestPromptKeepsTheFront(t *testing.T) {
	rows := []regen.Row{{ID: "u", Role: regen.RoleUser, Content: regen.Text("q")}, {ID: "a", Role: regen.RoleAssistant, Content: regen.Text("a")}}
	k := importTalk(t, regen.Fields{}, rows, append([]regen.Row{{Role: regen.RoleSystem, Content: regen.Text("summary")}}, rows...))
	require.Equal(t, []string{"system:summary", "user:q", "assistant:a"}, show(k.d.Prompt(0)))
	require.Equal(t, []string{"user:q", "assistant:a"}, show(k.d.Prompt(5)))

	rows[1].Error = true
	k = importTalk(t, regen.Fields{}, rows, rows)
	require.Equal(t, []string{"user:q"}, show(k.d.Prompt(0)), "an error row stays away from the model, however it got into context")
}
