package regen

import (
	"encoding/json"
	"errors"
)

// planCut finds what an edit, undo, truncate or clear keeps.
func (p *Plan) planCut() error {
	d := p.doc
	if d.Fields.ReadOnly {
		return ErrReadOnly
	}
	total, err := p.cutAt()
	if err != nil {
		return err
	}
	if total == 0 {
		if d.lower != nil {
			return ErrWindow // not needed for the cut, but the variants of the turns that go are named by their rows
		}
		p.keep, p.context = 0, contextCut{}
		return nil
	}
	if p.keep = total - d.RowsBelow; p.keep < 1 {
		return ErrWindow
	}
	if p.context.keep, err = d.keepContext(p.keep); err != nil {
		return err
	}
	return p.leavesEnough()
}

// cutAt gives the number of display rows to keep, from the start of the conversation.
func (p *Plan) cutAt() (int, error) {
	d := p.doc
	switch p.cmd.Op {
	case OpUndo:
		for i := len(d.Rows) - 1; i >= 0; i-- {
			if d.Rows[i].Row.Role == RoleUser {
				return d.RowsBelow + i, nil
			}
		}
		return 0, d.below(ErrNoTurn)
	case OpEdit:
		i, err := d.findRow(p.cmd.Row)
		if err != nil {
			return 0, err
		}
		old := d.Rows[i].Row
		if old.Role != RoleUser {
			return 0, ErrNoRow
		}
		if p.cmd.Content.Empty() && len(p.files(old)) == 0 {
			return 0, ErrEmptyPrompt
		}
		return d.RowsBelow + i, nil
	case OpTruncate:
		if p.cmd.Row != "" {
			i, err := d.findRow(p.cmd.Row)
			return d.RowsBelow + i + 1, err
		}
		if p.cmd.Keep < 0 || p.cmd.Keep > d.Total() {
			return 0, ErrCount
		}
		return p.cmd.Keep, nil
	}
	return 0, nil // clear
}

func (d *Document) findRow(id string) (int, error) {
	for i := len(d.Rows) - 1; i >= 0; i-- {
		if d.Rows[i].Row.ID == id {
			return i, nil
		}
	}
	return 0, d.below(ErrNoRow)
}

// leavesEnough asks for more rows where what stays of the window would not tell whether its last answer can be regenerated.
func (p *Plan) leavesEnough() error {
	after := *p.doc
	if after.RowsBelow+after.ContextBelow == 0 {
		return nil
	}
	after.Rows, after.Context, after.lower = after.Rows[:p.keep:p.keep], after.Context[:p.context.keep:p.context.keep], nil
	if _, err := after.Plan(Command{Op: OpRegenerate, Revision: after.Revision()}); errors.Is(err, ErrWindow) {
		return ErrWindow
	}
	return nil
}

// cut drops what the plan does not keep from both lists, with the variants of the turns that go as far as the window names them.
// It gives the id of the last row that stays.
func (p Plan) cut(c *change, m Mint) (keep string) {
	for _, l := range p.doc.Rows[p.keep:] {
		if l.Row.Role == RoleUser {
			c.edit.VariantUnset = append(c.edit.VariantUnset, l.Row.Variants...)
		}
	}
	at := 0.0
	if p.keep == 0 {
		c.cutAll()
	} else {
		last := p.doc.Rows[p.keep-1].Row
		keep, at = last.ID, last.At
		c.cutRows(p.keep)
		c.cutContext(p.context.keep)
	}
	f := &c.to.Fields
	f.Watermark, f.Boundary, f.ShrinkGeneration = at, at, m.Generation
	return keep
}

// replacePrompt cuts before the edited row and begins a new turn with its content: another prompt is another turn, whose answers are
// no variants of the old one's.
func (p Plan) replacePrompt(c *change, m Mint) (user *Row, keep string) {
	old := p.doc.Rows[p.keep].Row
	keep = p.cut(c, m)
	return p.appendPrompt(c, m, p.files(old)), keep
}

// files are the attachments of an edited prompt: the row's own, unless the command brings others.
func (p *Plan) files(old *Row) []json.RawMessage {
	if p.cmd.Attachments != nil {
		return p.cmd.Attachments
	}
	return old.Attachments
}
