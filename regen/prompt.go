package regen

import (
	"encoding/json"
	"slices"
)

// Prompt gives the context rows for the model, oldest first: never error rows, reasoning or private fields; of an unfinished
// answer only its text; no tool call that nobody answered, which providers refuse. Above maxBytes whole oldest turns are left
// out; the last turn always stays. maxBytes <= 0 is no limit.
func (d *Document) Prompt(maxBytes int) []Row {
	rows, start, _ := d.fit(maxBytes)
	rows = slices.Clone(rows[start:])
	for i := range rows {
		if len(rows[i].ToolCalls) > 0 {
			rows[i].ToolCalls = answered(rows[i].ToolCalls, rows[i+1:])
		}
	}
	return slices.DeleteFunc(rows, func(r Row) bool {
		return r.Role == RoleAssistant && len(r.ToolCalls) == 0 && r.Content.size() == 0
	})
}

// NeedsMore says whether Prompt would give other rows if more context were loaded.
func (d *Document) NeedsMore(maxBytes int) bool {
	_, _, more := d.fit(maxBytes)
	return more
}

// fit walks back from the end. It gives the rows it looked at, where the prompt starts among them, and whether the rows below
// the window could belong to it.
func (d *Document) fit(maxBytes int) (rows []Row, start int, more bool) {
	whole := d.whole()
	d = &whole
	show := resolver{rows: d.Rows, next: len(d.Rows) - 1}
	total, turns := 0, 0
	first := 0 // the oldest row of a whole turn that fits, counted from the end
	full := false
	for j := len(d.Context) - 1; j >= 0; j-- {
		r := d.Context[j].Row
		if r == nil {
			r = show.find(d.Context[j].Ref)
		}
		if r == nil || r.Error {
			continue
		}
		m, ok := forModel(r)
		if !ok {
			continue
		}
		rows = append(rows, m)
		total += size(&m)
		if full = maxBytes > 0 && total > maxBytes; full && turns > 0 {
			break
		}
		if m.Role == RoleUser {
			first, turns = len(rows), turns+1
		}
	}
	more = d.ContextBelow > 0 && (turns == 0 || !full)
	// Rows in front of the first user row (an imported summary) are the oldest part; from a cut turn they are none.
	if turns == 0 || !full && d.ContextBelow == 0 {
		first = len(rows)
	}
	slices.Reverse(rows)
	return rows, len(rows) - first, more
}

// forModel gives what the model may see of a row; false if there is nothing.
func forModel(r *Row) (Row, bool) {
	m := Row{ID: r.ID, Turn: r.Turn, Role: r.Role, Content: r.Content, At: r.At, Partial: r.Partial, Attachments: r.Attachments,
		ToolCallID: r.ToolCallID, ToolName: r.ToolName}
	if r.Partial {
		return m, !r.Content.Empty()
	}
	m.ToolCalls = r.ToolCalls
	return m, true
}

func size(r *Row) int {
	n := r.Content.size()
	for _, raw := range r.Attachments {
		n += len(raw)
	}
	for _, raw := range r.ToolCalls {
		n += len(raw)
	}
	return n
}

// answered keeps the calls whose result follows among the tool rows.
func answered(calls []json.RawMessage, after []Row) []json.RawMessage {
	var kept []json.RawMessage
	for _, call := range calls {
		var head struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(call, &head) != nil || head.ID == "" {
			continue
		}
		for _, r := range after {
			if r.Role != RoleTool {
				break
			}
			if r.ToolCallID == head.ID {
				kept = append(kept, call)
				break
			}
		}
	}
	return kept
}

// resolver finds display rows by id while the references come in display order, from the end.
type resolver struct {
	rows []Link
	next int
}

func (s *resolver) find(id string) *Row {
	for i := s.next; i >= 0; i-- {
		if s.rows[i].Row.ID == id {
			s.next = i - 1
			return s.rows[i].Row
		}
	}
	for i := s.next + 1; i < len(s.rows); i++ { // out of order, as no edit of ours leaves it
		if s.rows[i].Row.ID == id {
			return s.rows[i].Row
		}
	}
	return nil
}
