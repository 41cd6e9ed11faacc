package regen_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// seedTalk is the seed's session: a prompt and a failed answer.
func seedTalk(t testing.TB) *talk {
	rows := []regen.Row{
		{ID: "u1", Role: regen.RoleUser, Content: regen.Text("prompt"), Source: "webui", At: 7},
		{ID: "a1", Role: regen.RoleAssistant, Content: regen.Text("failed")},
	}
	return importTalk(t, regen.Fields{}, rows, rows)
}

// A regenerate cuts what people see and what the model is given as one pair, both ending with the same prompt.
// contract: S1
func TestPlanGivesOnePair(t *testing.T) {
	k := seedTalk(t)
	p, err := k.d.Plan(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
	require.NoError(t, err)
	require.Equal(t, 1, p.Keep())
	require.Equal(t, k.d.Revision(), p.Revision())
	require.Equal(t, regen.OpRegenerate, p.Command().Op)
	k.regenerate()
	require.Equal(t, []string{"user:prompt"}, k.display())
	require.Equal(t, []string{"user:prompt"}, k.context())
	require.Equal(t, k.d.Rows[0].Row.ID, k.d.Context[0].Ref, "the model's prompt is the row on display itself")
}

// What was planned is what is committed, whatever became of the session meanwhile.
// contract: S2
func TestCommitReadsThePlanAlone(t *testing.T) {
	k := seedTalk(t)
	live := *k.d
	p, err := live.Plan(regen.Command{Op: regen.OpRegenerate, Revision: live.Revision()})
	require.NoError(t, err)
	live = regen.Document{Session: "other", Version: 99, Active: &regen.Active{Run: "x"}}
	c, err := p.Commit(k.mint())
	require.NoError(t, err)
	require.Equal(t, "prompt", c.Rows[0].Content.Text())
	require.Equal(t, k.d.Version+1, c.Document.Version)
	require.Equal(t, "s1", c.Document.Session)
	again, err := p.Commit(regen.Mint{Run: c.Run, Variant: id('v', k.n), Generation: id('g', k.n), At: k.now})
	require.NoError(t, err)
	require.Equal(t, c.Edit, again.Edit, "a plan gives the same edit every time")

	_, err = regen.Plan{}.Commit(k.mint())
	require.ErrorIs(t, err, regen.ErrPlan)
	for _, m := range []regen.Mint{{}, {Run: c.Run, At: 1}, {Run: c.Run, Variant: "v", Generation: id('g', 1), At: 1},
		{Run: c.Run, Variant: id('v', 1), Generation: id('g', 1)}} {
		_, err = p.Commit(m)
		require.ErrorIs(t, err, regen.ErrMint)
	}
}

// A start that fails at any point leaves every field of the session as it was, also those nobody knows.
// contract: S3, S4, S5, S8, A10
func TestFailedStartChangesNothing(t *testing.T) {
	k := seedTalk(t)
	k.d.Fields.Extra = map[string]string{"compression_state": "kept"}
	k.d.Rows[0].Row.Extra = map[string]json.RawMessage{"anchor": []byte("7")}
	before := dump(k.d)
	for _, cmd := range []regen.Command{
		{Op: regen.OpRegenerate},
		{Op: regen.OpRegenerate, Revision: "old"},
		{Op: regen.OpRegenerate, Revision: k.d.Revision(), Content: regen.Text("x")},
		{Op: regen.OpRegenerate, Revision: k.d.Revision(), Attachments: []json.RawMessage{[]byte("{}")}},
		{Op: regen.OpSend},
		{Op: regen.OpSend, Content: regen.Text(" \n")},
		{Op: regen.OpSend, Content: regen.Text("a\x00")},
		{Op: regen.OpSend, Content: regen.Text("\xff")},
		{Op: regen.OpSend, Content: regen.Text("a"), Revision: "old"},
		{Op: regen.OpSend, Content: regen.Text("a"), Attachments: []json.RawMessage{[]byte(`"\ud800"`)}},
		{Op: regen.OpSend, Content: regen.Text("a"), Attachments: []json.RawMessage{[]byte(`{`)}},
		{Op: "dance"},
	} {
		_, err := k.d.Plan(cmd)
		require.Error(t, err)
		require.Equal(t, before, dump(k.d))
	}
	p, err := k.d.Plan(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
	require.NoError(t, err)
	_, err = p.Commit(regen.Mint{})
	require.Error(t, err)
	c, err := p.Commit(k.mint())
	require.NoError(t, err)
	require.Equal(t, before, dump(k.d), "an acceptance that the store refuses is simply forgotten")
	require.Equal(t, "kept", c.Document.Fields.Extra["compression_state"])
	require.Equal(t, json.RawMessage("7"), c.Rows[0].Extra["anchor"])
}

// A person is told the true reason, and the same one on every node: stale before busy before the rest.
// contract: S6, S7, S15, S16
func TestOrderOfRefusals(t *testing.T) {
	k := newTalk(t)
	k.turn("one", "1")
	old := k.d.Revision()
	run := k.send("two").Run

	var stale *regen.StaleRevisionError
	_, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: old})
	require.ErrorAs(t, err, &stale)
	require.Equal(t, regen.StaleRevisionError{Given: old, Current: k.d.Revision()}, *stale)
	_, err = k.do(regen.Command{Op: regen.OpRegenerate})
	require.ErrorAs(t, err, &stale)
	_, err = k.do(regen.Command{Op: regen.OpSend, Content: regen.Text("x"), Revision: old})
	require.ErrorAs(t, err, &stale)

	var busy *regen.BusyError
	_, err = k.do(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
	require.ErrorAs(t, err, &busy)
	require.Equal(t, run, busy.Run)
	_, err = k.do(regen.Command{Op: regen.OpSend})
	require.ErrorAs(t, err, &busy)
	_, err = k.do(regen.Command{Op: regen.OpRegenerate, Revision: old, Content: regen.Text("x")})
	require.ErrorIs(t, err, regen.ErrInvalidRegeneration)
	require.NotEmpty(t, err.Error())
}

// A send that won at the same moment survives a late regenerate, and the other way round.
// contract: S10, S11, S17, A11
func TestFirstCommitWins(t *testing.T) {
	k := seedTalk(t)
	seen := k.d.Revision()
	_, ok := k.d.Minted()
	require.True(t, ok)

	sent := k.send("other tab")
	_, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: seen})
	require.Error(t, err)
	require.Equal(t, sent.Run, k.d.Active.Run)
	require.Equal(t, []string{"user:prompt", "assistant:failed", "user:other tab"}, k.display())
	require.Equal(t, dump(k.d), dump(k.store.load(t, k.d, 100)), "also after a reload")
	k.settle(regen.Completed, "ok")

	seen = k.d.Revision()
	won := k.regenerate()
	_, err = k.do(regen.Command{Op: regen.OpSend, Content: regen.Text("late")})
	var busy *regen.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, won.Run, busy.Run)
	_, err = k.do(regen.Command{Op: regen.OpRegenerate, Revision: seen})
	var stale *regen.StaleRevisionError
	require.ErrorAs(t, err, &stale, "a double click loses")
	k.settle(regen.Completed, "ok")
	_, err = k.do(regen.Command{Op: regen.OpRegenerate, Revision: seen})
	require.ErrorAs(t, err, &stale, "also when it comes late, and the answer is the same text again")
}

// There is no answer to give again where the last turn has none; an older one is never taken instead.
// contract: A13, D3
func TestSelection(t *testing.T) {
	user := regen.Row{Role: regen.RoleUser, Content: regen.Text("q")}
	say := func(role regen.Role, raw string, calls ...json.RawMessage) regen.Row {
		c, err := regen.ParseContent([]byte(raw))
		require.NoError(t, err)
		return regen.Row{Role: role, Content: c, ToolCalls: calls}
	}
	answer := say(regen.RoleAssistant, `"a"`)
	call := json.RawMessage(`{"id":"c"}`)
	failed, partial := answer, answer
	failed.Error, partial.Partial = true, true
	for _, c := range []struct {
		name string
		tail []regen.Row
		ok   bool
	}{
		{"nothing", nil, false},
		{"answer", []regen.Row{user, answer}, true},
		{"error", []regen.Row{user, failed}, true},
		{"partial", []regen.Row{user, partial}, true},
		{"tools, then an answer", []regen.Row{user, say(regen.RoleAssistant, `""`, call), say(regen.RoleTool, `"r"`), answer}, true},
		{"a note after the answer", []regen.Row{user, answer, say(regen.RoleSystem, `"note"`)}, true},
		{"no user row", []regen.Row{answer}, false},
		{"no answer", []regen.Row{user}, false},
		{"an older exchange and no answer", []regen.Row{user, answer, user}, false},
		{"empty tail", []regen.Row{user, answer, say(regen.RoleAssistant, `""`)}, false},
		{"thinking only", []regen.Row{user, say(regen.RoleAssistant, `"<think>x</think>"`)}, false},
		{"unfinished tool", []regen.Row{user, say(regen.RoleAssistant, `"let me see"`, call)}, false},
		{"trailing tool row", []regen.Row{user, answer, say(regen.RoleTool, `"r"`)}, false},
		{"parts and row-level calls", []regen.Row{user, say(regen.RoleAssistant, `[{"type":"text","text":"a"}]`, call)}, false},
		{"parts with an inline call, then text", []regen.Row{user, say(regen.RoleAssistant, `[{"type":"tool_use"},{"type":"text","text":"a"}]`, call)}, true},
		{"a picture as prompt", []regen.Row{say(regen.RoleUser, `[{"type":"image"}]`), answer}, false},
		{"white space as prompt", []regen.Row{say(regen.RoleUser, `" "`), answer}, false},
		{"text beside a picture", []regen.Row{say(regen.RoleUser, `[{"type":"image"},{"type":"text","text":"q"}]`), answer}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.tail {
				c.tail[i].ID = id('x', i)
			}
			k := importTalk(t, regen.Fields{}, c.tail, c.tail)
			_, minted := k.d.Minted()
			require.Equal(t, c.ok, minted)
			_, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, regen.ErrNoRegenerableTurn)
		})
	}
}

// The button is offered exactly when it would work, by every reader.
// contract: A1, A8
func TestMinted(t *testing.T) {
	k := newTalk(t)
	_, ok := k.d.Minted()
	require.False(t, ok, "nothing to regenerate")
	k.send("q")
	_, ok = k.d.Minted()
	require.False(t, ok, "not while a run is active")
	s := k.settle(regen.Failed, "")
	rev, ok := k.d.Minted()
	require.True(t, ok)
	require.Equal(t, rev, s.Edit.Revision, "the settled event's revision is the stored document's")
}

// The same key with the same words is a repeat; with other words it is another command.
func TestCommandHash(t *testing.T) {
	a := regen.Command{Op: regen.OpSend, Key: "k", Content: regen.Text("x")}
	b := a
	b.Key, b.Busy = "other", "replace"
	require.Equal(t, a.Hash(), b.Hash())
	parts, err := regen.ParseContent([]byte(`[{"type":"text","text":"x"}]`))
	require.NoError(t, err)
	seen := map[string]bool{a.Hash(): true}
	for _, change := range []func(*regen.Command){
		func(c *regen.Command) { c.Op = regen.OpRegenerate },
		func(c *regen.Command) { c.Content = regen.Text("y") },
		func(c *regen.Command) { c.Content = parts },
		func(c *regen.Command) { c.Model = "x" },
		func(c *regen.Command) { c.Revision = "x" },
		func(c *regen.Command) { c.Attachments = []json.RawMessage{[]byte(`{}`)} },
	} {
		c := a
		change(&c)
		require.False(t, seen[c.Hash()])
		seen[c.Hash()] = true
	}
}
