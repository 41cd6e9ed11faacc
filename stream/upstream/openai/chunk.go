package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// chunk is what we read of one event's JSON, or of a complete answer. Fields that providers disagree on are read loosely: a type we
// do not expect is nothing, not an error.
type chunk struct {
	Object  loose           `json:"object"`
	Message loose           `json:"message"`
	Error   json.RawMessage `json:"error"`
	Model   loose           `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Groq    json.RawMessage `json:"x_groq"`
}

type choice struct {
	Index   looseInt `json:"index"`
	Delta   *piece   `json:"delta"`
	Message *piece   `json:"message"`
	Finish  loose    `json:"finish_reason"`
}

// piece is a delta, or the message of a complete answer.
type piece struct {
	Content   json.RawMessage `json:"content"`
	Refusal   json.RawMessage `json:"refusal"`
	Thinking  json.RawMessage `json:"reasoning_content"`
	Reasoning json.RawMessage `json:"reasoning"`
	ToolCalls []toolPiece     `json:"tool_calls"`
	Function  *function       `json:"function_call"` // the older form of one tool call
}

type toolPiece struct {
	Index    looseInt `json:"index"`
	ID       loose    `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      loose           `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// usage gives the provider's count, wherever it stands; nil if the chunk has none.
func (c *chunk) usage() json.RawMessage {
	if isObject(c.Usage) {
		return c.Usage
	}
	var groq struct {
		Usage json.RawMessage `json:"usage"`
	}
	if isObject(c.Groq) && json.Unmarshal(c.Groq, &groq) == nil && isObject(groq.Usage) {
		return groq.Usage
	}
	return nil
}

// loose is a string, or nothing where something else stands.
type loose string

// UnmarshalJSON never fails.
func (l *loose) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*l = loose(s)
	}
	return nil
}

// looseInt is a number that may be missing or stand in quotes.
type looseInt struct {
	n   int
	set bool
}

// UnmarshalJSON never fails.
func (l *looseInt) UnmarshalJSON(raw []byte) error {
	if n, err := strconv.Atoi(strings.Trim(string(raw), `"`)); err == nil {
		l.n, l.set = n, true
	}
	return nil
}

// fault is a provider's error object.
type fault struct {
	Type, Code, Message string
	status              int // from a numeric code
}

// parseFault reads an error in any of its forms: an object, a text. It gives false for what stands for no error: absent, null,
// false, the empty text.
func parseFault(raw json.RawMessage) (fault, bool) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0, string(raw) == "null", string(raw) == "false", string(raw) == `""`:
		return fault{}, false
	case raw[0] == '"':
		var s loose
		_ = s.UnmarshalJSON(raw)
		return fault{Message: string(s)}, true
	case raw[0] != '{':
		return fault{}, true
	}
	var o struct {
		Type    loose           `json:"type"`
		Code    json.RawMessage `json:"code"`
		Message loose           `json:"message"`
	}
	_ = json.Unmarshal(raw, &o) // an object whose fields are loose
	f := fault{Type: string(o.Type), Message: string(o.Message)}
	var code loose
	_ = code.UnmarshalJSON(o.Code)
	f.Code = string(code)
	if n, err := strconv.Atoi(strings.Trim(string(o.Code), `"`)); err == nil {
		f.status = n
	}
	return f, true
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
