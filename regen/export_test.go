package regen

// AlignContext shows the alignment of imported data to its table test.
func AlignContext(display, context []*Row, k int) (cut, user int) {
	return alignContext(display, context, k)
}

// StripThinking shows what a partial answer loses.
func StripThinking(s string) string { return stripThinking(s) }

// TitleOf shows the title of a prompt.
func TitleOf(s string) string { return titleOf(s) }
