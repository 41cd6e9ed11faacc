package regen_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// richTalk is an imported exchange with everything that a row can have: parts, files, unknown fields, tools and an unfinished answer.
func richTalk(t *testing.T) (*talk, regen.Row) {
	t.Helper()
	parts, err := regen.ParseContent([]byte(`[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:x"},"n":1.50},{"type":"text","text":"here"}]`))
	require.NoError(t, err)
	user := regen.Row{
		ID: "u2", Turn: "t2", Role: regen.RoleUser, Content: parts, At: 7, Source: "webui",
		Attachments: []json.RawMessage{[]byte(`{"name":"a.txt","size":10,"nested":{"k":[1,2.50]}}`), []byte(`"b.png"`)},
		Extra:       map[string]json.RawMessage{"anchor": []byte(`{"own":1.0}`)},
	}
	call := json.RawMessage(`{"id":"c1","function":{"name":"f","arguments":"{\"_token\":1}"}}`)
	rows := []regen.Row{
		{ID: "u1", Turn: "t1", Role: regen.RoleUser, Content: parts, At: 5}, // the same words before
		{ID: "a1", Turn: "t1", Role: regen.RoleAssistant, Content: regen.Text("first"), At: 6},
		user,
		{ID: "a2", Turn: "t2", Role: regen.RoleAssistant, Content: regen.Text("let me see"), ToolCalls: []json.RawMessage{call}, At: 8},
		{ID: "x2", Turn: "t2", Role: regen.RoleTool, Content: regen.Text("found"), ToolCallID: "c1", ToolName: "f", At: 9},
		{ID: "b2", Turn: "t2", Role: regen.RoleAssistant, Content: regen.Text("half"), Partial: true, Reasoning: "why", At: 10},
		{ID: "e2", Turn: "t2", Role: regen.RoleAssistant, Content: regen.Text("stopped"), Error: true, Interrupted: "restart", At: 11},
	}
	context := append([]regen.Row{{Role: regen.RoleUser, Content: regen.Text("summary of before"), At: 1}}, rows[:6]...)
	return importTalk(t, regen.Fields{}, rows, context), user
}

// A regenerate takes the whole answer, tools, parts and failures with it, and nothing else; the prompt stays whole, byte for byte, and
// the answer is kept whole as a variant.
// contract: S1, S12, A12, A13, A14, D5
// case: FC01
func TestWholeAnswerGoesAndPromptStaysWhole(t *testing.T) {
	k, user := richTalk(t)
	before := k.d
	for try := range 3 {
		c := k.regenerate()
		got := c.Rows[0]
		require.Equal(t, user.ID, got.ID)
		require.Equal(t, user.Turn, got.Turn)
		for _, pair := range [][2]any{{user.Content, got.Content}, {user.Attachments, got.Attachments}, {user.Extra, got.Extra}, {user.Source, got.Source}} {
			want, err := json.Marshal(pair[0])
			require.NoError(t, err)
			have, err := json.Marshal(pair[1])
			require.NoError(t, err)
			require.Equal(t, string(want), string(have))
		}
		require.Equal(t, 7.0, got.SentAt, "when it was said first")
		require.Equal(t, []string{"user:look here", "assistant:first", "user:look here"}, k.display())
		require.Equal(t, []string{"user:summary of before", "user:look here", "assistant:first", "user:look here"}, k.context())
		require.Equal(t, before.Rows[0].Row, k.d.Whole().Rows[0].Row, "its twin stays untouched")
		if try == 0 {
			require.Len(t, c.Edit.VariantSet, 1)
			for _, v := range c.Edit.VariantSet {
				for _, part := range []string{"let me see", `\"_token\":1`, "found", "half", "why", "stopped"} {
					require.Contains(t, v, part)
				}
			}
		}
		k.settle([]regen.OutcomeKind{regen.Completed, regen.Cancelled, regen.Failed}[try], "answer")
	}
}

// The guard stands before everything: whatever end a run that is not the writeback owner brings, with whatever it has to say, no list,
// field or mark changes; a missing owner is none.
// contract: C4, C6, C17
func TestNoKindOfEndPassesTheGuard(t *testing.T) {
	for _, kind := range []regen.OutcomeKind{regen.Completed, regen.Length, regen.Filtered, regen.Failed, regen.Cancelled, regen.Interrupted} {
		k := newTalk(t)
		old := k.send("one").Run
		k.settle(regen.Cancelled, "part")
		for _, active := range []bool{true, false} {
			if active {
				k.send("two")
			}
			before := dump(k.d)
			for _, run := range []string{old, "", id('r', 77)} {
				_, err := k.d.Settle(regen.Outcome{
					Run: run, Kind: kind, Text: "late", Reasoning: "late", ToolCalls: []json.RawMessage{[]byte(`{}`)}, At: 500,
					AnswerRow: id('a', 900), ErrorRow: id('e', 900), User: &regen.Row{Content: regen.Text("late")},
				})
				var refused *regen.NotWritebackOwnerError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, before, dump(k.d))
			}
			if active {
				k.settle(regen.Completed, "two's answer")
			}
		}
	}
}
