package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"holdfast/stream/upstream/demo"
)

// answer is one answer under way.
type answer struct {
	w      http.ResponseWriter
	r      *http.Request
	script Script
	req    *Request
	seed   string
	sent   int // pieces
}

// delta is what a chunk adds.
type delta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolPart `json:"tool_calls,omitempty"`
}

type toolPart struct {
	Index    int          `json:"index"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// stream sends the answer as events and ends it as the script says.
func (a *answer) stream(errBody string) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-cache")
	a.w.WriteHeader(http.StatusOK)
	a.flush()
	if !a.wait(a.script.FirstDelay) {
		return
	}
	if a.script.BOM {
		a.write("\ufeff")
	}
	if a.script.Raw != nil {
		for _, chunk := range a.script.Raw {
			a.write(chunk)
		}
		a.stop(errBody)
		return
	}
	if !a.pieces() {
		return
	}
	if a.script.End == EndDone || a.script.End == EndNoDone || a.script.End == EndHang {
		a.finish()
	}
	a.stop(errBody)
}

// pieces sends what the answer says, up to the script's After. It gives false when the client left.
func (a *answer) pieces() bool {
	empty := ""
	a.chunk(delta{Role: "assistant", Content: &empty}, "")
	if a.script.LongLine > 0 && !a.piece(delta{Content: new(strings.Repeat("x", a.script.LongLine))}) {
		return false
	}
	reasoning := a.script.Reasoning
	if reasoning == "" && !a.script.Plain {
		reasoning = demo.Thoughts(a.req.Prompt, a.seed)
	}
	for _, p := range demo.Cut(reasoning, a.seed) {
		if a.enough() {
			return true
		}
		if !a.piece(delta{Reasoning: p}) {
			return false
		}
	}
	for _, p := range demo.Cut(a.req.Text, a.seed) {
		if a.enough() {
			return true
		}
		if !a.piece(delta{Content: &p}) {
			return false
		}
	}
	for i, c := range a.script.ToolCalls {
		half := len(c.Arguments) / 2
		a.chunk(delta{ToolCalls: []toolPart{{Index: i, ID: c.ID, Type: "function", Function: toolFunction{Name: c.Name}}}}, "")
		a.chunk(delta{ToolCalls: []toolPart{{Index: i, Function: toolFunction{Arguments: c.Arguments[:half]}}}}, "")
		a.chunk(delta{ToolCalls: []toolPart{{Index: i, Function: toolFunction{Arguments: c.Arguments[half:]}}}}, "")
	}
	return true
}

// enough says whether a bad end is due.
func (a *answer) enough() bool {
	return a.script.End != EndDone && a.script.After > 0 && a.sent >= a.script.After
}

// piece sends one piece and waits for its time.
func (a *answer) piece(d delta) bool {
	a.chunk(d, "")
	a.sent++
	if a.script.Rate <= 0 {
		return a.r.Context().Err() == nil
	}
	return a.wait(time.Duration(float64(time.Second) / a.script.Rate))
}

// finish sends the finish reason and, as asked, the usage.
func (a *answer) finish() {
	if reason := a.reason(); reason != None {
		a.chunk(delta{}, reason)
	}
	if usage := a.usage(); usage != None {
		a.event(fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","model":%s,"choices":[],"usage":%s}`,
			a.id(), quoted(a.model()), usage))
	}
}

func (a *answer) reason() string {
	switch {
	case a.script.Finish != "":
		return a.script.Finish
	case len(a.script.ToolCalls) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

// usage is the script's, or a count where the request asked for one; None where it is left out.
func (a *answer) usage() string {
	switch {
	case a.script.Usage != "":
		return a.script.Usage
	case a.req.Stream && !a.req.IncludeUsage:
		return None
	default:
		in := len(strings.Fields(a.req.Prompt))
		return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, in, a.sent, in+a.sent)
	}
}

// stop ends the body.
func (a *answer) stop(errBody string) {
	switch a.script.End {
	case EndDone:
		if a.script.Raw == nil {
			a.event("[DONE]")
		}
	case EndError:
		a.event(errBody)
		a.event("[DONE]")
	case EndReset:
		panic(http.ErrAbortHandler) // net/http then drops the connection without the end of the body
	case EndStall:
		<-a.r.Context().Done()
	case EndHang:
		if a.script.Raw == nil {
			a.event("[DONE]")
		}
		<-a.r.Context().Done()
	case EndNoDone, EndCut:
	}
}

// chunk sends one chunk; finish "" is null.
func (a *answer) chunk(d delta, finish string) {
	reason := "null"
	if finish != "" {
		reason = quoted(finish)
	}
	a.event(fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","model":%s,"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`,
		a.id(), quoted(a.model()), encode(d), reason))
}

// event sends one event with the script's framing.
func (a *answer) event(data string) {
	text := "data: "
	if a.script.NoSpace {
		text = "data:"
	}
	text += data + "\n\n"
	if a.script.Comments {
		text = ": working\n\n" + text
	}
	if a.script.CRLF {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	a.write(text)
}

// write sends bytes, chopped if the script says so, and flushes. A client that has left is noticed by the waits.
func (a *answer) write(text string) {
	step := a.script.Chop
	if step <= 0 {
		step = max(len(text), 1)
	}
	for len(text) > 0 {
		n := min(step, len(text))
		_, _ = io.WriteString(a.w, text[:n])
		a.flush()
		text = text[n:]
	}
}

func (a *answer) flush() { _ = http.NewResponseController(a.w).Flush() }

// wait gives false when the client left first.
func (a *answer) wait(d time.Duration) bool {
	if d <= 0 {
		return a.r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.r.Context().Done():
		return false
	}
}

// whole is the complete JSON answer.
func (a *answer) whole() string {
	a.sent = len(demo.Cut(a.req.Text, a.seed))
	message := map[string]any{"role": "assistant", "content": a.req.Text}
	if a.script.Reasoning != "" {
		message["reasoning_content"] = a.script.Reasoning
	}
	var calls []toolPart
	for i, c := range a.script.ToolCalls {
		calls = append(calls, toolPart{Index: i, ID: c.ID, Type: "function", Function: toolFunction{Name: c.Name, Arguments: c.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	body := map[string]any{
		"id": a.id(), "object": "chat.completion", "model": a.model(),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": a.reason()}},
	}
	if usage := a.usage(); usage != None {
		body["usage"] = json.RawMessage(usage)
	}
	return encode(body)
}

func (a *answer) id() string { return fmt.Sprintf("chatcmpl-fake-%d", a.req.N) }

func (a *answer) model() string {
	switch {
	case a.script.Model != "":
		return a.script.Model
	case a.req.Model != "":
		return a.req.Model
	default:
		return "fake"
	}
}

func quoted(s string) string { return encode(s) }

// encode writes JSON with characters as they are, so that Chop splits them.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null" // a script's own JSON was broken; the client sees that
	}
	return strings.TrimSuffix(b.String(), "\n")
}
