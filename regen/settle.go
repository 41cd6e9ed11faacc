package regen

import (
	"encoding/json"
	"fmt"
	"strings"
)

// OutcomeKind is how a run ended.
type OutcomeKind string

// The ends of a run. Completed, length and filtered keep an answer; the others keep what there is and say what happened.
const (
	Completed   OutcomeKind = "completed"
	Length      OutcomeKind = "length"
	Filtered    OutcomeKind = "filtered"
	Failed      OutcomeKind = "failed"
	Cancelled   OutcomeKind = "cancelled"
	Interrupted OutcomeKind = "interrupted"
)

// The causes of an interrupted run.
const (
	CauseOwnerLost = "owner_lost"
	CauseRestart   = "restart"
)

// Outcome is the end of a run, as its worker or, after a crash, its log tells it.
type Outcome struct {
	Run  string
	Kind OutcomeKind
	// Text and Reasoning are all that the model said; ToolCalls are JSON values.
	Text, Reasoning string
	ToolCalls       []json.RawMessage
	// Message is the text of the error row; people see it. "" gives a plain sentence.
	Message string
	// Cause is CauseOwnerLost or CauseRestart for an interrupted run ("" is the first), else unused.
	Cause string
	// Model is the model that answered; "" is the one asked for.
	Model string
	// Usage is the provider's own count, kept with the answer; nil if unknown.
	Usage json.RawMessage
	// At is the end, in seconds since 1970.
	At float64
	// AnswerRow and ErrorRow are the ids of the rows that a settlement may need; both are always required.
	AnswerRow, ErrorRow string
	// Restore is the variant that comes back if this was a regenerate and ended without visible text; nil brings none back.
	Restore *VariantRecord
	// User is the turn's user row as its acceptance logged it. It is used only if the document does not hold that row.
	User *Row
}

// Settlement is the end of a turn: one edit, and the document that it gives.
type Settlement struct {
	Edit     Edit
	Document *Document
	Turn     string
	// Rows are the whole turn, from its user row.
	Rows []Row
	// Kind is the outcome as settled: a completed run that said nothing is failed.
	Kind OutcomeKind
	// Variants are the ids of the turn's replaced answers, oldest first.
	Variants []string
}

// Settle ends the active run. It gives a *NotWritebackOwnerError unless o.Run is the active run, ErrOutcome for a malformed
// outcome, and ErrWindow or ErrTurnMissing where the turn's user row is not found.
func (d *Document) Settle(o Outcome) (Settlement, error) {
	if d.Active == nil || d.Active.Run != o.Run {
		e := &NotWritebackOwnerError{Run: o.Run}
		if d.Active != nil {
			e.Owner = d.Active.Run
		}
		return Settlement{}, e
	}
	if err := d.checkOutcome(o); err != nil {
		return Settlement{}, fmt.Errorf("settle: %w", err)
	}
	o = o.clean()
	top := d.top()
	if top.lower != nil && top.activeIndex() == none {
		top = d.whole()
	}
	d = &top
	c := d.begin()
	user, err := d.activeUser(c, o)
	if err != nil {
		return Settlement{}, fmt.Errorf("settle: %w", err)
	}
	if o.Kind.answers() && !Text(o.Text).Visible() && len(o.ToolCalls) == 0 {
		o.Kind = Failed
		if o.Message == "" {
			o.Message = "The model gave no answer."
		}
	}
	if !d.restore(c, user, o) {
		d.appendAnswer(c, o)
		if !o.Kind.answers() {
			c.appendRow(d.errorRow(o))
		}
	}
	if o.Kind != Interrupted { // a repair is no activity
		c.to.Fields.UpdatedAt = o.At
	}
	c.to.Active = nil
	return Settlement{Edit: c.finish(), Document: c.to, Turn: d.Active.Turn, Rows: rowValues(c.to.Rows[user:]), Kind: o.Kind,
		Variants: c.to.Rows[user].Row.Variants}, nil
}

func (k OutcomeKind) answers() bool { return k == Completed || k == Length || k == Filtered }

func (d *Document) checkOutcome(o Outcome) error {
	switch o.Kind {
	case Completed, Length, Filtered, Failed, Cancelled, Interrupted:
	default:
		return fmt.Errorf("kind %.40q: %w", o.Kind, ErrOutcome)
	}
	if !ValidHexID(o.AnswerRow) || !ValidHexID(o.ErrorRow) || o.AnswerRow == o.ErrorRow ||
		o.AnswerRow == d.Active.Row || o.ErrorRow == d.Active.Row {
		return fmt.Errorf("row ids %.40q and %.40q: %w", o.AnswerRow, o.ErrorRow, ErrOutcome)
	}
	if !validTime(o.At) {
		return fmt.Errorf("time %v: %w", o.At, ErrOutcome)
	}
	return nil
}

// clean makes what a model or a log gave fit to be stored.
func (o Outcome) clean() Outcome {
	o.Text, o.Reasoning = validText(o.Text), validText(o.Reasoning)
	o.Message, o.Model, o.Cause = validText(o.Message), validText(o.Model), validText(o.Cause)
	o.ToolCalls = compactRaws(o.ToolCalls)
	for i, call := range o.ToolCalls {
		if !json.Valid(call) { // cut in the middle: keep it as text, a row must stay readable
			o.ToolCalls[i] = appendString(nil, string(call))
		}
	}
	if o.Usage = compactRaw(o.Usage); !json.Valid(o.Usage) || isNull(o.Usage) {
		o.Usage = nil
	}
	return o
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// activeUser gives the window index of the turn's user row, found by row and turn id. Where the document has no such row it
// adds the one from the log: it never takes a look-alike.
func (d *Document) activeUser(c *change, o Outcome) (int, error) {
	if i := d.activeIndex(); i != none {
		return i, nil
	}
	if d.RowsBelow > 0 {
		return 0, ErrWindow
	}
	if o.User == nil {
		return 0, ErrTurnMissing
	}
	user := *o.User
	user.ID, user.Turn, user.Role = d.Active.Row, d.Active.Turn, RoleUser
	user.Run, user.Token = d.Active.Run, Token(d.Active.Run, d.Active.StartedAt)
	user.Attachments = compactRaws(user.Attachments)
	d.stampProvenance(&user)
	c.appendRow(&user)
	c.appendRef(&user)
	return len(d.Rows), nil
}

func (d *Document) activeIndex() int {
	for i := len(d.Rows) - 1; i >= 0; i-- {
		if r := d.Rows[i].Row; r.ID == d.Active.Row && r.Turn == d.Active.Turn && r.Role == RoleUser {
			return i
		}
	}
	return none
}

// appendAnswer adds the answer, or what there is of it. An unfinished answer loses its thinking wrappers; the model gets only
// its text.
func (d *Document) appendAnswer(c *change, o Outcome) {
	r := &Row{ID: o.AnswerRow, Turn: d.Active.Turn, Role: RoleAssistant, Content: Text(o.Text), At: o.At, Run: o.Run,
		Model: o.Model, Reasoning: o.Reasoning, ToolCalls: o.ToolCalls, Usage: o.Usage}
	if r.Model == "" {
		r.Model = d.Active.Model
	}
	if !o.Kind.answers() {
		r.Content, r.Partial = Text(stripThinking(o.Text)), true
		if r.Content.Empty() && blank(r.Reasoning) && len(r.ToolCalls) == 0 {
			return
		}
	}
	c.appendRow(r)
	if !r.Partial || !r.Content.Empty() {
		c.appendRef(r)
	}
}

// errorRow tells people what happened. It never enters the context.
func (d *Document) errorRow(o Outcome) *Row {
	r := &Row{ID: o.ErrorRow, Turn: d.Active.Turn, Role: RoleAssistant, Content: Text(o.Message), At: o.At, Run: o.Run, Error: true}
	if blank(o.Message) {
		r.Content = Text(defaultMessage(o.Kind))
	}
	if o.Kind == Interrupted {
		if r.Interrupted = o.Cause; r.Interrupted == "" {
			r.Interrupted = CauseOwnerLost
		}
	}
	return r
}

func defaultMessage(k OutcomeKind) string {
	switch k {
	case Cancelled:
		return "The answer was stopped."
	case Interrupted:
		return "The answer was interrupted."
	}
	return "The answer failed."
}
