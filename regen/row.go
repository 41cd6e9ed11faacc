package regen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Role is who speaks in a row.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleSystem    Role = "system"
)

// Row is one message in its stored form. Times are seconds since 1970; zero fields are absent.
type Row struct {
	ID      string
	Turn    string
	Role    Role
	Content Content
	// At is when the row came to be; a regenerate moves the user row's. SentAt is then when it was first sent, and
	// RegeneratedAt equals At.
	At, SentAt, RegeneratedAt float64
	// Run is the last run that the row belongs to.
	Run         string
	Model       string
	Reasoning   string
	Attachments []json.RawMessage
	ToolCalls   []json.RawMessage
	ToolCallID  string
	ToolName    string
	// Error marks a row that people see and the model never gets. Partial marks a real but unfinished answer.
	Error, Partial bool
	// Interrupted is "owner_lost" or "restart" on the error row of an interrupted run.
	Interrupted string
	// Usage is the provider's own count for an answer; private.
	Usage json.RawMessage
	// Token is the proof of the turn that the row was written or re-stamped for. Source says where it came from, ForkChild
	// which fork it was made in. Variants are the ids of the answers that regenerates replaced, oldest first. All private.
	Token, Source, ForkChild string
	Variants                 []string
	// Extra are the keys that this version does not know; they survive a round trip and are never shown.
	Extra map[string]json.RawMessage
}

// encode gives the stored form. Its bytes depend on the row alone.
func (r *Row) encode() []byte {
	w := fieldWriter{b: make([]byte, 0, 256+r.Content.size()+len(r.Reasoning))}
	w.str("id", r.ID)
	w.str("turn", r.Turn)
	w.str("role", string(r.Role))
	w.key("content")
	w.b = r.Content.append(w.b)
	w.num("at", r.At)
	w.num("sent_at", r.SentAt)
	w.str("run", r.Run)
	w.str("model", r.Model)
	w.str("reasoning", r.Reasoning)
	w.raws("attachments", r.Attachments)
	w.raws("tool_calls", r.ToolCalls)
	w.str("tool_call_id", r.ToolCallID)
	w.str("tool_name", r.ToolName)
	w.flag("error", r.Error)
	w.flag("partial", r.Partial)
	w.str("interrupted", r.Interrupted)
	w.num("regenerated_at", r.RegeneratedAt)
	w.raw("usage", r.Usage)
	w.str("_token", r.Token)
	w.str("_source", r.Source)
	w.str("_fork_child", r.ForkChild)
	w.strs("_variants", r.Variants)
	for _, k := range slices.Sorted(maps.Keys(r.Extra)) {
		w.raw(k, r.Extra[k])
	}
	return w.end()
}

// MarshalJSON gives the stored form.
func (r Row) MarshalJSON() ([]byte, error) { return r.encode(), nil }

// Public gives the row as clients see it: the listed fields and nothing else, whatever the row holds. active marks the
// user row of the active run; Document.Public finds that out.
func (r Row) Public(active bool) json.RawMessage {
	var w fieldWriter
	w.key("id")
	w.b = appendString(w.b, r.ID)
	w.key("turn")
	w.b = appendString(w.b, r.Turn)
	w.key("role")
	w.b = appendString(w.b, string(r.Role))
	w.key("content")
	w.b = r.Content.append(w.b)
	w.key("at")
	w.b = appendNumber(w.b, r.At)
	w.str("run", r.Run)
	w.str("model", r.Model)
	w.str("reasoning", r.Reasoning)
	w.raws("attachments", r.Attachments)
	w.raws("tool_calls", r.ToolCalls)
	w.str("tool_call_id", r.ToolCallID)
	w.flag("error", r.Error)
	w.flag("partial", r.Partial)
	w.str("interrupted", r.Interrupted)
	w.num("regenerated_at", r.RegeneratedAt)
	if r.Role == RoleUser {
		w.strs("variants", r.Variants)
	}
	w.flag("active", active)
	return w.end()
}

// UnmarshalJSON reads the stored form. Unknown keys go to Extra; an absent or null content is the empty text.
func (r *Row) UnmarshalJSON(raw []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("row: %w", err)
	}
	if m == nil {
		return fmt.Errorf("row: %w", ErrElement)
	}
	*r = Row{}
	for k, v := range m {
		if err := r.set(k, v); err != nil {
			return fmt.Errorf("row field %.40q: %w", k, err)
		}
	}
	return nil
}

func (r *Row) set(k string, v json.RawMessage) (err error) {
	switch k {
	case "id":
		return json.Unmarshal(v, &r.ID)
	case "turn":
		return json.Unmarshal(v, &r.Turn)
	case "role":
		return json.Unmarshal(v, &r.Role)
	case "content":
		if !isNull(v) {
			r.Content, err = decodeContent(v)
		}
		return err
	case "at":
		return json.Unmarshal(v, &r.At)
	case "sent_at":
		return json.Unmarshal(v, &r.SentAt)
	case "run":
		return json.Unmarshal(v, &r.Run)
	case "model":
		return json.Unmarshal(v, &r.Model)
	case "reasoning":
		return json.Unmarshal(v, &r.Reasoning)
	case "attachments":
		return setRaws(&r.Attachments, v)
	case "tool_calls":
		return setRaws(&r.ToolCalls, v)
	case "tool_call_id":
		return json.Unmarshal(v, &r.ToolCallID)
	case "tool_name":
		return json.Unmarshal(v, &r.ToolName)
	default:
		return r.setRest(k, v)
	}
}

func (r *Row) setRest(k string, v json.RawMessage) error {
	switch k {
	case "error":
		return json.Unmarshal(v, &r.Error)
	case "partial":
		return json.Unmarshal(v, &r.Partial)
	case "interrupted":
		return json.Unmarshal(v, &r.Interrupted)
	case "regenerated_at":
		return json.Unmarshal(v, &r.RegeneratedAt)
	case "usage":
		if !isNull(v) {
			r.Usage = compactRaw(v)
		}
	case "_token":
		return json.Unmarshal(v, &r.Token)
	case "_source":
		return json.Unmarshal(v, &r.Source)
	case "_fork_child":
		return json.Unmarshal(v, &r.ForkChild)
	case "_variants":
		return json.Unmarshal(v, &r.Variants)
	default:
		if r.Extra == nil {
			r.Extra = map[string]json.RawMessage{}
		}
		r.Extra[k] = compactRaw(v)
	}
	return nil
}

func isNull(v json.RawMessage) bool { return bytes.Equal(v, []byte("null")) }

func setRaws(to *[]json.RawMessage, v json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	*to = compactRaws(list)
	return nil
}

// compactRaw copies v without the white space between its tokens, so that storing it again gives the same bytes.
func compactRaw(v json.RawMessage) json.RawMessage {
	var buf bytes.Buffer
	if err := json.Compact(&buf, v); err != nil {
		return append(json.RawMessage(nil), v...)
	}
	return buf.Bytes()
}

func compactRaws(vs []json.RawMessage) []json.RawMessage {
	if len(vs) == 0 {
		return nil
	}
	out := make([]json.RawMessage, len(vs))
	for i, v := range vs {
		out[i] = compactRaw(v)
	}
	return out
}
