package history

import (
	"bytes"
	"encoding/json"
	"fmt"

	"holdfast/gateway/wire"
	"holdfast/stream"
)

// event is one thing that a reader was shown, or one entry of a log.
type event struct {
	Kind      string // a wire event, or restated for a log
	Run, Turn string
	From, Seq uint64
	At        stream.Cursor // zero where the frame names none
	Delta     string        // the kind of a delta
	Text      string
	Keep      string
	Rows      []row
	Outcome   string
	Cause     string
	Revision  string
	Change    string
	Title     string
	View      *wire.View
}

const restated = "restated"

// answerKind is what an answer means for the session it names.
type answerKind int

const (
	answerOther answerKind = iota
	answerView
	answerReceipt
	answerDetached
)

// frame is a parsed frame: an event of a session, or an answer.
type frame struct {
	session string
	event   *event // nil for an answer, and for an event that is no session's
	answer  answerKind
	view    *wire.View
	receipt wire.Receipt
}

// parseFrame reads a frame. Frames without a session, refusals among them, give none.
func parseFrame(raw json.RawMessage) (frame, error) {
	var head struct {
		Event string `json:"event"`
		OK    *struct {
			Session string  `json:"session"`
			Turn    *string `json:"turn"`
			Cursor  *string `json:"cursor"`
		} `json:"ok"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return frame{}, err
	}
	switch {
	case head.Event == wire.EventReset:
		v := new(wire.View)
		if err := json.Unmarshal(raw, v); err != nil {
			return frame{}, err
		}
		return frame{session: v.Session, event: &event{Kind: wire.EventReset, View: v}}, nil
	case head.Event != "":
		return parseEvent(raw)
	case head.OK == nil || head.OK.Session == "":
		return frame{}, nil
	}
	var body struct {
		OK json.RawMessage `json:"ok"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return frame{}, err
	}
	f := frame{session: head.OK.Session, answer: answerDetached}
	switch {
	case head.OK.Turn != nil:
		f.answer = answerReceipt
		return f, json.Unmarshal(body.OK, &f.receipt)
	case head.OK.Cursor != nil:
		f.answer, f.view = answerView, new(wire.View)
		return f, json.Unmarshal(body.OK, f.view)
	}
	return f, nil
}

func parseEvent(raw json.RawMessage) (frame, error) {
	var w struct {
		Event, Session, Run, Turn               string
		From, Seq                               uint64
		Cursor, Kind, Text, Keep                string
		Rows                                    []row
		Outcome, Cause, Revision, Change, Title string
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return frame{}, err
	}
	if w.Session == "" {
		return frame{}, nil
	}
	ev := &event{
		Kind: w.Event, Run: w.Run, Turn: w.Turn, From: w.From, Seq: w.Seq, Delta: w.Kind, Text: w.Text, Keep: w.Keep, Rows: w.Rows,
		Outcome: w.Outcome, Cause: w.Cause, Revision: w.Revision, Change: w.Change, Title: w.Title,
	}
	if ev.From == 0 {
		ev.From = ev.Seq
	}
	if w.Cursor != "" {
		var err error
		if ev.At, err = stream.ParseCursor(w.Cursor); err != nil {
			return frame{}, fmt.Errorf("cursor %q: %w", w.Cursor, err)
		}
	}
	return frame{session: w.Session, event: ev}, nil
}

// row is a public row.
type row struct {
	ID, Turn, Role, Run string
	Error, Partial      bool
	Content             json.RawMessage
	Reasoning           string
	ToolCalls           []json.RawMessage `json:"tool_calls"`

	same string // equal for equal rows, whatever encoder wrote them
}

// UnmarshalJSON reads a public row.
func (r *row) UnmarshalJSON(raw []byte) error {
	type plain row
	if err := json.Unmarshal(raw, (*plain)(r)); err != nil {
		return err
	}
	r.same = canonical(raw)
	return nil
}

// MarshalJSON gives the canonical form.
func (r row) MarshalJSON() ([]byte, error) { return []byte(r.same), nil }

// canonical gives JSON with sorted keys and one way of escaping.
func canonical(raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// parseRows reads public rows.
func parseRows(raws []json.RawMessage) ([]row, error) {
	out := make([]row, len(raws))
	for i, raw := range raws {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return out, nil
}
