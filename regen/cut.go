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
	cut, at, byID, err := d.alignKeep(u + 1)
	if err != nil {
		return contextCut{}, err
	}
	if at >= cut || at == none || d.contextText(at, byID) != d.Rows[u].Row.Content.Text() {
		return contextCut{keep: cut}, nil
	}
	if shown := byID[d.Context[at].id()]; shown != nil && shown != d.Rows[u].Row {
		return contextCut{keep: cut}, nil // the nearest user row is another turn's, proven by its id
	}
	return contextCut{keep: at + 1, user: true}, nil
}

func (d *Document) contextText(at int, byID map[string]*Row) string {
	if r := d.Context[at].Row; r != nil {
		return r.Content.Text()
	}
	if r := byID[d.Context[at].Ref]; r != nil {
		return r.Content.Text()
	}
	return ""
}

// keepContext says how much of the context stays with the first n display rows of the window. Rows that go are found by id; what an
// import brought without a shared id is aligned, and doubt shortens the context.
func (d *Document) keepContext(n int) (int, error) {
	if n == len(d.Rows) {
		return len(d.Context), nil
	}
	gone, kept := idsOf(d.Rows[n:]), idsOf(d.Rows[:n])
	for j := len(d.Context) - 1; j >= 0; j-- {
		switch l := d.Context[j]; {
		case l.id() != "" && gone[l.id()]:
		case l.Row == nil:
			return j + 1, nil
		case kept[l.id()] && !d.anyOf(gone, j):
			return j + 1, nil
		default:
			cut, _, _, err := d.alignKeep(n)
			return cut, err
		}
	}
	if d.ContextBelow > 0 {
		return 0, ErrWindow
	}
	return 0, nil
}

func idsOf(rows []Link) map[string]bool {
	ids := make(map[string]bool, len(rows))
	for _, l := range rows {
		ids[l.Row.ID] = true
	}
	return ids
}

// anyOf says whether one of these ids stands among the first n context elements of the window.
func (d *Document) anyOf(ids map[string]bool, n int) bool {
	for _, l := range d.Context[:n] {
		if ids[l.id()] {
			return true
		}
	}
	return false
}

// alignKeep says how much of a context with rows of its own stays with the first k display rows, and which of the kept elements is
// the nearest user row.
func (d *Document) alignKeep(k int) (cut, at int, byID map[string]*Row, err error) {
	if d.RowsBelow > 0 || d.ContextBelow > 0 {
		return 0, none, nil, ErrWindow
	}
	display := make([]*Row, len(d.Rows))
	byID = make(map[string]*Row, len(d.Rows))
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
	cut, at = alignContext(display, context, k)
	gone := idsOf(d.Rows[k:])
	for i := range cut {
		if gone[d.Context[i].id()] { // lists in different orders: nothing that goes may stay
			return i, at, byID, nil
		}
	}
	return cut, at, byID, nil
}
