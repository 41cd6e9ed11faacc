package regen_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// branch is what one holder makes of a document by itself: sends and regenerates, all settled. Every other one begins with a
// regenerate.
func branch(t testing.TB, d *regen.Document, n int) []regen.Edit {
	var edits []regen.Edit
	for i, op := range []regen.Op{regen.OpRegenerate, regen.OpSend, regen.OpRegenerate, regen.OpRegenerate}[n%2:] {
		c := accept(t, d, op, 10*n+i)
		s := end(t, c.Document, 10*n+i)
		edits, d = append(edits, c.Edit, s.Edit), s.Document
	}
	return edits
}

// Documents that come from one share its rows, and none sees what another does, also at the same time; each gives what it would
// give alone.
func TestDocumentsShareSafely(t *testing.T) {
	for _, rows := range []int{2, 12, 16, 18, 300} {
		d := talkOf(t, rows)
		for turn := range 6 { // from the document as loaded to ones with several stretches below
			before, prompt := dump(d), d.Prompt(0)
			var got [4][]regen.Edit
			var wg sync.WaitGroup
			for n := range got {
				wg.Go(func() {
					got[n] = branch(t, d, n)
					if before != dump(d) {
						t.Error("a document changed")
					}
				})
			}
			wg.Wait()
			require.Equal(t, before, dump(d))
			require.Equal(t, prompt, d.Prompt(0))
			for n := range got {
				alone := copyOf(t, d)
				require.Equal(t, before, dump(alone))
				require.Equal(t, branch(t, alone, n), got[n], "%d rows, branch %d", rows, n)
			}
			d = end(t, accept(t, d, regen.OpSend, 1000+turn).Document, 1000+turn).Document
		}
	}
}

// copyOf shares nothing with d: all of it is read back from its stored form.
func copyOf(t testing.TB, d *regen.Document) *regen.Document {
	t.Helper()
	whole := *d.Whole()
	for i, l := range whole.Rows {
		back, err := regen.DecodeLink(l.Encode())
		require.NoError(t, err)
		if i == 0 {
			whole.Rows = nil
		}
		whole.Rows = append(whole.Rows, back)
	}
	for i, l := range whole.Context {
		back, err := regen.DecodeContextLink(l.Encode())
		require.NoError(t, err)
		if i == 0 {
			whole.Context = nil
		}
		whole.Context = append(whole.Context, back)
	}
	return &whole
}

// A document that shows only the end of its window decides everything as one that shows all of it: over long conversations, failed
// answers (display has more rows than context), long tool exchanges and contexts of their own.
func TestShortWindowDecidesAlike(t *testing.T) {
	display, context := mixedRows()
	starts := map[string]*talk{
		"empty":              newTalk(t),
		"references":         importTalk(t, regen.Fields{}, display, display),
		"context of its own": importTalk(t, regen.Fields{}, display, context),
		"no context":         importTalk(t, regen.Fields{}, display, nil),
	}
	for name, k := range starts {
		rnd := rand.New(rand.NewPCG(1, uint64(len(name))))
		for step := range 30 {
			requireAlike(t, k.d, copyOf(t, k.d), 5000+10*step)
			switch rnd.IntN(4) {
			case 0, 1:
				k.send(fmt.Sprint("question ", step))
			default:
				if _, ok := k.d.Minted(); !ok {
					k.send(fmt.Sprint("question ", step))
					break
				}
				k.regenerate()
			}
			requireAlike(t, k.d, copyOf(t, k.d), 5000+10*step)
			kinds := []regen.OutcomeKind{regen.Completed, regen.Completed, regen.Failed, regen.Cancelled, regen.Interrupted}
			text := ""
			if rnd.IntN(3) > 0 {
				text = fmt.Sprint("answer ", step)
			}
			k.settle(kinds[rnd.IntN(len(kinds))], text)
		}
		require.Less(t, len(k.d.Rows), 20, "%s: the window was not divided", name)
		require.Greater(t, len(k.d.Whole().Rows), 25, name)
		require.Zero(t, k.d.Whole().RowsBelow)
	}
}

// mixedRows gives exchanges, the last one with more tool rows than a short window has, and a context that lacks the rows' ids.
func mixedRows() (display, context []regen.Row) {
	add := func(role regen.Role, text string) {
		n := len(display)
		display = append(display, regen.Row{ID: id('i', n), Role: role, Content: regen.Text(text), At: float64(n + 1)})
		context = append(context, regen.Row{Role: role, Content: regen.Text(text), At: float64(n + 1)})
	}
	for i := range 15 {
		add(regen.RoleUser, fmt.Sprint("q", i))
		add(regen.RoleAssistant, fmt.Sprint("a", i))
	}
	add(regen.RoleUser, "with tools")
	for i := range 12 {
		add(regen.RoleAssistant, "")
		display[len(display)-1].ToolCalls = []json.RawMessage{[]byte(fmt.Sprintf(`{"id":"c%d"}`, i))}
		add(regen.RoleTool, fmt.Sprint("result ", i))
		display[len(display)-1].ToolCallID = fmt.Sprint("c", i)
	}
	add(regen.RoleAssistant, "with tools, done")
	return display, context
}

func requireAlike(t *testing.T, d, whole *regen.Document, n int) {
	t.Helper()
	require.Equal(t, whole.Total(), d.Total())
	require.Equal(t, whole.Revision(), d.Revision())
	require.Same(t, d, d.Normalise(), "a reference below the window")
	if n := d.RowsBelow; n > 0 {
		require.Equal(t, whole.Rows[n-1].Chain, d.RowsBase)
	}
	if n := d.ContextBelow; n > 0 {
		require.Equal(t, whole.Context[n-1].Chain, d.ContextBase)
	}
	for _, limit := range []int{0, 50, 500} {
		require.Equal(t, whole.Prompt(limit), d.Prompt(limit))
		require.Equal(t, whole.NeedsMore(limit), d.NeedsMore(limit))
	}
	if d.Active != nil {
		require.Equal(t, whole.TurnRows(d.Active.Turn), d.TurnRows(d.Active.Turn))
		want, got := end(t, whole, n), end(t, d, n)
		require.Equal(t, want.Edit, got.Edit)
		require.Equal(t, want.Rows, got.Rows)
		return
	}
	for _, op := range []regen.Op{regen.OpSend, regen.OpRegenerate} {
		cmd := regen.Command{Op: op, Revision: d.Revision()}
		if op == regen.OpSend {
			cmd = regen.Command{Op: op, Content: regen.Text("another")}
		}
		want, wantErr := whole.PlanWhole(cmd)
		got, err := d.Plan(cmd)
		require.Equal(t, wantErr, err)
		if err != nil {
			continue
		}
		require.Equal(t, want.Keep(), got.Keep())
		m := regen.Mint{Run: id('r', n), Turn: id('n', n), Row: id('m', n), Variant: id('v', n), Generation: id('g', n), At: 1e9}
		wantC, err := want.Commit(m)
		require.NoError(t, err)
		c, err := got.Commit(m)
		require.NoError(t, err)
		require.Equal(t, wantC.Edit, c.Edit)
		require.Equal(t, []any{wantC.Keep, wantC.Rows}, []any{c.Keep, c.Rows})
		require.Equal(t, dump(wantC.Document), dump(c.Document))
	}
}

// A settlement finds its user row however far above the end it stands, and a window that somebody moved is taken as it is.
func TestWindowBelowTheTop(t *testing.T) {
	d := talkOf(t, 300)
	user := d.Rows[200].Row
	d.Active = &regen.Active{Run: id('r', 1), Turn: user.Turn, Row: user.ID, StartedAt: 5}
	active := d.Active
	s := end(t, d, 1)
	require.Len(t, s.Rows, 101)
	require.Equal(t, user.ID, s.Rows[0].ID)
	d = accept(t, s.Document, regen.OpSend, 2).Document
	require.Len(t, d.Rows, 9, "the window is divided")
	d.Active = active
	require.Len(t, end(t, d, 3).Rows, 103)

	moved := *d
	moved.RowsBelow, moved.RowsBase, moved.Rows = d.RowsBelow+1, d.Rows[0].Chain, d.Rows[1:]
	require.Equal(t, moved.Rows, moved.Whole().Rows)
	require.Equal(t, moved.RowsBelow, moved.Whole().RowsBelow)
	_, err := moved.Settle(regen.Outcome{Run: id('r', 1), Kind: regen.Failed, At: 9, AnswerRow: id('b', 9), ErrorRow: id('e', 9)})
	require.ErrorIs(t, err, regen.ErrWindow)
}

// What a turn costs does not depend on the window: neither on the first one after a load nor later on.
func TestCostDoesNotDependOnTheWindow(t *testing.T) {
	for _, op := range []regen.Op{regen.OpSend, regen.OpRegenerate} {
		first := func(d *regen.Document) { end(t, accept(t, d, op, 1).Document, 1) }
		series := func(d *regen.Document) {
			for n := range 60 {
				d = end(t, accept(t, d, op, n+1).Document, n+1).Document
			}
		}
		for name, f := range map[string]func(*regen.Document){"first": first, "series": series} {
			allocs, bytes := cost(talkOf(t, 10), f)
			for _, rows := range []int{256, 1300, 20_000} {
				a, b := cost(talkOf(t, rows), f)
				t.Logf("%s %s, %d rows: %.0f allocations (%.3f of 10 rows'), %.0f bytes (%.3f)", op, name, rows, a, a/allocs, b, b/bytes)
				require.InEpsilon(t, allocs, a, 0.1, "allocations of %s %s, %d rows", op, name, rows)
				require.InEpsilon(t, bytes, b, 0.1, "bytes of %s %s, %d rows", op, name, rows)
			}
		}
	}
}

// cost measures one call of f.
func cost(d *regen.Document, f func(*regen.Document)) (allocs, bytes float64) {
	const runs = 5
	allocs = testing.AllocsPerRun(runs, func() { f(d) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f(d)
	}
	runtime.ReadMemStats(&after)
	return allocs, float64(after.TotalAlloc-before.TotalAlloc) / runs
}
