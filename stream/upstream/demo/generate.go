package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"holdfast/regen"
	"holdfast/stream/turn"
)

const (
	defaultRate = 30.0
	slowRate    = 3.0
)

// Config says how the demo model behaves; the zero value is the model a newcomer meets.
type Config struct {
	// Rate is pieces per second; 0 means 30, less than 0 means no waiting at all.
	Rate float64
	// Model is the name that answers carry; "" means "demo".
	Model string
}

// Source is the demo model. It is safe for any number of runs at once and holds nothing between them.
type Source struct{ cfg Config }

// New gives a demo model.
func New(cfg Config) *Source {
	if cfg.Rate == 0 {
		cfg.Rate = defaultRate
	}
	if cfg.Model == "" {
		cfg.Model = "demo"
	}
	return &Source{cfg: cfg}
}

// Generate answers the last user row of the prompt; see turn.Source. When ctx ends it yields the context's cause. The failures that
// commands ask for are of type *turn.SourceError.
func (s *Source) Generate(ctx context.Context, p turn.Prompt) iter.Seq2[turn.Delta, error] {
	return func(yield func(turn.Delta, error) bool) {
		prompt := lastPrompt(p.Rows)
		r := &run{
			ctx: ctx, yield: yield, prompt: prompt, id: p.Run, model: s.cfg.Model,
			order: Parse(prompt), dice: newDice("pace", p.Run, prompt),
		}
		if p.Model != "" {
			r.model = p.Model
		}
		r.rate = s.rate(r.order.Pace)
		r.answer(p)
	}
}

// rate gives pieces per second for a pace; not more than 0 means no waiting.
func (s *Source) rate(pace Pace) float64 {
	switch pace {
	case PaceSlow:
		return slowRate
	case PaceFast:
		return -1
	default:
		return s.cfg.Rate
	}
}

// lastPrompt is the text of the newest user row; "" without one.
func lastPrompt(rows []regen.Row) string {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Role == regen.RoleUser {
			return rows[i].Content.Text()
		}
	}
	return ""
}

// run is one answer under way.
type run struct {
	ctx    context.Context
	yield  func(turn.Delta, error) bool
	prompt string
	id     string
	model  string
	order  Order
	rate   float64
	dice   *rand.Rand
	sent   int // pieces
}

// answer sends thoughts, text and the end. Each step says whether to go on; a step that ended the run has said so to the reader.
func (r *run) answer(p turn.Prompt) {
	if !r.pause(1) {
		return
	}
	if err := r.early(); err != nil {
		r.yield(turn.Delta{}, err)
		return
	}
	if !r.send(turn.Reasoning, Thoughts(r.prompt, r.id)) || !r.send(turn.Text, Script(r.prompt, r.id)) {
		return
	}
	finish := "stop"
	switch r.order.Name {
	case "/error-mid":
		r.yield(turn.Delta{}, &turn.SourceError{Code: "upstream_error", Message: "The demo model failed in the middle, as you asked."})
		return
	case "/stall":
		<-r.ctx.Done()
		r.stopped()
		return
	case "/tool":
		if !r.yield(turn.Delta{Kind: turn.Tool, Text: toolCall(r.order.Arg, r.id), Model: r.model}, nil) {
			return
		}
		finish = "tool_calls"
	}
	r.yield(turn.Delta{Finish: finish, Usage: usage(p, r.sent), Model: r.model}, nil)
}

// early is the failure that a command asks for before the first piece, or nil.
func (r *run) early() error {
	switch r.order.Name {
	case "/error":
		return &turn.SourceError{Code: "upstream_error", Message: "The demo model failed before it began, as you asked."}
	case "/overload":
		return &turn.SourceError{
			Code: "upstream_overloaded", Message: "The demo model plays overloaded, as you asked. Try again in a moment.",
			Status: 529, RetryAfter: 5 * time.Second,
		}
	default:
		return nil
	}
}

// send yields a text in pieces, at the run's pace.
func (r *run) send(kind turn.DeltaKind, text string) bool {
	for _, piece := range Cut(text, r.id) {
		if !r.yield(turn.Delta{Kind: kind, Text: piece, Model: r.model}, nil) {
			return false
		}
		r.sent++
		weight := 0.5 + r.dice.Float64()
		if strings.HasSuffix(piece, ".") {
			weight *= 2 // a breath at the end of a sentence
		}
		if !r.pause(weight) {
			return false
		}
	}
	return true
}

// pause waits for weight times the time of a piece. It yields the context's cause and gives false if that ended.
func (r *run) pause(weight float64) bool {
	if r.ctx.Err() != nil {
		return r.stopped()
	}
	if r.rate <= 0 {
		return true
	}
	timer := time.NewTimer(time.Duration(weight / r.rate * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.ctx.Done():
		return r.stopped()
	}
}

// stopped tells the reader why there is no more.
func (r *run) stopped() bool {
	r.yield(turn.Delta{}, context.Cause(r.ctx))
	return false
}

// toolCall is a call in the form in which chat-completions providers give it.
func toolCall(query, run string) string {
	args, _ := json.Marshal(map[string]string{"query": query}) // strings always encode
	call, _ := json.Marshal(map[string]any{
		"id": "call_" + take(run), "type": "function",
		"function": map[string]string{"name": "look_up", "arguments": string(args)},
	})
	return string(call)
}

// usage counts as a provider would: words in, pieces out.
func usage(p turn.Prompt, sent int) json.RawMessage {
	in := len(strings.Fields(p.System))
	for _, row := range p.Rows {
		in += len(strings.Fields(row.Content.Text()))
	}
	return json.RawMessage(fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, in, sent, in+sent))
}
