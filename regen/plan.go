package regen

import "errors"

// Plan is what a command would do to one document. It holds all that Commit needs; what happens to other documents meanwhile
// does not reach it. Its zero value is not a plan.
type Plan struct {
	doc      *Document
	cmd      Command
	revision string
	// exchange is used by a regenerate and, without an answer, by a select; keep, a number of window rows, by a cut.
	exchange exchange
	keep     int
	context  contextCut
}

// Plan previews a command; it changes nothing. The refusals come in this order: *ContentError, ErrInvalidRegeneration or
// ErrUnknownOp for a command that makes no sense; *StaleRevisionError; *BusyError; then for a regenerate
// ErrNoRegenerableTurn, ErrReadOnly, ErrNoRegenerableTurn (a prompt without text); for a send ErrReadOnly, ErrEmptyPrompt; for an
// edit ErrReadOnly, then ErrNoRow, ErrEmptyPrompt, ErrNoTurn, ErrCount or ErrNoVariant. A rename is never busy or read-only.
// ErrWindow, in place of the last ones, asks for more rows.
func (d *Document) Plan(cmd Command) (Plan, error) {
	if !cmd.Op.known() {
		return Plan{}, ErrUnknownOp
	}
	if err := cmd.check(); err != nil {
		return Plan{}, err
	}
	if cmd.Op == OpRegenerate && (cmd.Content.size() > 0 || len(cmd.Attachments) > 0) {
		return Plan{}, ErrInvalidRegeneration
	}
	rev := d.Revision()
	if cmd.Revision != rev && (cmd.Revision != "" || cmd.Op != OpSend && cmd.Op != OpRename) {
		return Plan{}, &StaleRevisionError{Given: cmd.Revision, Current: rev}
	}
	if d.Active != nil && cmd.Op != OpRename {
		return Plan{}, &BusyError{Run: d.Active.Run}
	}
	doc := d.top()
	p := Plan{doc: &doc, cmd: cmd, revision: rev}
	p.cmd.Attachments = compactRaws(cmd.Attachments)
	err := p.plan()
	if errors.Is(err, ErrWindow) && doc.lower != nil {
		doc = d.whole()
		err = p.plan()
	}
	if err != nil {
		return Plan{}, err
	}
	return p, nil
}

func (p *Plan) plan() error {
	switch {
	case p.cmd.Op == OpRename:
		return nil
	case p.cmd.Op == OpRegenerate:
		return p.planRegenerate()
	case p.cmd.Op == OpSelect:
		return p.planSelect()
	case p.cmd.Op.cuts():
		return p.planCut()
	}
	return p.planSend()
}

func (p *Plan) planSend() error {
	switch {
	case p.doc.Fields.ReadOnly:
		return ErrReadOnly
	case p.cmd.Content.Empty() && len(p.cmd.Attachments) == 0:
		return ErrEmptyPrompt
	case len(p.doc.Rows) == 0 && p.doc.RowsBelow > 0:
		return ErrWindow // the last row's id tells readers where the new one goes
	}
	return nil
}

func (p *Plan) planRegenerate() (err error) {
	if p.exchange, err = p.doc.lastExchange(); err != nil {
		return err
	}
	user := p.doc.Rows[p.exchange.user].Row
	if !p.doc.owns(user) {
		return ErrReadOnly
	}
	if blank(user.Content.Text()) {
		return ErrNoRegenerableTurn
	}
	if p.exchange.user == 0 && p.doc.RowsBelow > 0 {
		return ErrWindow // the row before it is what readers keep
	}
	p.context, err = p.doc.cutContext(p.exchange.user)
	return err
}

// Command gives the planned command.
func (p Plan) Command() Command { return p.cmd }

// Revision is the revision of the document that was planned on.
func (p Plan) Revision() string { return p.revision }

// Cuts says whether the plan drops rows from a point on, which leaves less of the window.
func (p Plan) Cuts() bool { return p.doc != nil && p.cmd.Op.cuts() }

// Variant is the id of the variant whose record Commit needs in Mint.Record; "" when it needs none.
func (p Plan) Variant() string {
	if p.cmd.Op != OpSelect {
		return ""
	}
	return p.cmd.Variant
}

// Keep is the number of display rows that stay, counted from the start of the conversation.
func (p Plan) Keep() int {
	switch {
	case p.doc == nil:
		return 0
	case p.cmd.Op.cuts() && p.keep == 0:
		return 0
	case p.cmd.Op.cuts():
		return p.doc.RowsBelow + p.keep
	case p.cmd.Op == OpRegenerate, p.cmd.Op == OpSelect:
		return p.doc.RowsBelow + p.exchange.user + 1
	}
	return p.doc.Total()
}

// verify proves that p was made by Plan and that its parts belong together.
func (p Plan) verify() error {
	d := p.doc
	if d == nil || d.Revision() != p.revision || d.Active != nil && p.cmd.Op != OpRename {
		return ErrPlan
	}
	x := p.exchange
	switch {
	case p.cmd.Op == OpSend, p.cmd.Op == OpRename:
		return nil
	case p.cmd.Op.cuts():
		if p.keep < 0 || p.keep > len(d.Rows) || p.context.keep > len(d.Context) || p.cmd.Op == OpEdit && p.keep == len(d.Rows) {
			return ErrPlan
		}
		return nil
	case p.cmd.Op == OpSelect:
		x.answer = len(d.Rows) // a select needs no answer
		if x.user >= x.answer || x.user < 0 || d.Rows[x.user].Row.Role != RoleUser || p.context.keep > len(d.Context) {
			return ErrPlan
		}
		return nil
	}
	if x.user < 0 || x.user >= x.answer || x.answer >= len(d.Rows) || d.Rows[x.user].Row.Role != RoleUser ||
		p.context.keep > len(d.Context) || p.context.user && p.context.keep == 0 {
		return ErrPlan
	}
	return nil
}
