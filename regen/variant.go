package regen

import (
	"encoding/json"
	"fmt"
	"slices"
)

// MaxVariants is how many replaced answers a turn keeps; the oldest go first.
const MaxVariants = 10

// VariantRecord is an answer that a regenerate replaced.
type VariantRecord struct {
	ID, Turn string
	// Run is the run that gave the answer; "" where nobody knows.
	Run string
	// At is when it was replaced, in seconds since 1970.
	At float64
	// Rows are the display rows, in order.
	Rows []Row
	// Context are the context elements without their chains: "@<row id>" or a row's JSON.
	Context []string
}

// Encode gives the stored form.
func (v VariantRecord) Encode() string {
	var w fieldWriter
	w.str("id", v.ID)
	w.str("turn", v.Turn)
	w.str("run", v.Run)
	w.num("at", v.At)
	rows := make([]json.RawMessage, len(v.Rows))
	for i := range v.Rows {
		rows[i] = v.Rows[i].encode()
	}
	w.raws("rows", rows)
	w.strs("context", v.Context)
	return string(w.end())
}

// DecodeVariant reads what Encode wrote; else it gives ErrElement.
func DecodeVariant(s string) (VariantRecord, error) {
	var v struct {
		ID      string   `json:"id"`
		Turn    string   `json:"turn"`
		Run     string   `json:"run"`
		At      float64  `json:"at"`
		Rows    []Row    `json:"rows"`
		Context []string `json:"context"`
	}
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return VariantRecord{}, fmt.Errorf("decode variant: %w: %w", ErrElement, err)
	}
	return VariantRecord(v), nil
}

// keepVariant moves what the plan replaces to the turn's variants. An attempt that left nothing but its error is no answer:
// kept, ten clicks during an outage would push out the last good one.
// ids are the turn's variants without it.
func (p Plan) keepVariant(c *change, user *Row, m Mint, ids []string) {
	rec := VariantRecord{ID: m.Variant, Turn: user.Turn, At: m.At}
	answer := false
	for _, l := range p.doc.Rows[p.exchange.user+1:] {
		rec.Rows = append(rec.Rows, *l.Row)
		if rec.Run == "" {
			rec.Run = l.Row.Run
		}
		answer = answer || !l.Row.Error
	}
	if !answer {
		user.Variants = ids
		return
	}
	for _, l := range p.doc.Context[p.context.keep:] {
		if l.Row == nil {
			rec.Context = append(rec.Context, "@"+l.Ref)
		} else {
			rec.Context = append(rec.Context, string(l.Row.encode()))
		}
	}
	ids = append(slices.Clone(ids), rec.ID)
	if n := len(ids) - MaxVariants; n > 0 {
		c.edit.VariantUnset = append(c.edit.VariantUnset, ids[:n]...)
		ids = ids[n:]
	}
	user.Variants = ids
	c.edit.VariantSet = map[string]string{rec.ID: rec.Encode()}
}
