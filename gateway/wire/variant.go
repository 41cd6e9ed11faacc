package wire

import "encoding/json"

// Variant is an answer that a regenerate or a select replaced.
type Variant struct {
	ID string `json:"id"`
	// Run is the run that gave it; "" where nobody knows.
	Run string `json:"run,omitempty"`
	// At is when it was replaced, in seconds since 1970.
	At float64 `json:"at"`
	// Rows are its public rows, without the prompt.
	Rows []json.RawMessage `json:"rows"`
}

// Variants are the replaced answers of one turn, oldest first.
type Variants struct {
	Session  string    `json:"session"`
	Turn     string    `json:"turn"`
	Variants []Variant `json:"variants"`
}

// Append appends them as one object.
func (v *Variants) Append(b []byte) []byte {
	w := object{b: append(b, '{')}
	w.str("session", v.Session)
	w.str("turn", v.Turn)
	list := make([]json.RawMessage, len(v.Variants))
	for i := range v.Variants {
		list[i] = v.Variants[i].append(nil)
	}
	w.list("variants", list)
	return w.end()
}

func (v *Variant) append(b []byte) []byte {
	w := object{b: append(b, '{')}
	w.str("id", v.ID)
	w.optional("run", v.Run)
	w.seconds("at", v.At)
	w.list("rows", v.Rows)
	return w.end()
}
