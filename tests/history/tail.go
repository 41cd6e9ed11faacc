package history

import (
	"slices"
	"strings"
)

// tail is the end of a conversation as somebody knows it. whole says that nothing stands before it. The zero value knows nothing.
type tail struct {
	rows  []row
	whole bool
}

func (t tail) find(id string) int {
	return slices.IndexFunc(t.rows, func(r row) bool { return r.ID == id })
}

// cut keeps everything up to the row with id keep ("" keeps nothing) and puts rows behind it. False: no such row was there.
func (t tail) cut(keep string, rows []row) (tail, bool) {
	if keep == "" {
		return tail{rows: rows, whole: true}, true
	}
	i := t.find(keep)
	if i < 0 {
		return tail{rows: rows}, !t.whole
	}
	return tail{rows: slices.Concat(t.rows[:i+1], rows), whole: t.whole}, true
}

// settle puts the rows of a whole turn in the place of what follows from its first one. False: the turn was not there.
func (t tail) settle(rows []row) (tail, bool) {
	if len(rows) == 0 {
		return t, false
	}
	i := t.find(rows[0].ID)
	if i < 0 {
		return tail{rows: rows}, !t.whole
	}
	return tail{rows: slices.Concat(t.rows[:i], rows), whole: t.whole}, true
}

// differ says how two tails of one state contradict each other; "" when they do not.
func differ(a, b tail) string {
	if len(a.rows) > len(b.rows) {
		a, b = b, a
	}
	off := len(b.rows) - len(a.rows)
	if a.whole && off > 0 {
		return "the one has rows before the other's first: " + ids(b.rows[:off])
	}
	for i, r := range a.rows {
		if r.same != b.rows[off+i].same {
			return "row " + clip(r.same) + " against " + clip(b.rows[off+i].same)
		}
	}
	return ""
}

func ids(rows []row) string {
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(r.ID)
	}
	return b.String()
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
