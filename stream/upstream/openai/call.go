package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/stream/turn"
)

const (
	maxDelta   = 32 << 10              // bytes of one yielded delta; longer pieces are divided
	shownError = 64 << 10              // bytes read of a refusal's body
	lastDrop   = 10 * time.Millisecond // for the end of a body behind [DONE], so that the connection can be used again
)

// call is one Generate.
type call struct {
	s      *Source
	parent context.Context
	ctx    context.Context // parent with the Total clock
	prompt turn.Prompt
	yield  func(turn.Delta, error) bool
	shown  bool   // something of the answer was yielded
	left   bool   // the reader wants no more
	model  string // as the provider names it
}

// run makes attempts until one ends the call.
func (c *call) run() {
	ctx, cancel := context.WithCancelCause(c.parent)
	defer cancel(nil)
	c.ctx = ctx
	total := clock{name: "Total", limit: c.s.cfg.Clocks.Total, cancel: cancel}
	total.start()
	defer total.stop()
	for attempt := 1; ; attempt++ {
		if c.parent.Err() != nil {
			c.yield(turn.Delta{}, context.Cause(c.parent))
			return
		}
		if f := c.s.cfg.Observer.Attempt; f != nil {
			f(attempt)
		}
		fail := c.attempt()
		switch {
		case c.left || fail == nil:
			return
		case c.parent.Err() != nil:
			c.yield(turn.Delta{}, context.Cause(c.parent))
			return
		case fail.repeat == repeatNow:
			attempt-- // the request was mended; at most once in the life of a source
		case !c.again(attempt, fail):
			c.yield(turn.Delta{}, fail.err)
			return
		}
	}
}

// attempt makes one request and yields what comes of it; nil means that the answer ended well or the reader left.
func (c *call) attempt() *failure {
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	w := newWatch(c.s.cfg.Clocks, cancel)
	defer w.stop()
	options := !c.s.plain.Load()
	req, err := c.request(ctx, options)
	if err != nil {
		return &failure{err: &turn.SourceError{Code: codeInvalid, Message: "This conversation cannot be sent to the model provider.", Err: err}}
	}
	w.firstByte.start()
	w.firstToken.start()
	resp, err := c.s.client.Do(req)
	w.firstByte.stop()
	if err != nil {
		return c.unreached(ctx, err)
	}
	defer func() {
		cancel(nil) // first: a cancelled request's connection is closed, not drained
		_ = resp.Body.Close()
	}()
	r := &reply{c: c, ctx: ctx, watch: w, body: resp.Body, cancel: cancel}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(&living{body: resp.Body, idle: &w.idle}, shownError)) // what came is enough
		return c.refused(resp, body, options)
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return protocol("The model provider sent a compressed answer although none was asked for.", fmt.Errorf("content encoding %.20q", enc))
	}
	return r.read(resp)
}

// request builds the HTTP request.
func (c *call) request(ctx context.Context, options bool) (*http.Request, error) {
	body, err := c.s.body(c.prompt, options)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.s.address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request could not be built") // the cause would name the address
	}
	for name, v := range c.s.cfg.Header {
		req.Header[http.CanonicalHeaderKey(name)] = v
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("Accept-Encoding", "identity")
	switch key := c.s.cfg.Key.key(); {
	case key == "":
	case c.s.cfg.KeyHeader != "":
		req.Header.Set(c.s.cfg.KeyHeader, key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, nil
}

// unreached is the failure of a request without a response.
func (c *call) unreached(ctx context.Context, err error) *failure {
	if fail := stalled(ctx); fail != nil {
		return fail
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the wrapper names the address with its parameters
	}
	return &failure{repeat: repeatOften, err: &turn.SourceError{
		Code: codeUnavailable, Message: "The model provider cannot be reached. If this stays, check --upstream-url.", Err: err,
	}}
}

// send yields a piece of the answer, divided if it is long. It gives false when the reader wants no more.
func (c *call) send(w *watch, kind turn.DeltaKind, text string) bool {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "") // no row may hold one
		c.quirk("nul")
	}
	if text == "" || c.left {
		return !c.left
	}
	w.firstToken.stop()
	w.progress.stop()
	for text != "" && !c.left {
		n := len(text)
		if n > maxDelta && kind != turn.Tool {
			n = maxDelta
			for !utf8.RuneStart(text[n]) {
				n--
			}
		}
		c.shown = true
		c.left = !c.yield(turn.Delta{Kind: kind, Text: text[:n], Model: c.model}, nil)
		text = text[n:]
	}
	w.progress.start()
	return !c.left
}

// quirk reports something odd.
func (c *call) quirk(name string) {
	if f := c.s.cfg.Observer.Quirk; f != nil {
		f(name)
	}
}
