package history

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// settlements checks I4 over all readers and dumps.
func (f *findings) settlements() {
	for run, seen := range f.settledAt {
		f.once(run, seen)
	}
	for i := range f.commands {
		c := &f.commands[i]
		if c.Receipt != nil && !c.Receipt.Repeat {
			f.ended(c)
		}
		if c.Op == wire.OpCancel && c.Cancel == string(stream.StopAccepted) && c.Run != "" && !f.opts.StoreLost {
			for _, s := range f.settledAt[c.Run] {
				if s.outcome != string(regen.Cancelled) {
					f.bad(I4, c.key(), "run %s settled %s although its stop had been accepted (reader %s at %s)", c.Run, s.outcome, s.reader, s.pos)
					break
				}
			}
		}
	}
}

// once: every sight of a run's settlement is of the same one.
func (f *findings) once(run string, seen []settlementSeen) {
	first := seen[0]
	for _, s := range seen[1:] {
		switch {
		case s.pos == first.pos: // the same one; whether all saw it alike is I2's
		case f.opts.StoreLost && (s.pos.ID.Epoch != first.pos.ID.Epoch || s.pos.Incarnation != first.pos.Incarnation):
		default:
			f.bad(I4, s.key, "run %s settled twice: %s at %s (reader %s) and %s at %s (reader %s)",
				run, first.outcome, first.pos, first.reader, s.outcome, s.pos, s.reader)
			return
		}
	}
}

// ended: the run of an accepted command has its settlement, and in time.
func (f *findings) ended(c *Command) {
	run := c.Receipt.Run
	if seen := f.settledAt[run]; len(seen) > 0 {
		at := seen[0].at
		for _, s := range seen {
			if s.at.Before(at) {
				at = s.at
			}
		}
		if took := at.Sub(c.Answered); f.opts.SettleWithin > 0 && took > f.opts.SettleWithin {
			f.bad(I4, c.key(), "run %s settled %v after its receipt; %v was allowed", run, took, f.opts.SettleWithin)
		}
		return
	}
	if f.opts.StoreLost {
		return
	}
	s := f.last(c.key())
	if s == nil {
		f.bad(I4, c.key(), "nobody saw run %s (accepted for key %q by reader %s) settle, and there is no dump", run, c.Key, c.Reader)
		return
	}
	if !s.settledIn(run, c.Receipt.Turn) {
		f.bad(I4, c.key(), "run %s (accepted for key %q by reader %s) never settled; the store's active run is %q", run, c.Key, c.Reader, s.Active())
	}
}

// settledIn says whether the store bears witness to the settlement of a run that nobody saw: it was the last, it left rows or a
// variant, or its turn was answered again.
func (s *Store) settledIn(run, turn string) bool {
	if s.Active() == run {
		return false
	}
	if s.Head["last"] == run {
		return true
	}
	for _, v := range s.Variants {
		if rec, err := regen.DecodeVariant(v); err == nil && rec.Run == run {
			return true
		}
	}
	for _, e := range s.Rows {
		l, err := regen.DecodeLink(e)
		if err != nil {
			continue
		}
		if r := l.Row; r.Run == run && r.Role != regen.RoleUser || r.Turn == turn && r.Role == regen.RoleUser && r.Run != run {
			return true
		}
	}
	return false
}

// unlike says how the rows of a settlement differ from what the run said; "" if they do not. The text of an unfinished answer loses
// its thinking wrappers, so there only what cannot be explained by that counts.
func unlike(said []piece, ev *event) string {
	var text, reasoning strings.Builder
	tools := 0
	for _, p := range said {
		switch p.kind {
		case wire.KindText:
			text.WriteString(p.text)
		case wire.KindReasoning:
			reasoning.WriteString(p.text)
		case wire.KindTool:
			tools++
		}
	}
	i := slices.IndexFunc(ev.Rows, func(r row) bool {
		return r.Role == string(regen.RoleAssistant) && !r.Error && (r.Run == ev.Run || r.Run == "")
	})
	if i < 0 {
		if regen.Text(text.String()).Visible() && !strings.Contains(text.String(), "<") || tools > 0 {
			return "it said " + clip(text.String()) + " and left no answer row"
		}
		return ""
	}
	r := ev.Rows[i]
	answer := contentText(r.Content)
	switch {
	case r.Partial && strings.Contains(text.String(), "<"):
		if !within(answer, text.String()) {
			return "the partial answer " + clip(answer) + " is not a part of what it said: " + clip(text.String())
		}
	case answer != text.String() && (!r.Partial || strings.TrimSpace(text.String()) != ""):
		return "the answer is " + around(answer, text.String()) + " and it said " + around(text.String(), answer)
	}
	if r.Reasoning != reasoning.String() {
		return "the reasoning is " + around(r.Reasoning, reasoning.String()) + " and it said " + around(reasoning.String(), r.Reasoning)
	}
	if len(r.ToolCalls) != tools {
		return "the answer's tool calls are not as many as were logged"
	}
	return ""
}

// within says whether all runes of part stand in whole, in order.
func within(part, whole string) bool {
	rest := whole
	for _, c := range part {
		i := strings.IndexRune(rest, c)
		if i < 0 {
			return false
		}
		rest = rest[i+len(string(c)):]
	}
	return true
}

func contentText(raw json.RawMessage) string {
	c, err := regen.ParseContent(raw)
	if err != nil {
		return string(raw)
	}
	return c.Text()
}
