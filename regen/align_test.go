package regen_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// parseRows reads "q a1 u:text#id@time": the first letter of a word gives the role (q is a user, a an assistant, t a tool,
// s a system row), the word is the text.
func parseRows(s string) []*regen.Row {
	var rows []*regen.Row
	for _, word := range strings.Fields(s) {
		r := &regen.Row{Role: map[byte]regen.Role{'q': regen.RoleUser, 'a': regen.RoleAssistant, 't': regen.RoleTool, 's': regen.RoleSystem}[word[0]]}
		word, at, _ := strings.Cut(word, "@")
		if at != "" {
			_ = json.Unmarshal([]byte(at), &r.At)
		}
		text, rowID, _ := strings.Cut(word, "#")
		r.ID, r.Content = rowID, regen.Text(text)
		rows = append(rows, r)
	}
	return rows
}

// When it is not certain where the model's memory has to be cut, it gets shorter, never longer.
// contract: F5
func TestAlignContext(t *testing.T) {
	for _, c := range []struct {
		name, display, context string
		k, cut, user           int
	}{
		{"nothing kept", "q a", "q a", 0, 0, -1},
		{"no display", "", "q a", 1, 0, -1},
		{"no context", "q a", "", 1, 0, -1},
		{"equal lengths are parallel", "q a1 q a2", "q a1 q a2", 3, 3, 2},
		{"a summary in front", "q a1 q a2", "sum q a1 q a2", 3, 4, 3},
		{"a trimmed front", "q a1 q a2", "q a2", 3, 1, 0},
		{"tool rows in the last answer", "q a1 q a2", "q a1 q ax t a2", 3, 3, 2},
		{"only a summary", "q a1 q a2", "sum", 3, 1, -1},
		{"only rows that go", "q a", "sum a x", 1, 1, -1},
		{"only the answer that goes", "q1 a1 q2 a2", "a2", 3, 0, -1},
		{"the user row gone", "q1 a1 q2 a2", "q1 a1", 3, 2, 0},
		{"exact by id beats a weak one", "q#1 a#2", "q q#1 a", 1, 2, 1},
		{"exact by time beats a weak one", "q@5 a@6", "q q@5 a@6", 1, 2, 1},
		{"two weak ones are ambiguous, context longer", "q a", "q q a", 1, 2, 1},
		{"two weak ones are ambiguous, context shorter", "q a1 a2", "q q", 1, 1, 0},
		{"unequal ids skip", "q#1 a#2 q#3", "q#9 q#1", 1, 2, 1},
		{"unequal times skip", "q@1 a@2 q@3", "q@9 q@1", 1, 2, 1},
		{"ids win over what rows say", "q#1 a#2 q#3 a#4 a#5", "sx#1 ax#2 sx#3 ax#4", 3, 3, -1},
		{"ambiguous gone row after an answer", "q1 a1 a2 q3", "q1 a1 a2 a2 x", 2, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cut, user := regen.AlignContext(parseRows(c.display), parseRows(c.context), c.k)
			require.Equal(t, []int{c.cut, c.user}, []int{cut, user})
		})
	}
}

// Two tool calls are the same call whatever order a store wrote their keys in.
func TestAlignComparesToolCalls(t *testing.T) {
	display, context := parseRows("q ax aend"), parseRows("s0 s1 q ax")
	display[1].ToolCalls = []json.RawMessage{[]byte(`{"a":1,"b":{"c":2,"d":3}}`)}
	context[3].ToolCalls = []json.RawMessage{[]byte(`{"b":{"d":3,"c":2},"a":1}`)}
	cut, _ := regen.AlignContext(display, context, 2)
	require.Equal(t, 4, cut)
	context[3].ToolCalls = []json.RawMessage{[]byte(`{"a":2}`)}
	cut, _ = regen.AlignContext(display, context, 2)
	require.Equal(t, 3, cut, "the surplus counts as a front")
}
