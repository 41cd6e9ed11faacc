package regen

import "slices"

// Restorable is the id of the variant that a policy of restoring would bring back if the active run ended with o: the answer that
// this regenerate replaced. "" when the run is no regenerate, said something visible, or replaced nothing.
func (d *Document) Restorable(o Outcome) string {
	if d.Active == nil || !d.Active.Regenerate || d.speaks(o) {
		return ""
	}
	whole := d.whole()
	i := whole.activeIndex()
	if i == none {
		return ""
	}
	ids := whole.Rows[i].Row.Variants
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}

// speaks says whether the outcome leaves something that a person would miss.
func (d *Document) speaks(o Outcome) bool {
	if o.Kind.answers() {
		return Text(o.Text).Visible() || len(o.ToolCalls) > 0
	}
	return Text(stripThinking(validText(o.Text))).Visible()
}

// restore puts the replaced answer back where the new run gave none. It reports false where there is nothing to restore.
func (d *Document) restore(c *change, user int, o Outcome) bool {
	v := o.Restore
	if v == nil || !d.Active.Regenerate || d.speaks(o) || user != len(c.to.Rows)-1 || len(c.edit.Rows.Append) > 0 {
		return false
	}
	row := *c.to.Rows[user].Row
	if v.Turn != row.Turn || !slices.Contains(row.Variants, v.ID) {
		return false
	}
	row.Variants = without(row.Variants, v.ID)
	c.patchRow(&row)
	if n := len(c.to.Context); n > 0 && c.to.Context[n-1].Row == nil && c.to.Context[n-1].Ref == row.ID {
		c.patchContext(nil, &row)
	}
	c.bringBack(v)
	return true
}
