package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sse "github.com/tmaxmax/go-sse"

	"holdfast/stream/turn"
)

// maxName is the longest model name that is taken from a provider, in bytes.
const maxName = 200

const unreadable = "The model provider sent something that cannot be read."

// reply is the answer of one attempt.
type reply struct {
	c     *call
	ctx   context.Context
	watch *watch
	body  io.Reader
	// cancel ends the attempt.
	cancel context.CancelCauseFunc

	text, thoughts joiner
	think          splitter
	tools          tools
	finish         string
	usage          json.RawMessage
}

// read takes the body of a response with status 200. What it is decides by its first byte: content types lie.
func (r *reply) read(resp *http.Response) *failure {
	in := bufio.NewReader(&living{body: r.body, idle: &r.watch.idle})
	first, err := sniff(in)
	if err != nil {
		return r.broken(err)
	}
	switch first {
	case '{', '[':
		return r.whole(in)
	case '<':
		return &failure{err: &turn.SourceError{
			Code: codeProtocol, Message: "The configured address answers with a web page, not a model. Check --upstream-url, and whether a login stands before it.",
			Status: resp.StatusCode, Err: fmt.Errorf("content type %s from host %s", mediaType(resp.Header), resp.Request.URL.Host),
		}}
	default:
		return r.events(in)
	}
}

// sniff skips a byte order mark and white space and gives the first byte behind them, unread.
func sniff(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.Peek(1)
		if err != nil {
			return 0, err
		}
		skip := 1
		switch b[0] {
		case ' ', '\t', '\r', '\n':
		case 0xef:
			if mark, err := in.Peek(3); err != nil || string(mark) != "\ufeff" {
				return b[0], nil
			}
			skip = 3
		default:
			return b[0], nil
		}
		_, _ = in.Discard(skip) // peeked, so it is there
	}
}

// events reads a stream of events.
func (r *reply) events(in io.Reader) *failure {
	limit := r.c.s.cfg.MaxEvent
	body := newLines(in, limit)
	for ev, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: limit}) {
		if err != nil {
			return r.broken(err)
		}
		end, fail := r.event(ev)
		if fail != nil || r.c.left {
			return fail
		}
		if end {
			fail = r.complete()
			r.drain()
			return fail
		}
	}
	if body.unterminated() {
		r.c.quirk("unterminated_event")
	}
	return r.broken(io.EOF)
}

// event takes one event and says whether it was the last.
func (r *reply) event(ev sse.Event) (end bool, _ *failure) {
	data := strings.TrimSpace(ev.Data)
	switch {
	case data == "[DONE]":
		if r.finish == "" { // the end mark alone is an end too
			r.finish = "stop"
			r.c.quirk("no_finish_reason")
		}
		return true, nil
	case data == "" && ev.Type != "error":
		return false, nil
	}
	var ch chunk
	err := json.Unmarshal([]byte(data), &ch)
	f, bad := parseFault(ch.Error)
	switch {
	case ev.Type == "error" && !bad:
		f, bad = fault{}, true
		if err == nil {
			f, _ = parseFault(json.RawMessage(data))
		}
	case err != nil && r.finish != "":
		r.c.quirk("rubbish_after_finish")
		return true, nil
	case err != nil:
		return false, protocol(unreadable, fmt.Errorf("event of %d bytes is not a chunk's JSON", len(data)))
	case !bad && ch.Object == "error":
		f, _ = parseFault(json.RawMessage(data))
		bad = true
	}
	if fail := r.chunk(&ch); fail != nil || r.c.left {
		return false, fail
	}
	failed := r.failedFinish()
	switch {
	case bad && f == (fault{}) && len(ch.Choices) > 0 && !failed: // an empty error beside text is a habit, not an error
		return false, nil
	case bad && r.finish != "" && !failed:
		r.c.quirk("error_after_finish")
		return true, nil
	case bad:
		return false, r.fault(f, data)
	case failed:
		return false, r.fault(fault{Type: r.finish}, data)
	default:
		return false, nil
	}
}

// failedFinish says whether the finish reason stands for a failure.
func (r *reply) failedFinish() bool {
	return r.finish == "error" || r.finish == "insufficient_system_resource"
}

// fault is a failure that the provider reports in an answer of status 200.
func (r *reply) fault(f fault, data string) *failure {
	r.c.s.cfg.Log.Debug("model provider reports an error in its answer", "body", r.c.s.cfg.Key.redact([]byte(data)))
	return r.c.failed(f, 0)
}

// chunk takes what a chunk adds to the answer.
func (r *reply) chunk(ch *chunk) *failure {
	if r.c.model == "" && len(ch.Model) <= maxName {
		r.c.model = string(ch.Model)
	}
	if u := ch.usage(); u != nil {
		r.usage = u // counts are running totals: the last one is right
	}
	for i := range ch.Choices {
		choice := &ch.Choices[i]
		if choice.Index.n != 0 {
			r.c.quirk("second_choice")
			continue
		}
		if choice.Delta != nil {
			if fail := r.piece(choice.Delta); fail != nil || r.c.left {
				return fail
			}
		}
		if choice.Finish != "" {
			r.finish = string(choice.Finish)
			r.watch.progress.stop()
			r.watch.firstToken.stop()
			r.watch.tail.start()
		}
	}
	return nil
}

// piece yields what a delta holds, reasoning first.
func (r *reply) piece(p *piece) *failure {
	text, inner := r.text.text(p.Content)
	thinking := p.Thinking
	if empty(thinking) {
		thinking = p.Reasoning // the other name for it; some send both
	}
	thoughts, _ := r.thoughts.text(thinking)
	refusal, _ := new(joiner).text(p.Refusal)
	text += refusal
	if r.c.s.cfg.ThinkTags {
		var tagged string
		tagged, text = r.think.split(text)
		thoughts += tagged
	}
	if !r.c.send(r.watch, turn.Reasoning, thoughts+inner) || !r.c.send(r.watch, turn.Text, text) {
		return nil
	}
	calls := p.ToolCalls
	if p.Function != nil {
		calls = append(calls, toolPiece{Index: looseInt{set: true}, Function: *p.Function})
	}
	for _, call := range calls {
		if !r.tools.add(call, r.c.s.cfg.MaxEvent) {
			return protocol("The model provider sent tool calls that are too large.", errLong)
		}
	}
	if len(calls) > 0 && r.finish == "" { // nothing is shown yet, but the model is at work
		r.watch.firstToken.stop()
		r.watch.progress.start()
	}
	return nil
}

// complete yields what is left of the answer, and its end.
func (r *reply) complete() *failure {
	r.watch.stop()
	finish := finishWord(r.finish)
	tagged, text := "", r.text.flush()
	if r.c.s.cfg.ThinkTags {
		t, a := r.think.split(text)
		t2, a2 := r.think.flush()
		tagged, text = t+t2, a+a2
	}
	if !r.c.send(r.watch, turn.Reasoning, r.thoughts.flush()+tagged) || !r.c.send(r.watch, turn.Text, text) {
		return nil
	}
	calls, err := r.tools.whole(finish == "length" || finish == "content_filter")
	if err != nil {
		return protocol("The model provider sent a tool call that cannot be used.", err)
	}
	for _, call := range calls {
		if !r.c.send(r.watch, turn.Tool, call) {
			return nil
		}
	}
	r.watch.stop()
	r.c.left = !r.c.yield(turn.Delta{Finish: finish, Usage: r.usage, Model: r.c.model}, nil)
	return nil
}

// finishWord maps the providers' words for the end to ours; one that we do not know is a plain end.
func finishWord(word string) string {
	switch word {
	case "length", "max_tokens", "model_length":
		return "length"
	case "content_filter":
		return "content_filter"
	case "tool_calls", "function_call", "tool_use":
		return "tool_calls"
	default:
		return "stop"
	}
}

// broken is what the end of the body means: the end of the answer if its reason came, else a failure.
func (r *reply) broken(err error) *failure {
	switch {
	case r.finish != "" && r.c.parent.Err() == nil:
		if !errors.Is(err, io.EOF) {
			r.c.quirk("broken_tail")
		} else {
			r.c.quirk("no_end_mark")
		}
		return r.complete()
	case errors.Is(err, errLong), errors.Is(err, bufio.ErrTooLong):
		fail := protocol("The model provider sent a line that is too long.", err)
		fail.repeat = repeatNever
		return fail
	}
	if fail := stalled(r.ctx); fail != nil {
		return fail
	}
	return r.cut(err)
}

// cut is the failure of an answer without an end. What was held back of a character is lost with the rest.
func (r *reply) cut(err error) *failure {
	return &failure{repeat: repeatOften, err: &turn.SourceError{
		Code: codeCut, Message: "The model provider broke off before the answer was complete.", Err: err,
	}}
}

// drain reads the end of a body, so that the connection can be used again. It waits only lastDrop for a server that keeps the body
// open.
func (r *reply) drain() {
	stop := time.AfterFunc(lastDrop, func() { r.cancel(nil) })
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, r.body, shownError) // an error means a connection that is not used again
}
