package regen_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// describe gives a settled turn in one line: roles, flags and texts.
func describe(rows []regen.Row) string {
	out := ""
	for _, r := range rows {
		out += "[" + string(r.Role)
		for _, f := range []struct {
			name string
			on   bool
		}{{"partial", r.Partial}, {"error", r.Error}, {"reasoning", r.Reasoning != ""}, {"tools", len(r.ToolCalls) > 0},
			{r.Interrupted, r.Interrupted != ""}} {
			if f.on {
				out += " " + f.name
			}
		}
		out += ": " + r.Content.Text() + "]"
	}
	return out
}

// Nothing that the model said is lost by a stop, a failure or a crash, and what happened is said once.
// contract: C11, D6
func TestSettleOutcomes(t *testing.T) {
	tools := []json.RawMessage{[]byte(`{"id":"c"}`)}
	for _, c := range []struct {
		name    string
		outcome regen.Outcome
		display string // after the user row
		context string
		kind    regen.OutcomeKind
	}{
		{"completed", regen.Outcome{Kind: regen.Completed, Text: "a", Reasoning: "r"}, "[assistant reasoning: a]", "[assistant reasoning: a]", ""},
		{"completed keeps its text whole", regen.Outcome{Kind: regen.Completed, Text: "<think>x</think>a"},
			"[assistant: <think>x</think>a]", "[assistant: <think>x</think>a]", ""},
		{"completed with tools", regen.Outcome{Kind: regen.Completed, ToolCalls: tools}, "[assistant tools: ]", "[assistant tools: ]", ""},
		{"length", regen.Outcome{Kind: regen.Length, Text: "a"}, "[assistant: a]", "[assistant: a]", ""},
		{"filtered", regen.Outcome{Kind: regen.Filtered, Text: "a"}, "[assistant: a]", "[assistant: a]", ""},
		{"completed with nothing", regen.Outcome{Kind: regen.Completed, Text: " "}, "[assistant error: The model gave no answer.]", "", regen.Failed},
		{"completed with thinking alone", regen.Outcome{Kind: regen.Completed, Text: "<think>x", Reasoning: "r"},
			"[assistant partial reasoning: ][assistant error: The model gave no answer.]", "", regen.Failed},
		{"length with nothing", regen.Outcome{Kind: regen.Length}, "[assistant error: The model gave no answer.]", "", regen.Failed},
		{"failed", regen.Outcome{Kind: regen.Failed, Message: "m"}, "[assistant error: m]", "", ""},
		{"failed with text", regen.Outcome{Kind: regen.Failed, Text: "a", Message: "m"},
			"[assistant partial: a][assistant error: m]", "[assistant partial: a]", ""},
		{"cancelled", regen.Outcome{Kind: regen.Cancelled}, "[assistant error: The answer was stopped.]", "", ""},
		{"cancelled with text", regen.Outcome{Kind: regen.Cancelled, Text: "a"},
			"[assistant partial: a][assistant error: The answer was stopped.]", "[assistant partial: a]", ""},
		{"cancelled in thinking", regen.Outcome{Kind: regen.Cancelled, Text: "<think>a"}, "[assistant error: The answer was stopped.]", "", ""},
		{"cancelled after thinking", regen.Outcome{Kind: regen.Cancelled, Text: "<think>a</think>b<think>c"},
			"[assistant partial: b][assistant error: The answer was stopped.]", "[assistant partial: b]", ""},
		{"cancelled with reasoning", regen.Outcome{Kind: regen.Cancelled, Reasoning: "r"},
			"[assistant partial reasoning: ][assistant error: The answer was stopped.]", "", ""},
		{"cancelled with tools", regen.Outcome{Kind: regen.Cancelled, ToolCalls: tools},
			"[assistant partial tools: ][assistant error: The answer was stopped.]", "", ""},
		{"interrupted", regen.Outcome{Kind: regen.Interrupted}, "[assistant error owner_lost: The answer was interrupted.]", "", ""},
		{"interrupted by a restart", regen.Outcome{Kind: regen.Interrupted, Cause: regen.CauseRestart, Text: "a"},
			"[assistant partial: a][assistant error restart: The answer was interrupted.]", "[assistant partial: a]", ""},
		{"cause of another end is no mark", regen.Outcome{Kind: regen.Failed, Cause: "upstream_cut", Message: "m"}, "[assistant error: m]", "", ""},
	} {
		for _, again := range []bool{false, true} {
			k := newTalk(t)
			k.turn("before", "b")
			k.send("q")
			if again {
				k.settle(regen.Completed, "old")
				k.regenerate()
			}
			s, err := k.end(c.outcome)
			require.NoError(t, err, c.name)
			user := describe([]regen.Row{*k.d.Rows[2].Row})
			require.Equal(t, user+c.display, describe(s.Rows), c.name)
			require.Equal(t, s.Rows, k.d.TurnRows(s.Turn))
			require.Equal(t, user+c.context, describe(contextRows(k.d)[2:]), c.name)
			if c.kind == "" {
				c.kind = c.outcome.Kind
			}
			require.Equal(t, c.kind, s.Kind, c.name)
			require.Nil(t, k.d.Active)
			require.Empty(t, s.Edit.Run)
		}
	}
}

// A run that was replaced, stopped or settled can never write again, whoever asks and however late.
// contract: C13
// case: FC16, FC18
func TestOnlyTheWritebackOwnerSettles(t *testing.T) {
	k := newTalk(t)
	var e *regen.NotWritebackOwnerError
	_, err := k.end(regen.Outcome{Run: id('r', 1), Kind: regen.Completed, Text: "x"})
	require.ErrorAs(t, err, &e, "a missing owner is no permission")
	require.Empty(t, e.Owner)
	first := k.send("q").Run
	_, err = k.end(regen.Outcome{Run: id('r', 99), Kind: regen.Completed, Text: "x"})
	require.ErrorAs(t, err, &e)
	require.Equal(t, first, e.Owner)
	_, err = k.d.Settle(regen.Outcome{Kind: regen.Completed, Text: "x"})
	require.ErrorAs(t, err, &e)
	k.settle(regen.Cancelled, "half")
	shown := k.display()
	_, err = k.end(regen.Outcome{Run: first, Kind: regen.Cancelled, Text: "half"})
	require.ErrorAs(t, err, &e, "a second stop adds nothing")
	require.NotEmpty(t, err.Error())
	require.Equal(t, shown, k.display())
	second := k.regenerate().Run
	_, err = k.end(regen.Outcome{Run: first, Kind: regen.Completed, Text: "late"})
	require.ErrorAs(t, err, &e)
	require.Equal(t, second, e.Owner)
	require.Contains(t, err.Error(), second)
}

// What a stop kept is in the very event that tells of it, the partial before the marker.
// contract: C13, C14
// case: FC54
func TestCancelKeepsThePartial(t *testing.T) {
	k := newTalk(t)
	c := k.send("q")
	s, err := k.end(regen.Outcome{Kind: regen.Cancelled, Text: "half", Reasoning: "r", Model: "m", Usage: json.RawMessage(` {"out": 3} `)})
	require.NoError(t, err)
	require.Equal(t, "[user: q][assistant partial reasoning: half][assistant error: The answer was stopped.]", describe(s.Rows))
	require.Equal(t, c.Turn, s.Turn)
	for _, r := range s.Rows {
		require.Equal(t, c.Turn, r.Turn)
		require.Equal(t, c.Run, r.Run)
	}
	require.Equal(t, `{"out":3}`, string(s.Rows[1].Usage), "what was paid for is booked")
	require.NotContains(t, string(k.d.Public(s.Rows[1])), "usage")
}

// Two turns with the same words, or with the same answer, stay two.
// contract: C12, C15, D1, D2, D4, D5
// case: FC10
func TestEqualTextIsNoIdentity(t *testing.T) {
	k := newTalk(t)
	k.turn("ok", "yes")
	k.send("ok please continue")
	k.settle(regen.Cancelled, "yes")
	k.send("ok")
	k.settle(regen.Failed, "")
	k.send("ok")
	k.settle(regen.Completed, "yes")
	require.Equal(t, []string{"user:ok", "assistant:yes", "user:ok please continue", "assistant:yes", "assistant:The answer was stopped.",
		"user:ok", "assistant:The answer failed.", "user:ok", "assistant:yes"}, k.display())
	require.Equal(t, []string{"user:ok", "assistant:yes", "user:ok please continue", "assistant:yes", "user:ok", "user:ok", "assistant:yes"}, k.context())
	before, _ := elements(k.d)
	k.regenerate()
	k.settle(regen.Completed, "no")
	after, _ := elements(k.d)
	require.Equal(t, before[:7], after[:7], "an equal earlier turn is not touched")
}

// A document that lost the prompt gets it back from the log; a look-alike is never taken for it.
// contract: D2, D6, C15
func TestLostPromptComesBack(t *testing.T) {
	k := newTalk(t)
	k.turn("q", "old")
	c := k.send("q")
	lost := *k.d
	lost.Rows, lost.Context = lost.Rows[:2], lost.Context[:2]
	o := regen.Outcome{Run: c.Run, Kind: regen.Completed, Text: "new", At: 300, AnswerRow: id('a', 90), ErrorRow: id('e', 90), User: &c.Rows[0]}
	s, err := lost.Settle(o)
	require.NoError(t, err)
	require.Equal(t, c.Rows[0], s.Rows[0])
	require.Equal(t, []string{"user:q", "assistant:old", "user:q", "assistant:new"}, show(contextRows(s.Document)))
	requireOneUserRow(t, s.Document)
	s, err = k.d.Settle(o)
	require.NoError(t, err)
	require.Len(t, s.Rows, 2, "where the document has it, it is not added")
	lost.RowsBelow = 1
	_, err = lost.Settle(o)
	require.ErrorIs(t, err, regen.ErrWindow)
}

// Tidying up after a crash does not make an old conversation look new; an answer does.
func TestRepairIsNoActivity(t *testing.T) {
	k := newTalk(t)
	k.send("q")
	require.Equal(t, k.now, k.d.Fields.UpdatedAt)
	require.Equal(t, k.now, k.d.Fields.CreatedAt)
	before := k.d.Fields
	s := k.settle(regen.Interrupted, "half")
	require.Equal(t, before, k.d.Fields)
	require.Empty(t, s.Edit.Set)
	k.regenerate()
	k.settle(regen.Completed, "a")
	require.Equal(t, k.now, k.d.Fields.UpdatedAt)
}

// After a crash whose log holds the whole answer the person gets the answer, not a failure.
func TestRecoveredAnswer(t *testing.T) {
	k := newTalk(t)
	k.send("q")
	k.d = k.store.load(t, k.d, 1)
	s, err := k.d.Settle(regen.Outcome{Run: k.d.Active.Run, Kind: regen.Completed, Text: "whole", At: 300, AnswerRow: id('a', 90), ErrorRow: id('e', 90)})
	require.NoError(t, err)
	require.Equal(t, "[user: q][assistant: whole]", describe(s.Rows))
}

// An outcome that could damage the document is refused; odd text from a model is not, it is made storable.
func TestBadOutcomes(t *testing.T) {
	k := newTalk(t)
	c := k.send("q")
	ok := regen.Outcome{Run: c.Run, Kind: regen.Completed, Text: "a", At: 300, AnswerRow: id('a', 90), ErrorRow: id('e', 90)}
	for _, change := range []func(*regen.Outcome){
		func(o *regen.Outcome) { o.Kind = "" },
		func(o *regen.Outcome) { o.At = 0 },
		func(o *regen.Outcome) { o.AnswerRow = "" },
		func(o *regen.Outcome) { o.ErrorRow = o.AnswerRow },
		func(o *regen.Outcome) { o.AnswerRow = c.Rows[0].ID },
	} {
		o := ok
		change(&o)
		_, err := k.d.Settle(o)
		require.ErrorIs(t, err, regen.ErrOutcome)
	}
	s, err := k.end(regen.Outcome{Kind: regen.Completed, Text: "a\xff\x00b", ToolCalls: []json.RawMessage{[]byte(`{"id":`)}, Usage: []byte("{")})
	require.NoError(t, err)
	require.Equal(t, "a\uFFFD\x00b", s.Rows[1].Content.Text())
	require.Equal(t, `"{\"id\":"`, string(s.Rows[1].ToolCalls[0]))
	require.Empty(t, s.Rows[1].Usage)
}

// Failed, regenerated, failed again, node restarted: one prompt, one error, same text.
// contract: S14, S9
// case: FC01
func TestErroredTurnRegeneratedAndReloaded(t *testing.T) {
	k := newTalk(t)
	k.send("q")
	k.settle(regen.Failed, "")
	for range 3 {
		k.regenerate()
		k.d = k.store.load(t, k.d, 100)
		require.NotNil(t, k.d.Active, "accepted stays accepted")
		_, err := k.end(regen.Outcome{Kind: regen.Failed, Message: "no"})
		require.NoError(t, err)
		k.d = k.store.load(t, k.d, 100)
		require.Equal(t, []string{"user:q", "assistant:no"}, k.display())
		require.Equal(t, []string{"user:q"}, k.context())
	}
}
