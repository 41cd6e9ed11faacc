package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"holdfast/regen"
	"holdfast/stream/turn"
)

// message is one message as providers take it.
type message struct {
	Role       regen.Role        `json:"role"`
	Content    json.RawMessage   `json:"content,omitempty"`
	ToolCalls  []json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
}

// body builds the request for a prompt.
func (s *Source) body(p turn.Prompt, streamOptions bool) ([]byte, error) {
	messages, err := s.messages(p)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{"messages": messages, "stream": true}
	if streamOptions {
		fields["stream_options"] = map[string]bool{"include_usage": true}
	}
	if model := s.model(p); model != "" {
		fields["model"] = model
	}
	for name, v := range maps.All(s.cfg.Extra) {
		fields[name] = v
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	return raw, nil
}

// model is what a prompt asks for.
func (s *Source) model(p turn.Prompt) string {
	if p.Model != "" {
		return p.Model
	}
	return s.cfg.Model
}

// messages maps the system text and the rows. Rows that a provider would refuse are left out: error rows, empty answers, calls of
// tools that nobody answered and results that nobody asked for.
func (s *Source) messages(p turn.Prompt) ([]message, error) {
	var out []message
	if p.System != "" {
		content, err := json.Marshal(p.System)
		if err != nil {
			return nil, fmt.Errorf("system text: %w", err)
		}
		out = append(out, message{Role: regen.Role(s.cfg.SystemRole), Content: content})
	}
	open := map[string]bool{} // ids of calls whose results may follow
	for i, row := range p.Rows {
		if row.Error {
			continue
		}
		m := message{Role: row.Role}
		content, err := contentOf(row)
		if err != nil {
			return nil, fmt.Errorf("row %d of the prompt: %w", i, err)
		}
		m.Content = content
		switch row.Role {
		case regen.RoleTool:
			if !open[row.ToolCallID] {
				continue
			}
			delete(open, row.ToolCallID)
			m.ToolCallID = row.ToolCallID
		case regen.RoleAssistant:
			clear(open)
			if ids := answered(row, p.Rows[i+1:]); len(ids) > 0 {
				m.ToolCalls = row.ToolCalls
				for _, id := range ids {
					open[id] = true
				}
			}
			if empty(m.Content) {
				if m.ToolCalls == nil {
					continue
				}
				m.Content = nil
			}
		case regen.RoleSystem:
			m.Role = regen.Role(s.cfg.SystemRole)
		case regen.RoleUser:
			clear(open)
		}
		out = append(out, m)
	}
	return out, nil
}

// answered gives the ids of a row's tool calls if each of them has its result in the rows that follow at once, else nothing.
func answered(row regen.Row, next []regen.Row) []string {
	results := map[string]bool{}
	for _, r := range next {
		if r.Role != regen.RoleTool {
			break
		}
		results[r.ToolCallID] = true
	}
	var ids []string
	for _, raw := range row.ToolCalls {
		var call struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &call) != nil || !results[call.ID] {
			return nil
		}
		ids = append(ids, call.ID)
	}
	return ids
}

// contentOf is a row's content with its attached images behind it.
func contentOf(row regen.Row) (json.RawMessage, error) {
	raw, err := json.Marshal(row.Content)
	if err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	if row.Role != regen.RoleUser {
		return raw, nil
	}
	var images []json.RawMessage
	for _, a := range row.Attachments {
		if image := imageOf(a); image != nil {
			images = append(images, image)
		}
	}
	if images == nil {
		return raw, nil
	}
	var parts []json.RawMessage
	switch {
	case empty(raw):
	case raw[0] == '[':
		if err := json.Unmarshal(raw, &parts); err != nil {
			return nil, fmt.Errorf("content parts: %w", err)
		}
	default:
		parts = append(parts, json.RawMessage(`{"type":"text","text":`+string(raw)+`}`))
	}
	return json.Marshal(append(parts, images...))
}

// imageOf gives an attachment as an image part, or nil if it is none. Other fields of the attachment are not sent.
func imageOf(attachment json.RawMessage) json.RawMessage {
	var a struct {
		Type     string          `json:"type"`
		ImageURL json.RawMessage `json:"image_url"`
	}
	if json.Unmarshal(attachment, &a) != nil || a.Type != "image_url" || len(a.ImageURL) == 0 {
		return nil
	}
	switch a.ImageURL[0] {
	case '{':
		return json.RawMessage(`{"type":"image_url","image_url":` + string(a.ImageURL) + `}`)
	case '"':
		return json.RawMessage(`{"type":"image_url","image_url":{"url":` + string(a.ImageURL) + `}}`)
	default:
		return nil
	}
}

// empty says whether a content is the empty text or no parts.
func empty(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || string(trimmed) == `""` || string(trimmed) == "[]" || string(trimmed) == "null"
}
