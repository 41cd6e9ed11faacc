package regen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Content is what a row says: a text, or a list of typed parts. Its zero value is the empty text.
type Content struct {
	text string
	// raw is the compact JSON array of parts; nil for a text.
	raw []byte
}

// part is what we read of a part; the rest of it is kept as it came.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Text makes a content of one text.
func Text(s string) Content { return Content{text: s} }

// ParseContent reads a JSON string or an array of part objects. Anything else, a NUL and a lone surrogate are a
// *ContentError. Parts are kept as they came, white space between tokens aside.
func ParseContent(raw []byte) (Content, error) {
	if err := CheckJSON(raw); err != nil {
		return Content{}, err
	}
	return decodeContent(raw)
}

// decodeContent reads content that was checked when it came in.
func decodeContent(raw []byte) (Content, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return Content{}, &ContentError{Reason: "missing"}
	}
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return Content{}, &ContentError{Reason: "malformed string"}
		}
		return Content{text: s}, nil
	case '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return Content{}, &ContentError{Reason: "malformed parts"}
		}
		for _, p := range parts {
			var head part
			if p[0] != '{' || json.Unmarshal(p, &head) != nil {
				return Content{}, &ContentError{Reason: "a part must be an object with a string type and, if any, a string text"}
			}
		}
		var buf bytes.Buffer
		if err := json.Compact(&buf, raw); err != nil {
			return Content{}, &ContentError{Reason: "malformed parts"}
		}
		return Content{raw: buf.Bytes()}, nil
	}
	return Content{}, &ContentError{Reason: "must be a string or an array of parts"}
}

// IsParts says whether the content is a list of parts.
func (c Content) IsParts() bool { return c.raw != nil }

// Parts gives the parts as they came; nil for a text.
func (c Content) Parts() []json.RawMessage {
	if c.raw == nil {
		return nil
	}
	var parts []json.RawMessage
	_ = json.Unmarshal(c.raw, &parts) // it was read before
	return parts
}

// Text is the prompt text: a text as it is, or the text parts joined by one space; other parts are ignored.
func (c Content) Text() string {
	if c.raw == nil {
		return c.text
	}
	return joinTexts(c.heads())
}

// Visible says whether a person sees text in it as an answer: after a leading thinking wrapper, and for parts after the
// last tool invocation, there is text.
func (c Content) Visible() bool {
	visible, _ := c.visible()
	return visible
}

// visible is Visible, and whether a tool invocation stands among the parts.
func (c Content) visible() (visible, invoked bool) {
	if c.raw == nil {
		return stripLeadingThinking(c.text) != "", false
	}
	heads := c.heads()
	for i := len(heads) - 1; i >= 0; i-- {
		if isInvocation(heads[i].Type) {
			heads, invoked = heads[i+1:], true
			break
		}
	}
	return stripLeadingThinking(joinTexts(heads)) != "", invoked
}

// Empty says whether there is nothing to send: no text but white space and no part of another kind.
func (c Content) Empty() bool {
	for _, h := range c.heads() {
		if !isText(h.Type) {
			return false
		}
	}
	return strings.TrimSpace(c.Text()) == ""
}

func (c Content) heads() []part {
	if c.raw == nil {
		return nil
	}
	var heads []part
	_ = json.Unmarshal(c.raw, &heads) // it was read before
	return heads
}

func (c Content) size() int { return len(c.text) + len(c.raw) }

func (c Content) check() error {
	if c.raw != nil {
		return CheckJSON(c.raw)
	}
	return checkText(c.text)
}

func (c Content) append(b []byte) []byte {
	if c.raw != nil {
		return append(b, c.raw...)
	}
	return appendString(b, c.text)
}

// MarshalJSON gives the string or the array. Pass the result through an encoder that does not escape HTML to keep the parts
// byte for byte.
func (c Content) MarshalJSON() ([]byte, error) { return c.append(nil), nil }

// UnmarshalJSON is ParseContent.
func (c *Content) UnmarshalJSON(raw []byte) error {
	parsed, err := ParseContent(raw)
	if err != nil {
		return fmt.Errorf("content: %w", err)
	}
	*c = parsed
	return nil
}

func joinTexts(heads []part) string {
	var texts []string
	for _, h := range heads {
		if isText(h.Type) && h.Text != "" {
			texts = append(texts, h.Text)
		}
	}
	return strings.Join(texts, " ")
}

func isText(kind string) bool { return kind == "text" || kind == "input_text" || kind == "output_text" }

// isInvocation knows the names that providers and client libraries use for a tool call among the parts.
func isInvocation(kind string) bool {
	switch kind {
	case "tool_use", "tool_call", "tool-call", "tool-invocation", "function_call", "server_tool_use":
		return true
	}
	return false
}
