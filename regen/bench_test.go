package regen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// talkOf makes a document of n rows, exchanges of about 200 bytes a row, as a loader would give it.
func talkOf(t testing.TB, n int) *regen.Document {
	t.Helper()
	rows := make([]regen.Row, n)
	for i := range rows {
		rows[i] = regen.Row{ID: id('u', i), Turn: id('t', i/2), Role: regen.RoleUser, Content: regen.Text(strings.Repeat("words ", 8)), At: 100}
		if i%2 == 1 {
			rows[i].ID, rows[i].Role = id('a', i), regen.RoleAssistant
		}
	}
	d, _, err := regen.NewDocument("s1", regen.Fields{Title: "title", CreatedAt: 100}, rows, rows)
	require.NoError(t, err)
	return d
}

// accept and end are the decisions of a turn; n makes their identifiers.
func accept(t testing.TB, d *regen.Document, op regen.Op, n int) regen.Commit {
	cmd := regen.Command{Op: op, Revision: d.Revision()}
	if op == regen.OpSend {
		cmd.Content = regen.Text("A question of usual length, with a few words in it.")
	}
	p, err := d.Plan(cmd)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Commit(regen.Mint{Run: id('r', n), Turn: id('n', n), Row: id('m', n), Variant: id('v', n), Generation: id('g', n), At: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func end(t testing.TB, d *regen.Document, n int) regen.Settlement {
	s, err := d.Settle(regen.Outcome{Run: d.Active.Run, Kind: regen.Completed, At: 1e9 + 1, AnswerRow: id('b', n), ErrorRow: id('e', n),
		Text: "Another answer of about the same length as the one before."})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// BenchmarkSend and BenchmarkRegenerate are a whole turn of decisions (plan, commit, settle) on windows of different lengths:
// it must cost the same. The accept halves are plan and commit alone.
func BenchmarkSend(b *testing.B)       { benchmarkTurn(b, regen.OpSend) }
func BenchmarkRegenerate(b *testing.B) { benchmarkTurn(b, regen.OpRegenerate) }

func benchmarkTurn(b *testing.B, op regen.Op) {
	for _, rows := range []int{10, 256, 1300, 50_000} {
		d := talkOf(b, rows)
		b.Run(fmt.Sprintf("accept/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				accept(b, d, op, 1)
			}
		})
		b.Run(fmt.Sprintf("turn/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				end(b, accept(b, d, op, 1).Document, 1)
			}
		})
	}
}
