package regen

import "errors"

// Plan is what a command would do to one document. It holds all that Commit needs; what happens to other documents meanwhile
// does not reach it. Its zero value is not a plan.
type Plan struct {
	doc      *Document
	cmd      Command
	revision string
	// The rest is used by a regenerate.
	exchange exchange
	context  contextCut
}

// Plan previews a command; it changes nothing. The refusals come in this order: *ContentError, ErrInvalidRegeneration or
// ErrUnknownOp for a command that makes no sense; *StaleRevisionError; *BusyError; then for a regenerate
// ErrNoRegenerableTurn, ErrReadOnly, ErrNoRegenerableTurn (a prompt without text); for a send ErrReadOnly, ErrEmptyPrompt.
// ErrWindow, in place of the last ones, asks for more rows.
func (d *Document) Plan(cmd Command) (Plan, error) {
	if cmd.Op != OpSend && cmd.Op != OpRegenerate {
		return Plan{}, ErrUnknownOp
	}
	if err := cmd.check(); err != nil {
		return Plan{}, err
	}
	if cmd.Op == OpRegenerate && (cmd.Content.size() > 0 || len(cmd.Attachments) > 0) {
		return Plan{}, ErrInvalidRegeneration
	}
	rev := d.Revision()
	if cmd.Revision != rev && (cmd.Revision != "" || cmd.Op == OpRegenerate) {
		return Plan{}, &StaleRevisionError{Given: cmd.Revision, Current: rev}
	}
	if d.Active != nil {
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
	if p.cmd.Op == OpRegenerate {
		return p.planRegenerate()
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

// Keep is the number of display rows that stay, counted from the start of the conversation.
func (p Plan) Keep() int {
	switch {
	case p.doc == nil:
		return 0
	case p.cmd.Op == OpRegenerate:
		return p.doc.RowsBelow + p.exchange.user + 1
	}
	return p.doc.Total()
}

// verify proves that p was made by Plan and that its parts belong together.
func (p Plan) verify() error {
	d := p.doc
	if d == nil || d.Revision() != p.revision || d.Active != nil {
		return ErrPlan
	}
	if p.cmd.Op == OpSend {
		return nil
	}
	x := p.exchange
	if x.user < 0 || x.user >= x.answer || x.answer >= len(d.Rows) || d.Rows[x.user].Row.Role != RoleUser ||
		p.context.keep > len(d.Context) || p.context.user && p.context.keep == 0 {
		return ErrPlan
	}
	return nil
}
