package fake

import (
	"net/http"
	"time"

	"holdfast/stream/upstream/demo"
)

// Form is the shape of an answer with status 200.
type Form int

// The forms. FormStream is the zero value.
const (
	FormStream    Form = iota // server-sent events
	FormWhole                 // one complete JSON answer, as from a server that ignores "stream"
	FormHTML                  // a login page
	FormJSONError             // a JSON error object
)

// End is how a stream ends.
type End int

// The ends. EndDone is the zero value. Each comes behind Script.After pieces, or behind all of them when that is 0.
const (
	EndDone   End = iota // finish reason, usage if asked for, [DONE]
	EndNoDone            // finish reason and usage, then a clean end of the body without [DONE]
	EndCut               // a clean end of the body with neither finish reason nor [DONE]
	EndReset             // the connection dropped in mid-body
	EndError             // an error object in the stream, then [DONE]
	EndStall             // silence until the client leaves
	EndHang              // everything up to [DONE], then the body stays open until the client leaves
)

// None in Script.Finish or Script.Usage leaves that part out.
const None = "none"

// ToolCall is one function call of an answer.
type ToolCall struct{ ID, Name, Arguments string }

// Script says how the provider answers. Its zero value answers every prompt well and at once.
type Script struct {
	// Text is the answer; "" means Text(prompt, Seed).
	Text string
	// Seed varies the answers; it stands for the run that the protocol does not carry.
	Seed string
	// Vary adds the number of the request to the seed, so that the same prompt gets another answer each time. Request.Text tells
	// which.
	Vary bool
	// Reasoning goes before the text; "" means what /think gives.
	Reasoning string
	// ToolCalls follow the text, each in several pieces; the finish reason is then "tool_calls".
	ToolCalls []ToolCall
	// Finish is the finish reason; "" means "stop" or "tool_calls"; None leaves it out.
	Finish string
	// Usage is a JSON object; "" means a count, sent if the request asked for it; None leaves it out.
	Usage string
	// Model is the model named in the answer; "" means the one asked for.
	Model string
	// Plain takes slash commands in a prompt for ordinary words.
	Plain bool

	// Rate is pieces per second; 0 means no waiting. A /slow prompt sets it to 3.
	Rate float64
	// HeaderDelay goes before the response headers, FirstDelay between them and the first event. Both end early when the client
	// leaves.
	HeaderDelay, FirstDelay time.Duration
	// Raw replaces the body of a stream: each string is written and flushed as it is, then End happens (EndDone: a clean end of
	// the body, nothing added).
	Raw []string
	// Comments puts a comment line before every event; CRLF ends lines the Windows way; BOM starts the body with a byte order
	// mark; NoSpace leaves out the space behind "data:".
	Comments, CRLF, BOM, NoSpace bool
	// Chop, if above 0, writes that many bytes at a time, flushed each, so that characters are split.
	Chop int
	// LongLine, if above 0, makes one more piece of so many letters, before the others.
	LongLine int
	// Form is the shape of an answer with status 200.
	Form Form
	// End is how a stream ends, and After is the number of pieces before a bad end; 0 means all of them.
	End   End
	After int
	// ErrorBody is the JSON of the error in the stream or of FormJSONError; "" means one that says server_error.
	ErrorBody string

	// Status, if not 0, refuses the request with that status, Body and Header (such as Retry-After).
	Status int
	Body   string
	Header http.Header
	// Key, if not "", is the bearer key that requests must carry; any other is refused as providers do it.
	Key string
}

// Text is the answer to a prompt under a seed: the text of demo.Script.
func Text(prompt, seed string) string { return demo.Script(prompt, seed) }

// defaultError is what a failing provider says. It names things that must not reach a person's page.
const defaultError = `{"error":{"message":"worker-7.internal.example crashed","type":"server_error","code":null}}`

// directed gives the script with what the prompt's slash command asks for.
func (s Script) directed(prompt string) Script {
	if s.Plain {
		return s
	}
	order := demo.Parse(prompt)
	switch order.Pace {
	case demo.PaceSlow:
		s.Rate = 3
	case demo.PaceFast:
		s.Rate = 0
	}
	switch order.Name {
	case "/error":
		s.Status, s.Body = http.StatusInternalServerError, defaultError
		s.Header = http.Header{"X-Should-Retry": {"false"}}
	case "/overload":
		s.Status, s.Body = 529, `{"error":{"message":"Overloaded","type":"overloaded_error"}}`
		s.Header = http.Header{"Retry-After": {"5"}}
	case "/error-mid":
		s.End = EndError
	case "/stall":
		s.End = EndStall
	case "/tool":
		s.ToolCalls = []ToolCall{{ID: "call_fake", Name: "look_up", Arguments: `{"query":"fake"}`}}
	}
	return s
}
