package history

import (
	"encoding/json"
	"strings"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// chunk is a contiguous range of a session as one reader saw it: item i leads from bound i to bound i+1. Bounds are whole
// positions, never bare numbers: one number can be two entries when a store lost its tail.
type chunk struct {
	reader string
	bounds []stream.Cursor
	items  []item
}

// item is an event without what may differ between readers: how deltas were merged, where a cursor was written.
type item struct{ mark, text string }

func (c *chunk) end() stream.Cursor { return c.bounds[len(c.bounds)-1] }

func (c *chunk) add(to stream.Cursor, ev *event) {
	c.bounds = append(c.bounds, to)
	if ev.Kind == wire.EventDelta {
		c.items = append(c.items, item{mark: ev.Kind + " " + ev.Delta, text: ev.Text})
		return
	}
	plain := *ev
	plain.At, plain.From, plain.Seq = stream.Cursor{}, 0, 0
	raw, _ := json.Marshal(plain) // strings and canonical rows: cannot fail
	c.items = append(c.items, item{mark: ev.Kind, text: string(raw)})
}

// told gives what a range says, with neighbouring deltas of one kind as one. Tool calls stay apart: each is a whole one.
func told(items []item) string {
	var b strings.Builder
	last := ""
	for _, it := range items {
		if it.mark != last || it.mark == wire.EventDelta+" "+wire.KindTool || !strings.HasPrefix(it.mark, wire.EventDelta) {
			b.WriteString("\n[" + it.mark + "] ")
		}
		b.WriteString(it.text)
		last = it.mark
	}
	return b.String()
}

type life struct {
	key         regen.Key
	incarnation string
}

// agree compares all readers of a session on every range that they have in common (I2).
func (f *findings) agree() {
	for l, chunks := range f.chunks {
		for i, a := range chunks {
			index := make(map[stream.Cursor]int, len(a.bounds))
			for n, b := range a.bounds {
				index[b] = n
			}
			for _, b := range chunks[i+1:] {
				f.compare(l.key, a, b, index)
			}
		}
	}
}

// compare goes from one common bound to the next. One difference per pair is enough.
func (f *findings) compare(key regen.Key, a, b *chunk, index map[stream.Cursor]int) {
	lastA, lastB := -1, -1
	for n, bound := range b.bounds {
		m, ok := index[bound]
		if !ok || m <= lastA {
			continue
		}
		if lastA >= 0 {
			x, y := told(a.items[lastA:m]), told(b.items[lastB:n])
			if x != y {
				f.bad(I2, key, "between %s and %s reader %s saw %s\nand reader %s saw %s", b.bounds[lastB], bound, a.reader, around(x, y), b.reader, around(y, x))
				return
			}
		}
		lastA, lastB = m, n
	}
}

// around gives the part of x where it begins to differ from y.
func around(x, y string) string {
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	from := max(0, i-60)
	return "…" + clip(strings.ToValidUTF8(x[from:], ""))
}
