package openai

import (
	"encoding/json"
	"fmt"
)

// maxTools is the most tool calls of one answer.
const maxTools = 128

// tools puts the pieces of tool calls together.
type tools struct {
	calls []*toolCall
	size  int // bytes of all arguments
}

type toolCall struct {
	index    looseInt
	id, name string
	args     string
	join     joiner
}

// add takes one piece. It gives false when the calls are larger than limit bytes, or too many.
func (t *tools) add(p toolPiece, limit int) bool {
	call := t.find(p)
	if call == nil {
		if len(t.calls) == maxTools {
			return false
		}
		call = &toolCall{index: p.Index}
		t.calls = append(t.calls, call)
	}
	if call.id == "" {
		call.id = string(p.ID)
	}
	if call.name == "" { // a name may be repeated in every piece
		call.name = string(p.Function.Name)
	}
	args := string(p.Function.Arguments)
	switch {
	case args == "" || args == "null":
		return true
	case args[0] == '"':
		args, _ = call.join.text(p.Function.Arguments)
	}
	call.args += args // an object instead of its text is taken as it is
	t.size += len(args)
	return t.size <= limit
}

// find gives the call that a piece belongs to; nil for a new one. The index decides, unless a piece brings a name and an id of its
// own under an index that is taken; without an index the id decides, and without that the last call is meant.
func (t *tools) find(p toolPiece) *toolCall {
	fresh := p.Function.Name != ""
	for i := len(t.calls) - 1; i >= 0; i-- {
		call := t.calls[i]
		sameID := p.ID == "" || call.id == "" || call.id == string(p.ID)
		switch {
		case p.Index.set && call.index.set:
			if call.index.n == p.Index.n && (sameID || !fresh) {
				return call
			}
		case p.ID != "":
			if call.id == string(p.ID) {
				return call
			}
		case !fresh || call.name == "":
			return call
		}
	}
	return nil
}

// whole gives the calls as JSON. cut says that the answer ended for want of room: calls whose arguments broke off are then left out.
// An error means a call without a name.
func (t *tools) whole(cut bool) ([]string, error) {
	var out []string
	for i, call := range t.calls {
		call.args += call.join.flush()
		if cut && !json.Valid([]byte(call.args)) {
			continue
		}
		if call.name == "" {
			return nil, fmt.Errorf("tool call %d of %d has no name", i+1, len(t.calls))
		}
		if call.id == "" {
			call.id = fmt.Sprintf("call_%d", i)
		}
		raw, err := json.Marshal(map[string]any{
			"id": call.id, "type": "function",
			"function": map[string]string{"name": call.name, "arguments": call.args},
		})
		if err != nil {
			return nil, fmt.Errorf("tool call: %w", err)
		}
		out = append(out, string(raw))
	}
	return out, nil
}
