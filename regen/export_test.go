package regen

// AlignContext shows the alignment of imported data to its table test.
func AlignContext(display, context []*Row, k int) (cut, user int) {
	return alignContext(display, context, k)
}

// StripThinking shows what a partial answer loses.
func StripThinking(s string) string { return stripThinking(s) }

// TitleOf shows the title of a prompt.
func TitleOf(s string) string { return titleOf(s) }

// Whole shows all rows that a document has at hand, also those below Rows and Context.
func (d *Document) Whole() *Document {
	whole := d.whole()
	return &whole
}

// PlanWhole plans as if Rows and Context held the whole window; the command must make sense and pass the first checks.
func (d *Document) PlanWhole(cmd Command) (Plan, error) {
	whole := d.whole()
	p := Plan{doc: &whole, cmd: cmd, revision: d.Revision()}
	if err := p.plan(); err != nil {
		return Plan{}, err
	}
	return p, nil
}
