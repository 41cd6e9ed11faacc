package regen_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

func fullRow() regen.Row {
	return regen.Row{
		ID: "i", Turn: "t", Role: regen.RoleUser, Content: regen.Text("<a>&\"\\\n\u2028\x01é"), At: 1.5, SentAt: 1, RegeneratedAt: 1.5,
		Run: "r", Model: "m", Reasoning: "why", Attachments: []json.RawMessage{[]byte(`{"_token":"mine","n":1.50}`)},
		ToolCalls:  []json.RawMessage{[]byte(`{"id":"c","function":{"arguments":"{\"_token\":1}","_fork_child":2}}`)},
		ToolCallID: "c", ToolName: "n", Error: true, Partial: true, Interrupted: "restart", Usage: []byte(`{"in":1}`),
		Token: "r:1.5", Source: "fork", ForkChild: "s1", Variants: []string{"v1", "v2"},
		Extra: map[string]json.RawMessage{"zz": []byte(`null`), "api_content": []byte(`{"a":"<"}`)},
	}
}

// A row written by one version of the program and rewritten by another keeps every byte.
func TestRowRoundTrip(t *testing.T) {
	row := fullRow()
	e := regen.Link{Chain: regen.EmptyChain, Row: &row}.Encode()
	back, err := regen.DecodeLink(e)
	require.NoError(t, err)
	require.Equal(t, &row, back.Row)
	require.Equal(t, e, back.Encode())

	odd, err := regen.DecodeContextLink(string(regen.EmptyChain) + ` { "future" : [ 1, 2 ], "content": null, "role":"assistant" }`)
	require.NoError(t, err)
	require.Equal(t, "", odd.Row.Content.Text(), "missing content is no word")
	require.Contains(t, odd.Encode(), `"future":[1,2]`)

	for _, bad := range []string{"", "x", string(regen.EmptyChain), string(regen.EmptyChain) + " ", string(regen.EmptyChain) + " null",
		string(regen.EmptyChain) + ` {"content":1}`, string(regen.EmptyChain) + " @", "zz" + string(regen.EmptyChain[2:]) + " {}"} {
		_, err := regen.DecodeContextLink(bad)
		require.Error(t, err, bad)
		_, err = regen.DecodeLink(bad)
		require.ErrorIs(t, err, regen.ErrElement, bad)
	}
}

// Nobody ever sees a private field; what a person put into a tool call or an attachment is theirs and stays.
// contract: A4
func TestPublicRowIsAllowListed(t *testing.T) {
	row := fullRow()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(row.Public(true), &m))
	want := []string{"id", "turn", "role", "content", "at", "run", "model", "reasoning", "attachments", "tool_calls", "tool_call_id",
		"error", "partial", "interrupted", "regenerated_at", "variants", "active"}
	var got []string
	for k := range m {
		got = append(got, k)
	}
	require.ElementsMatch(t, want, got)
	require.JSONEq(t, `[{"_token":"mine","n":1.50}]`, string(m["attachments"]))
	require.Contains(t, string(m["tool_calls"]), `"_fork_child":2`)
	require.NotContains(t, string(row.Public(true)), "r:1.5")

	require.NoError(t, json.Unmarshal(regen.Row{}.Public(false), &m))
	require.JSONEq(t, `{"id":"","turn":"","role":"","content":"","at":0}`, string(regen.Row{}.Public(false)))
}

// The page marks the right message as being answered, whatever the clocks say and whatever the store holds.
// contract: A5
func TestActiveMarksOneRow(t *testing.T) {
	k := newTalk(t)
	k.turn("one", "1")
	k.send("two")
	user := *k.d.Rows[2].Row
	user.At += 1000 // time drift
	require.Contains(t, string(k.d.Public(user)), `"active":true`)
	require.NotContains(t, string(k.d.Public(*k.d.Rows[0].Row)), "active")
	copied := *k.d.Rows[1].Row
	copied.Token = user.Token
	copied.Extra = map[string]json.RawMessage{"active": []byte("true")}
	require.NotContains(t, string(k.d.Public(copied)), "active", "a stored flag or a token on another role is nothing")
	k.settle(regen.Completed, "2")
	require.NotContains(t, string(k.d.Public(*k.d.Rows[2].Row)), "active")
}

// Session fields that a newer version wrote are not lost by an older one.
func TestFieldsRoundTrip(t *testing.T) {
	f := regen.Fields{Title: "t", TitleFixed: true, System: "s", Source: "fork", RawSource: "a", SourceTag: "b", Parent: "p",
		Imported: true, ReadOnly: true, CreatedAt: 1778098700.1234567, UpdatedAt: 2, Watermark: 3, Boundary: 4, ShrinkGeneration: "g",
		Extra: map[string]string{"new": "x"}}
	require.Len(t, f.Map(), 15)
	require.Equal(t, f, regen.FieldsFromMap(f.Map()))
	require.Empty(t, regen.Fields{}.Map())
}

// The title is the beginning of the first prompt, on one line, never half a word where it can be helped.
func TestTitle(t *testing.T) {
	long := "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for in, want := range map[string]string{
		"": "", " a\n b ": "a b", long: long, long + "b": long, long + " b": long, "x " + long: "x", "éé " + long: "éé",
	} {
		require.Equal(t, want, regen.TitleOf(in), in)
	}
}
