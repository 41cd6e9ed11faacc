package regen

import (
	"bytes"
	"encoding/json"
)

// none is an index that points nowhere.
const none = -1

// alignment says for each display row where it was found in context.
type alignment struct {
	// hit is the context index, maybe the first of several equal candidates; both are none if there is nothing.
	hit, maybe []int
}

// alignContext says how much of context to keep with the first k display rows, where rows may lack shared ids, and which of
// the kept rows is the nearest user row (none if there is none). Doubt shortens the context, it never lengthens it.
func alignContext(display, context []*Row, k int) (cut, user int) {
	if k <= 0 || len(display) == 0 || len(context) == 0 {
		return 0, none
	}
	if len(display) == len(context) {
		return k, nearestUser(context[:k])
	}
	a := match(display, context)
	if cut = a.cut(display, len(context), k); cut > 0 {
		return cut, nearestUser(context[:cut])
	}
	// Nothing speaks about the kept rows: a summary, say. Keep it, but nothing that belongs to a row that goes.
	cut = min(k, len(context))
	for i := k; i < len(display); i++ {
		for _, at := range []int{a.hit[i], a.maybe[i]} {
			if at != none {
				cut = min(cut, at)
			}
		}
	}
	return cut, none
}

func (a alignment) cut(display []*Row, contextLen, k int) int {
	lastHit := a.hit[k-1]
	lastIsUser := display[k-1].Role == RoleUser
	goneHit, goneMaybe := none, none
	if k < len(display) {
		goneHit, goneMaybe = a.hit[k], a.maybe[k]
	}
	switch {
	case goneHit != none && lastIsUser && lastHit != none:
		return lastHit + 1
	case goneHit != none:
		return goneHit
	case lastHit != none && goneMaybe != none && !lastIsUser:
		return goneMaybe
	case lastHit != none:
		return lastHit + 1
	case contextLen < len(display):
		for i := k - 1; i >= 0; i-- {
			if at := max(a.hit[i], a.maybe[i]); at != none {
				return at + 1
			}
		}
		return 0
	}
	return contextLen - len(display) + k // what context has more stands in front
}

// match finds display rows in context, in order.
func match(display, context []*Row) alignment {
	a := alignment{hit: make([]int, len(display)), maybe: make([]int, len(display))}
	from := 0
	for i, r := range display {
		a.hit[i], a.maybe[i] = find(r, context, from)
		if a.hit[i] != none {
			from = a.hit[i] + 1
		}
	}
	return a
}

// find looks for one row. One weak candidate counts unless a second one comes before an exact hit.
func find(r *Row, context []*Row, from int) (hit, maybe int) {
	weak := none
	for j := from; j < len(context); j++ {
		c := context[j]
		switch {
		case r.ID != "" && c.ID != "":
			if r.ID == c.ID {
				return j, none
			}
		case !sameSignature(r, c):
		case r.At != 0 && c.At != 0:
			if r.At == c.At {
				return j, none
			}
		case weak != none:
			return none, weak
		default:
			weak = j
		}
	}
	return weak, none
}

func sameSignature(a, b *Row) bool {
	return a.Role == b.Role && a.Content.Text() == b.Content.Text() && a.ToolCallID == b.ToolCallID &&
		a.ToolName == b.ToolName && bytes.Equal(canonical(a.ToolCalls), canonical(b.ToolCalls))
}

// canonical gives tool calls with sorted keys, so that two stores' order of keys does not matter.
func canonical(calls []json.RawMessage) []byte {
	if len(calls) == 0 {
		return nil
	}
	var v any
	var w fieldWriter
	w.raws("c", calls)
	if err := json.Unmarshal(w.end(), &v); err != nil {
		return w.b
	}
	out, err := json.Marshal(v)
	if err != nil {
		return w.b
	}
	return out
}

func nearestUser(rows []*Row) int {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Role == RoleUser {
			return i
		}
	}
	return none
}
