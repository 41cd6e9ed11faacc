package regen

import (
	"slices"
	"strings"
)

// planSelect finds the last turn, which must be the one named and have the variant.
func (p *Plan) planSelect() (err error) {
	d := p.doc
	if d.Fields.ReadOnly {
		return ErrReadOnly
	}
	u := len(d.Rows) - 1
	for u >= 0 && d.Rows[u].Row.Role != RoleUser {
		u--
	}
	if u < 0 {
		return d.below(ErrNoVariant)
	}
	user := d.Rows[u].Row
	if p.cmd.Turn == "" || user.Turn != p.cmd.Turn || !slices.Contains(user.Variants, p.cmd.Variant) {
		return ErrNoVariant
	}
	if u == 0 && d.RowsBelow > 0 {
		return ErrWindow // the row before it is what readers keep
	}
	p.exchange = exchange{user: u}
	p.context, err = d.cutContext(u)
	return err
}

// choose puts the variant's rows in the place of the present answer, which becomes a variant. It gives the rows of the turn.
func (p Plan) choose(c *change, m Mint) (rows []Row, keep string) {
	at := p.exchange.user
	if at > 0 {
		keep = p.doc.Rows[at-1].Row.ID
	}
	old := p.doc.Rows[at].Row
	user := *old
	p.keepVariant(c, &user, m, without(old.Variants, p.cmd.Variant))
	c.cutRows(at + 1)
	c.patchRow(&user)
	c.cutContext(p.context.keep)
	switch {
	case !p.context.user:
		c.appendRef(&user)
	case c.to.Context[p.context.keep-1].Row == nil:
		c.patchContext(nil, &user)
	}
	c.bringBack(m.Record)
	f := &c.to.Fields
	f.Watermark, f.Boundary, f.ShrinkGeneration = old.At, old.At, m.Generation
	return rowValues(c.to.Rows[at:]), keep
}

// bringBack appends a variant's rows to both lists and forgets the variant.
func (c *change) bringBack(v *VariantRecord) {
	shown := make(map[string]*Row, len(v.Rows))
	for i := range v.Rows {
		r := v.Rows[i]
		shown[r.ID] = c.appendRow(&r)
	}
	for _, e := range v.Context {
		id, isRef := strings.CutPrefix(e, "@")
		if isRef {
			if r := shown[id]; r != nil {
				c.appendRef(r)
			}
			continue
		}
		var own Row
		if own.UnmarshalJSON([]byte(e)) == nil {
			c.appendOwn(&own)
		}
	}
	c.edit.VariantUnset = append(c.edit.VariantUnset, v.ID)
}

// without gives ids less one; nil when none is left.
func without(ids []string, id string) []string {
	var out []string
	for _, x := range ids {
		if x != id {
			out = append(out, x)
		}
	}
	return out
}
