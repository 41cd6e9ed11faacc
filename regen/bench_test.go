package regen_test

import (
	"fmt"
	"testing"

	"holdfast/regen"
)

// BenchmarkRegenerate is a whole turn of decisions (plan, commit, settle) on windows of different lengths: it must cost the
// same.
func BenchmarkRegenerate(b *testing.B) {
	for _, rows := range []int{10, 256} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			k := newTalk(b)
			for range rows / 2 {
				k.turn("A question of usual length, with a few words in it.", "An answer that is a little longer than that, as they are.")
			}
			d := k.d
			m := regen.Mint{Run: id('r', 1), Variant: id('v', 1), Generation: id('g', 1), At: 1e9}
			o := regen.Outcome{Run: m.Run, Kind: regen.Completed, Text: "Another answer of about the same length as the one before.",
				At: 1e9 + 1, AnswerRow: id('a', 900), ErrorRow: id('e', 900)}
			b.ReportAllocs()
			for b.Loop() {
				p, err := d.Plan(regen.Command{Op: regen.OpRegenerate, Revision: d.Revision()})
				if err != nil {
					b.Fatal(err)
				}
				c, err := p.Commit(m)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.Document.Settle(o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
