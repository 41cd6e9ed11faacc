package regen

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Mint is what a commit cannot make by itself: identifiers (32 lower-case hex digits) and the time.
type Mint struct {
	Run string
	// Turn and Row name a send's turn and user row; a regenerate keeps the ones it has.
	Turn, Row string
	// Variant names the answer that a regenerate replaces, Generation its cut.
	Variant, Generation string
	// Record is the variant that a select makes current; nil for every other op.
	Record *VariantRecord
	// At is the start, in seconds since 1970.
	At float64
}

// Commit is an acceptance: one edit, and the document that it gives.
type Commit struct {
	Edit     Edit
	Document *Document
	Turn     string
	Run      string
	// Keep is the id of the last row that stays before Rows; "" when none does.
	Keep string
	// Rows is what follows Keep now: the turn's user row, after a select its answer too, after a mere cut nothing. A rename changes
	// no rows and leaves both empty.
	Rows []Row
}

// Commit computes the acceptance of a plan; it reads nothing but the plan. It gives ErrPlan for anything that Plan did not
// make and ErrMint for bad identifiers.
func (p Plan) Commit(m Mint) (Commit, error) {
	if err := p.verify(); err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	if err := p.checkMint(m); err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	c := p.doc.begin()
	if !p.cmd.Op.Runs() {
		return p.commitEdit(c, m)
	}
	var user *Row
	var keep string
	switch p.cmd.Op {
	case OpRegenerate:
		user, keep = p.regenerate(c, m)
	case OpEdit:
		user, keep = p.replacePrompt(c, m)
	default:
		user, keep = p.send(c, m)
	}
	c.to.Fields.UpdatedAt = m.At
	c.to.Active = &Active{Run: m.Run, Turn: user.Turn, Row: user.ID, Source: user.Source, StartedAt: m.At,
		Model: p.cmd.Model, Regenerate: p.cmd.Op == OpRegenerate}
	return Commit{Edit: c.finish(), Document: c.to, Turn: user.Turn, Run: m.Run, Keep: keep, Rows: []Row{*user}}, nil
}

// commitEdit computes a change that begins no run.
func (p Plan) commitEdit(c *change, m Mint) (Commit, error) {
	var out Commit
	switch p.cmd.Op {
	case OpRename:
		c.to.Fields.Title, c.to.Fields.TitleFixed = p.cmd.Title, true
	case OpSelect:
		if m.Record == nil || m.Record.ID != p.cmd.Variant || m.Record.Turn != p.cmd.Turn {
			return Commit{}, fmt.Errorf("commit: record of variant %.40q: %w", p.cmd.Variant, ErrMint)
		}
		out.Turn = p.cmd.Turn
		out.Rows, out.Keep = p.choose(c, m)
	default:
		out.Keep = p.cut(c, m)
	}
	if p.cmd.Op != OpRename {
		c.to.Fields.UpdatedAt = m.At
		c.moved = true
	}
	out.Edit = c.finish()
	out.Document = c.to
	return out, nil
}

func (p Plan) checkMint(m Mint) error {
	var ids []string
	switch p.cmd.Op {
	case OpSend:
		ids = []string{m.Run, m.Turn, m.Row}
	case OpEdit:
		ids = []string{m.Run, m.Turn, m.Row, m.Generation}
	case OpRegenerate:
		ids = []string{m.Run, m.Variant, m.Generation}
	case OpSelect:
		ids = []string{m.Variant, m.Generation}
	case OpUndo, OpTruncate, OpClear:
		ids = []string{m.Generation}
	}
	for _, id := range ids {
		if !ValidHexID(id) {
			return fmt.Errorf("id %.40q: %w", id, ErrMint)
		}
	}
	if !validTime(m.At) {
		return fmt.Errorf("time %v: %w", m.At, ErrMint)
	}
	if n := len(p.doc.Rows); (p.cmd.Op == OpSend || p.cmd.Op == OpEdit) && n > 0 && (p.doc.Rows[n-1].Row.ID == m.Row || p.doc.Rows[n-1].Row.Turn == m.Turn) {
		return fmt.Errorf("row or turn id used before: %w", ErrMint)
	}
	return nil
}

// send appends the turn's user row to both lists.
func (p Plan) send(c *change, m Mint) (user *Row, keep string) {
	if n := len(p.doc.Rows); n > 0 {
		keep = p.doc.Rows[n-1].Row.ID
	}
	return p.appendPrompt(c, m, p.cmd.Attachments), keep
}

// appendPrompt appends the user row of a new turn to both lists.
func (p Plan) appendPrompt(c *change, m Mint, files []json.RawMessage) *Row {
	user := &Row{ID: m.Row, Turn: m.Turn, Role: RoleUser, Content: p.cmd.Content, At: m.At, Run: m.Run,
		Attachments: files, Token: Token(m.Run, m.At)}
	p.doc.stampProvenance(user)
	c.appendRow(user)
	c.appendRef(user)
	f := &c.to.Fields
	if f.CreatedAt == 0 && p.doc.Version == 0 {
		f.CreatedAt = m.At
	}
	if f.Title == "" && !f.TitleFixed {
		f.Title = titleOf(p.cmd.Content.Text())
	}
	if f.Watermark != 0 {
		f.Watermark = m.At
	}
	return user
}

// regenerate cuts both lists after the turn's user row, re-stamps that row in both and keeps the replaced answer as a variant.
func (p Plan) regenerate(c *change, m Mint) (user *Row, keep string) {
	at := p.exchange.user
	if at > 0 {
		keep = p.doc.Rows[at-1].Row.ID
	}
	old := p.doc.Rows[at].Row
	user = restamp(old, m)
	p.doc.stampProvenance(user)
	p.keepVariant(c, user, m, user.Variants)

	c.cutRows(at + 1)
	c.patchRow(user)
	c.cutContext(p.context.keep)
	if !p.context.user {
		c.appendRef(user)
	} else if own := c.to.Context[p.context.keep-1].Row; own == nil {
		c.patchContext(nil, user)
	} else {
		own = restamp(own, m)
		// Found by what it says, it has the display row's identity from now on.
		own.ID, own.Turn, own.Source, own.ForkChild, own.Variants = user.ID, user.Turn, user.Source, user.ForkChild, nil
		c.patchContext(own, nil)
	}
	f := &c.to.Fields
	f.Watermark, f.Boundary, f.ShrinkGeneration = old.At, old.At, m.Generation
	return user, keep
}

// restamp gives a copy of a user row for another run. Everything that is not named here stays as it is.
func restamp(old *Row, m Mint) *Row {
	r := *old
	r.Extra = maps.Clone(old.Extra)
	if r.Turn == "" {
		r.Turn = r.ID // an imported row becomes a turn of its own
	}
	if r.SentAt == 0 {
		r.SentAt = r.At
	}
	r.At, r.RegeneratedAt = m.At, m.At
	r.Run, r.Token = m.Run, Token(m.Run, m.At)
	return &r
}
