package regen

import "slices"

// Operations copy the end of a window instead of all of it, so that what they cost does not depend on its length. The rest
// is handed on, unchanged and uncopied, as a list of stretches; nothing is ever written into one.

// topRows is how much of a list stays in Rows or Context when it is divided, which happens at more than twice as much. It must
// hold a usual exchange and the row before it (at most four rows); more only costs copying. A longer exchange is planned on the
// whole window.
const topRows = 8

// stretch is a piece of the window that lies below Rows and Context and is still at hand. It is shared: never change it.
type stretch struct {
	rows        []Link
	rowsBase    Chain
	context     []ContextLink
	contextBase Chain
	// rowsEnd and contextEnd count the elements up to the end of this stretch, from the start of the conversation.
	rowsEnd, contextEnd int
	// below is the stretch that ends where this one begins; nil when there is none.
	below *stretch
}

// top gives the same document with a short window; the rest of the window becomes a stretch. It copies no rows.
func (d *Document) top() Document {
	to := *d
	if len(d.Rows) <= 2*topRows && len(d.Context) <= 2*topRows {
		return to
	}
	n := max(0, len(d.Rows)-topRows)
	to.Rows = d.Rows[n:]
	// As in Normalise, no reference may point below the display window.
	show := resolver{rows: to.Rows, next: len(to.Rows) - 1}
	m, least := len(d.Context), max(0, len(d.Context)-topRows)
	for m > least && (d.Context[m-1].Row != nil || show.find(d.Context[m-1].Ref) != nil) {
		m--
	}
	to.Context = d.Context[m:]
	to.RowsBelow, to.ContextBelow = d.RowsBelow+n, d.ContextBelow+m
	if n > 0 {
		to.RowsBase = d.Rows[n-1].Chain
	}
	if m > 0 {
		to.ContextBase = d.Context[m-1].Chain
	}
	to.lower = &stretch{rows: d.Rows[:n:n], rowsBase: d.RowsBase, rowsEnd: to.RowsBelow,
		context: d.Context[:m:m], contextBase: d.ContextBase, contextEnd: to.ContextBelow, below: d.beneath()}
	return to
}

// beneath gives the stretch right below the window. A copy of a document whose window somebody moved has none: what lies between
// is not known.
func (d *Document) beneath() *stretch {
	if p := d.lower; p != nil && p.rowsEnd == d.RowsBelow && p.contextEnd == d.ContextBelow {
		return p
	}
	return nil
}

// whole gives the same document with all of its window in Rows and Context. It copies only where a stretch lies below.
func (d *Document) whole() Document {
	to := *d
	to.lower = nil
	rows, context := [][]Link{d.Rows}, [][]ContextLink{d.Context}
	for p := d.beneath(); p != nil; p = p.below {
		rows, context = append(rows, p.rows), append(context, p.context)
		to.RowsBelow, to.RowsBase = p.rowsEnd-len(p.rows), p.rowsBase
		to.ContextBelow, to.ContextBase = p.contextEnd-len(p.context), p.contextBase
	}
	if len(rows) > 1 {
		slices.Reverse(rows)
		slices.Reverse(context)
		to.Rows, to.Context = slices.Concat(rows...), slices.Concat(context...)
	}
	return to
}
