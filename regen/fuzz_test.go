package regen_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// Whatever people press and however runs end, in any order: one prompt per turn in both lists, the store holds the document,
// every chain can be computed again, a refusal changes nothing, and a win changes the revision.
// contract: A10, A11, C4, C13, D6
func FuzzCommands(f *testing.F) {
	f.Add([]byte{0, 8, 1, 9, 1, 10})
	f.Add([]byte{0, 12, 1, 13, 1, 14, 1, 15, 2, 3, 4})
	f.Add([]byte{5, 1, 8, 0, 8, 1, 7, 8})
	f.Add([]byte{6, 1, 9, 0, 11, 6, 5, 1})
	f.Add([]byte{0, 24, 1, 24, 0x43, 0x43, 0, 24, 0x13, 0x23, 0x03, 0x33})
	f.Fuzz(playBytes)
}

// The same promises over long random sequences, each time the same ones.
// contract: A10, A11, C4, C13, D6
func TestRandomCommands(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		steps := make([]byte, 10+rnd.IntN(40))
		for i := range steps {
			steps[i] = byte(rnd.Uint32())
			if i%3 == 0 && rnd.IntN(2) == 0 {
				steps[i] &= 0xf1 // more sends and regenerates
			}
		}
		if rnd.IntN(3) == 0 {
			steps[0] = steps[0]&0xf0 | 5
		}
		playBytes(t, steps)
	}
}

func playBytes(t *testing.T, steps []byte) {
	k := newTalk(t)
	seen, settled := []string{k.d.Revision()}, id('r', 999)
	for _, b := range steps[:min(len(steps), 60)] {
		arg := b >> 4
		switch b % 16 {
		case 0:
			_, _ = k.do(regen.Command{Op: regen.OpSend, Content: fuzzContent(arg)})
		case 1:
			_, _ = k.do(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
		case 2:
			if old := seen[int(arg)%len(seen)]; old != k.d.Revision() {
				_, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: old})
				var stale *regen.StaleRevisionError
				require.ErrorAs(t, err, &stale, "an old revision never wins")
			}
		case 3:
			_, err := k.do(regen.Command{Op: regen.OpSend, Content: regen.Text(" \n")})
			require.Error(t, err)
			k.fuzzEdit(arg)
		case 4:
			_, err := k.end(regen.Outcome{Run: settled, Kind: regen.Completed, Text: "late"})
			require.Error(t, err, "a settled run never writes")
		case 5, 6:
			if k.d.Version == 0 {
				k = fuzzImport(t, arg, b%16 == 6)
			}
		case 7:
			k.window(int(arg))
		default:
			if k.d.Active != nil {
				settled = k.d.Active.Run
			}
			_, err := k.end(fuzzOutcome(b%16-8, arg))
			if err != nil {
				require.Nil(t, k.d.Active, "an accepted run can always be settled: %v", err)
			}
		}
		seen = append(seen, k.d.Revision())
		rev, ok := k.d.Minted()
		if _, err := k.d.Plan(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()}); ok {
			require.NoError(t, err)
			require.Equal(t, k.d.Revision(), rev)
		} else {
			require.Error(t, err)
		}
		for _, r := range k.d.Prompt(int(arg)) {
			require.False(t, r.Error)
			require.Empty(t, r.Reasoning+r.Token)
		}
		for _, l := range k.d.Rows {
			public := k.d.Public(*l.Row)
			require.True(t, json.Valid(public))
			if l.Row.Token != "" {
				require.NotContains(t, string(public), l.Row.Token)
			}
		}
	}
}

// window plans the same click on a smaller window: the same edit, or a call for more rows.
func (k *talk) window(n int) {
	cmd := regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()}
	whole, err := k.d.Plan(cmd)
	small, smallErr := k.store.load(k.t, k.d, n).Plan(cmd)
	if smallErr != nil && err != nil {
		return
	}
	if smallErr != nil {
		require.ErrorIs(k.t, smallErr, regen.ErrWindow)
		return
	}
	require.NoError(k.t, err)
	m := k.mint()
	a, err := whole.Commit(m)
	require.NoError(k.t, err)
	b, err := small.Commit(m)
	require.NoError(k.t, err)
	require.Equal(k.t, a.Edit, b.Edit)
	require.Equal(k.t, a.Keep, b.Keep)
}

func fuzzContent(arg byte) regen.Content {
	switch arg % 4 {
	case 0:
		return regen.Text("ok")
	case 1:
		c, _ := regen.ParseContent([]byte(`[{"type":"image"},{"type":"text","text":"see"}]`))
		return c
	case 2:
		c, _ := regen.ParseContent([]byte(`[{"type":"image"}]`))
		return c
	}
	return regen.Text("long \"text\" <b>\u2028 é 😀")
}

func fuzzOutcome(kind, arg byte) regen.Outcome {
	kinds := []regen.OutcomeKind{regen.Completed, regen.Length, regen.Filtered, regen.Failed, regen.Cancelled, regen.Interrupted, regen.Completed, regen.Failed}
	texts := []string{"", "answer", "<think>x</think>", "<think>x</think>y", "ok", "<think>", " ", "\xff\x00"}
	o := regen.Outcome{Kind: kinds[kind], Text: texts[arg%8]}
	if kind > 5 {
		o.ToolCalls = []json.RawMessage{[]byte(`{"id":"c"}`), []byte(`{`)}
		o.Reasoning = "r"
	}
	return o
}

// fuzzImport makes a conversation from elsewhere whose context has rows of its own.
func fuzzImport(t testing.TB, arg byte, foreign bool) *talk {
	display := []regen.Row{
		{ID: "u1", Role: regen.RoleUser, Content: regen.Text("q"), At: 1},
		{ID: "a1", Role: regen.RoleAssistant, Content: regen.Text("a"), At: 2},
		{ID: "u2", Role: regen.RoleUser, Content: regen.Text("q"), At: 3},
		{ID: "a2", Role: regen.RoleAssistant, Content: regen.Text("a"), At: 4},
	}
	pool := []regen.Row{display[1], display[2], display[3], {Role: regen.RoleUser, Content: regen.Text("q")},
		{Role: regen.RoleAssistant, Content: regen.Text("a")}, {Role: regen.RoleSystem, Content: regen.Text("sum")}, display[0]}
	var context []regen.Row
	for i := range pool {
		if arg&(1<<(i%4)) != 0 {
			context = append(context, pool[(i+int(arg))%len(pool)])
		}
	}
	fields := regen.Fields{}
	if foreign {
		fields.Source, fields.Parent = "fork", "p"
	}
	return importTalk(t, fields, display, context)
}

// fuzzEdit does one of the edits, with arguments that are right half of the time.
func (k *talk) fuzzEdit(arg byte) {
	cmd := regen.Command{Revision: k.d.Revision(), Keep: int(arg) - 2, Content: fuzzContent(arg)}
	cmd.Op = []regen.Op{regen.OpEdit, regen.OpUndo, regen.OpTruncate, regen.OpClear, regen.OpSelect, regen.OpRename}[int(arg)%6]
	if cmd.Op == regen.OpRename {
		cmd.Title = "named"
	}
	rows := k.d.Whole().Rows
	if len(rows) > 0 {
		r := rows[(int(arg)*7)%len(rows)].Row
		if cmd.Op != regen.OpTruncate || arg%2 == 0 {
			cmd.Row = r.ID
		}
		for i := len(rows) - 1; i >= 0 && cmd.Turn == ""; i-- {
			if last := rows[i].Row; last.Role == regen.RoleUser && len(last.Variants) > 0 {
				cmd.Turn, cmd.Variant = last.Turn, last.Variants[int(arg)%len(last.Variants)]
			}
		}
	}
	_, _ = k.do(cmd)
}
