package regen

// contextCut is how a cut of the display after its user row looks in context.
type contextCut struct {
	// keep elements of the window stay; user says that the last of them is the turn's user row.
	keep int
	user bool
}

// cutContext finds the user row of display row u in context. Rows that both lists hold have one id, so it walks back over
// the rows that go; only where it meets an imported row without such an id does it align the lists by what the rows say.
func (d *Document) cutContext(u int) (contextCut, error) {
	user := d.Rows[u].Row
	gone := make(map[string]bool, len(d.Rows)-u)
	for _, l := range d.Rows[u+1:] {
		gone[l.Row.ID] = true
	}
	for j := len(d.Context) - 1; j >= 0; j-- {
		switch l := d.Context[j]; {
		case l.id() == user.ID:
			return contextCut{keep: j + 1, user: true}, nil
		case l.id() != "" && gone[l.id()]:
		case l.Row == nil:
			return contextCut{keep: j + 1}, nil // an older display row: the prompt is not in context
		default:
			return d.alignImported(u)
		}
	}
	if d.ContextBelow > 0 {
		return contextCut{}, ErrWindow
	}
	return contextCut{}, nil
}

// alignImported cuts a context that has rows of its own. It needs both lists whole.
func (d *Document) alignImported(u int) (contextCut, error) {
	if d.RowsBelow > 0 || d.ContextBelow > 0 {
		return contextCut{}, ErrWindow
	}
	display := make([]*Row, len(d.Rows))
	byID := make(map[string]*Row, len(d.Rows))
	for i, l := range d.Rows {
		display[i] = l.Row
		byID[l.Row.ID] = l.Row
	}
	context := make([]*Row, len(d.Context))
	for i, l := range d.Context {
		if context[i] = l.Row; l.Row != nil {
			continue
		}
		if context[i] = byID[l.Ref]; context[i] == nil {
			context[i] = &Row{ID: l.Ref} // dangling: it matches nothing
		}
	}
	cut, at := alignContext(display, context, u+1)
	gone := map[string]bool{}
	for _, r := range display[u+1:] {
		gone[r.ID] = true
	}
	for i := range cut {
		if gone[d.Context[i].id()] { // lists in different orders: nothing that goes may stay
			cut = i
			break
		}
	}
	if at >= cut || at == none || context[at].Content.Text() != display[u].Content.Text() {
		return contextCut{keep: cut}, nil
	}
	if shown := byID[d.Context[at].id()]; shown != nil && shown != display[u] {
		return contextCut{keep: cut}, nil // the nearest user row is another turn's, proven by its id
	}
	return contextCut{keep: at + 1, user: true}, nil
}
