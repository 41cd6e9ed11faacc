package regen

// exchange is the last turn of a conversation: window indexes of its user row and of its answer.
type exchange struct{ user, answer int }

// lastExchange finds the exchange that a regenerate replaces. The newest user, assistant or tool row must be an answer with
// text; an unfinished tail is never skipped in favour of an older exchange.
func (d *Document) lastExchange() (exchange, error) {
	i := len(d.Rows) - 1
	for i >= 0 && !speaks(d.Rows[i].Row.Role) {
		i--
	}
	if i < 0 {
		return exchange{}, d.below(ErrNoRegenerableTurn)
	}
	if !d.Rows[i].Row.finalText() {
		return exchange{}, ErrNoRegenerableTurn
	}
	for u := i - 1; u >= 0; u-- {
		if d.Rows[u].Row.Role == RoleUser {
			return exchange{user: u, answer: i}, nil
		}
	}
	return exchange{}, d.below(ErrNoRegenerableTurn)
}

// below gives err where the window shows everything, else ErrWindow.
func (d *Document) below(err error) error {
	if d.RowsBelow > 0 {
		return ErrWindow
	}
	return err
}

func speaks(r Role) bool { return r == RoleUser || r == RoleAssistant || r == RoleTool }

// finalText says whether the row is an answer: error and partial rows too, but not a row that asks for tools.
func (r *Row) finalText() bool {
	if r.Role != RoleAssistant {
		return false
	}
	visible, invoked := r.Content.visible()
	return visible && (len(r.ToolCalls) == 0 || invoked)
}
