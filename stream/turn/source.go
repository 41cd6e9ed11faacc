package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"holdfast/regen"
)

// Prompt is what a model is asked for one run.
type Prompt struct {
	// Key names tenant and session. A source may use it for accounting only.
	Key regen.Key
	// Run is the run's id: 32 lower-case hex digits. The demo model takes its seed from it.
	Run string
	// Model is the model the person chose; "" is the source's default.
	Model string
	// System is the session's system text; "" means none.
	System string
	// Rows are the context rows, oldest first; the last one is the user's prompt.
	Rows []regen.Row
}

// DeltaKind says what a delta's text is.
type DeltaKind string

// The kinds of a delta. They are the wire's words.
const (
	Text      DeltaKind = "text"
	Reasoning DeltaKind = "reasoning"
	Tool      DeltaKind = "tool" // Text is one whole tool call as JSON
)

// Delta is one piece of an answer. A source sends any number of them; the last one carries Finish.
type Delta struct {
	// Kind says what Text is; the zero value is not valid where Text is not empty.
	Kind DeltaKind
	// Text is valid UTF-8 and never ends inside a character.
	Text string
	// Finish is why the model ended: "stop", "length", "content_filter" or "tool_calls"; "" while it goes on.
	// A source that ends without it and without an error was cut: the run is failed, its text kept.
	Finish string
	// Usage is the provider's own count, or nil.
	Usage json.RawMessage
	// Model is the model that answers, as the provider names it; "" if it did not say.
	Model string
}

// Source is a model: it turns a prompt into a stream of deltas.
//
// Generate yields until the answer has ended, ctx ended, or an error came; an error is the last thing it yields.
// It holds no connection after it returned. Errors meant for people are of type *SourceError; any other error's text stays in
// the server's log.
type Source interface {
	Generate(ctx context.Context, p Prompt) iter.Seq2[Delta, error]
}

// SourceError is a model's failure that a person may be told of.
type SourceError struct {
	// Code is one word for programs: upstream_auth, upstream_rate_limited, upstream_overloaded, upstream_invalid,
	// upstream_unavailable, upstream_cut, upstream_stalled, upstream_protocol, upstream_error.
	Code string
	// Message is safe to show: never a key, never a provider's raw body.
	Message string
	// Status is the provider's HTTP status; 0 when there was none.
	Status int
	// RetryAfter is what the provider asked for; 0 means it did not say.
	RetryAfter time.Duration
	// Err is the cause, for the log alone; may be nil.
	Err error
}

// Error gives the code and the message, not the cause.
func (e *SourceError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Unwrap gives the cause.
func (e *SourceError) Unwrap() error { return e.Err }
