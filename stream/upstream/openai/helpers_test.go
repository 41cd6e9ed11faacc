package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream/turn"
	"holdfast/stream/upstream/fake"
	"holdfast/stream/upstream/openai"
)

var _ turn.Source = (*openai.Source)(nil)

const done = "data: [DONE]\n\n"

// txt, rsn and fin are the events of a piece of text, a piece of reasoning and a finish reason.
func txt(s string) string {
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`+"\n\n", quote(s))
}

func rsn(s string) string {
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":null,"reasoning_content":%s},"finish_reason":null}]}`+"\n\n", quote(s))
}

func fin(reason string) string {
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`+"\n\n", reason)
}

// dat is an event with any data.
func dat(s string) string { return "data: " + s + "\n\n" }

func quote(s string) string {
	raw, _ := json.Marshal(s)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return string(raw)
	}
	return strings.TrimSpace(b.String())
}

// result is what a reader of an answer got.
type result struct {
	text, reasoning string
	tools           []string
	finish, usage   string
	model           string
	deltas          int // with text
	err             error
}

// code is the error's code; "" without an error.
func (r result) code() string {
	if r.err == nil {
		return ""
	}
	if e, ok := r.err.(*turn.SourceError); ok {
		return e.Code
	}
	return "not a SourceError: " + r.err.Error()
}

// collect reads an answer to its end and checks what holds for every answer.
func collect(ctx context.Context, t testing.TB, src turn.Source, p turn.Prompt) result {
	t.Helper()
	var r result
	ended := false
	for d, err := range src.Generate(ctx, p) {
		require.False(t, ended, "something came after the end")
		if err != nil {
			r.err, ended = err, true
			continue
		}
		assert.True(t, utf8.ValidString(d.Text), "a delta is not valid UTF-8: %q", d.Text)
		if d.Text != "" {
			r.deltas++
		}
		switch d.Kind {
		case turn.Text:
			r.text += d.Text
		case turn.Reasoning:
			r.reasoning += d.Text
		case turn.Tool:
			assert.True(t, json.Valid([]byte(d.Text)))
			r.tools = append(r.tools, d.Text)
		default:
			assert.Empty(t, d.Text, "text of no kind")
		}
		if d.Model != "" {
			r.model = d.Model
		}
		if d.Finish != "" {
			r.finish, r.usage, ended = d.Finish, string(d.Usage), true
		}
	}
	assert.True(t, ended, "the answer has no end")
	return r
}

// ask is a prompt of one user row.
func ask(text string) turn.Prompt {
	return turn.Prompt{Run: strings.Repeat("ab", 16), Rows: []regen.Row{{Role: regen.RoleUser, Content: regen.Text(text)}}}
}

// start runs a handler as a server and gives its base address.
func start(t testing.TB, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// source makes a source that does not wait between attempts.
func source(t testing.TB, cfg openai.Config) *openai.Source {
	t.Helper()
	if cfg.Jitter == nil {
		cfg.Jitter = func() float64 { return 0 }
	}
	src, err := openai.New(cfg)
	require.NoError(t, err)
	t.Cleanup(src.Close)
	return src
}

// answered asks a server that follows a script and gives what came, and the server.
func answered(t testing.TB, script fake.Script, cfg openai.Config) (result, *fake.Server) {
	t.Helper()
	srv := fake.New(script)
	cfg.URL = start(t, srv)
	return collect(t.Context(), t, source(t, cfg), ask("hello")), srv
}

// canned is a transport that answers with a body made from readers, without a network.
type canned struct {
	status int
	header http.Header
	body   func() io.Reader
	last   *http.Request
	sent   []byte
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.last = r
	c.sent, _ = io.ReadAll(r.Body)
	_ = r.Body.Close()
	header := c.header
	if header == nil {
		header = http.Header{"Content-Type": {"text/event-stream"}}
	}
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(c.body()), Request: r}, nil
}

// ofCanned is a source over a canned body, without retries.
func ofCanned(t testing.TB, body func() io.Reader) *openai.Source {
	return source(t, openai.Config{
		URL: "http://model.example", Client: &http.Client{Transport: &canned{body: body}}, Retry: openai.Retry{Max: -1},
	})
}

// pipes is a network inside the process, for synctest bubbles.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// bubble gives a source whose server lives in the same synctest bubble. Call its second result before the bubble ends.
func bubble(t testing.TB, h http.Handler, cfg openai.Config) (*openai.Source, func()) {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(p)
	}()
	transport := &http.Transport{DialContext: p.dial}
	cfg.URL, cfg.Client = "http://model.example", &http.Client{Transport: transport}
	src, err := openai.New(cfg)
	require.NoError(t, err)
	return src, func() {
		transport.CloseIdleConnections()
		_ = srv.Close()
		<-served
	}
}

// since is the whole seconds from a moment on.
func since(begin time.Time) float64 { return time.Since(begin).Round(time.Millisecond).Seconds() }

// clientOf is an HTTP client over a canned body.
func clientOf(body func() io.Reader) *http.Client {
	return &http.Client{Transport: &canned{body: body}}
}
