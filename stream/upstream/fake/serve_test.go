package fake_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/stream/upstream/demo"
	"holdfast/stream/upstream/fake"
)

// reply is what a client saw.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
	text   string
	finish string
	usage  string
	done   bool
}

func start(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// post asks with a prompt and reads the answer in the plainest way.
func post(ctx context.Context, t *testing.T, url, prompt string, header ...string) reply {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"model": "m", "stream": true, "stream_options": map[string]bool{"include_usage": true},
		"messages": []any{map[string]string{"role": "system", "content": "s"}, map[string]string{"role": "user", "content": prompt}},
	})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(string(body)))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	r := reply{status: resp.StatusCode, header: resp.Header, body: string(raw), err: err}
	for line := range strings.SplitSeq(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n") {
		data, ok := strings.CutPrefix(line, "data:")
		data = strings.TrimPrefix(data, " ")
		if !ok || data == "[DONE]" {
			r.done = r.done || ok
			continue
		}
		var c struct {
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(data), &c), data)
		for _, choice := range c.Choices {
			r.text += choice.Delta.Content
			r.finish += choice.Finish
		}
		r.usage += string(c.Usage)
	}
	return r
}

// A well-behaved answer has the text that Text gives, whatever the framing.
func TestAnswerIsText(t *testing.T) {
	for name, s := range map[string]fake.Script{
		"plain": {}, "framed oddly": {CRLF: true, Comments: true, NoSpace: true}, "chopped": {Chop: 3}, "by seed": {Seed: "7"}, "own text": {Text: "own ✓"}, "at a rate": {Text: "a b c", Rate: 1000},
		"late": {HeaderDelay: time.Millisecond, FirstDelay: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fake.New(s)
			got := post(t.Context(), t, start(t, srv), "hello")
			require.NoError(t, got.err)
			want := s.Text
			if want == "" {
				want = fake.Text("hello", s.Seed)
			}
			assert.Equal(t, want, got.text)
			assert.Equal(t, want, srv.Requests()[0].Text)
			assert.Equal(t, "stop", got.finish)
			assert.Contains(t, got.usage, "total_tokens")
			assert.True(t, got.done)
		})
	}
}

// Vary gives the same prompt another answer each time, and says which.
func TestVary(t *testing.T) {
	srv := fake.New(fake.Script{Vary: true})
	url := start(t, srv)
	first, second := post(t.Context(), t, url, "hello"), post(t.Context(), t, url, "hello")
	assert.NotEqual(t, first.text, second.text)
	assert.Equal(t, second.text, srv.Requests()[1].Text)
	assert.Equal(t, fake.Text("hello", "/2"), second.text)
}

// Slash commands in the prompt choose the behaviour, unless the script wants plain words.
func TestCommands(t *testing.T) {
	srv := fake.New(fake.Script{})
	url := start(t, srv)
	assert.Equal(t, "x  y", post(t.Context(), t, url, "/echo x  y").text)
	assert.Len(t, strings.Fields(post(t.Context(), t, url, "/fast /long 321").text), 321)
	assert.Equal(t, http.StatusInternalServerError, post(t.Context(), t, url, "/error").status)
	over := post(t.Context(), t, url, "/overload")
	assert.Equal(t, 529, over.status)
	assert.Equal(t, "5", over.header.Get("Retry-After"))
	mid := post(t.Context(), t, url, "/error-mid")
	assert.Equal(t, demo.Script("/error-mid", ""), mid.text)
	assert.Contains(t, mid.body, `"error"`)
	assert.Empty(t, mid.finish)
	assert.Contains(t, post(t.Context(), t, url, "/think x").body, "reasoning_content")
	assert.Equal(t, "tool_calls", post(t.Context(), t, url, "/tool x").finish)
	srv.Set(fake.Script{Plain: true, Text: "plain"})
	assert.Equal(t, "plain", post(t.Context(), t, url, "/error").text)
}

// Each bad end is the end it says.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end    fake.End
		text   string
		finish string
		done   bool
		broken bool
		error  bool
	}{
		"no end mark": {end: fake.EndNoDone, text: "one two three four five six", finish: "stop"},
		"cut":         {end: fake.EndCut},
		"reset":       {end: fake.EndReset, broken: true},
		"error":       {end: fake.EndError, done: true, error: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := fake.Script{Text: "one two three four five six", End: c.end}
			if c.text == "" {
				s.After = 1
				c.text = demo.Cut(s.Text, "")[0]
			}
			got := post(t.Context(), t, start(t, fake.Handler(s)), "x")
			assert.Equal(t, c.text, got.text)
			assert.Equal(t, c.finish, got.finish)
			assert.Equal(t, c.done, got.done)
			assert.Equal(t, c.broken, got.err != nil)
			assert.Equal(t, c.error, strings.Contains(got.body, `"server_error"`))
		})
	}
}

// A stalled answer ends when its client leaves, and the test is told.
func TestStallNoticesTheClient(t *testing.T) {
	for _, end := range []fake.End{fake.EndStall, fake.EndHang} {
		srv := fake.New(fake.Script{End: end})
		url := start(t, srv)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = srv.Wait(ctx, 1)
			cancel()
		}()
		post(ctx, t, url, "x")
		r, err := srv.Wait(t.Context(), 1)
		require.NoError(t, err)
		<-r.Gone
		<-r.Done
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := fake.New(fake.Script{}).Wait(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// Other forms of answers, refusals and paths are what a provider would send.
func TestForms(t *testing.T) {
	srv := fake.New(fake.Script{})
	url := start(t, srv)
	srv.Queue(
		fake.Script{Form: fake.FormHTML}, fake.Script{Form: fake.FormJSONError}, fake.Script{Form: fake.FormWhole, Text: "all"},
		fake.Script{Status: 503, Body: "busy", Header: http.Header{"retry-after": {"7"}}}, fake.Script{Key: "right"}, fake.Script{Key: "right", Text: "in"},
		fake.Script{LongLine: 100, Text: "x"}, fake.Script{Raw: []string{"data: [DONE]\n\n"}}, fake.Script{Finish: fake.None, Usage: fake.None, Text: "x"},
	)
	assert.Contains(t, post(t.Context(), t, url, "x").header.Get("Content-Type"), "text/html")
	bad := post(t.Context(), t, url, "x")
	assert.Equal(t, "application/json", bad.header.Get("Content-Type"))
	assert.Equal(t, 200, bad.status)
	whole := post(t.Context(), t, url, "x")
	assert.Contains(t, whole.body, `"content":"all"`)
	assert.Equal(t, "7", post(t.Context(), t, url, "x").header.Get("Retry-After"))
	assert.Equal(t, 401, post(t.Context(), t, url, "x", "Authorization", "Bearer wrong").status)
	assert.Equal(t, "in", post(t.Context(), t, url, "x", "Authorization", "Bearer right").text)
	assert.Equal(t, strings.Repeat("x", 101), post(t.Context(), t, url, "x").text)
	assert.Equal(t, "data: [DONE]\n\n", post(t.Context(), t, url, "x").body)
	bare := post(t.Context(), t, url, "x")
	assert.Empty(t, bare.finish+bare.usage)
	assert.NotEmpty(t, post(t.Context(), t, url, "x").finish, "behind the queue the script counts again")

	for path, want := range map[string]int{"/v1/models": 200, "/nothing": 404, "/v1/chat/completions": 405} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		require.NoError(t, err)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		require.NoError(t, err)
		_ = resp.Body.Close()
		assert.Equal(t, want, resp.StatusCode, path)
	}
}

// A test can look at what was asked.
func TestRequestsAreRecorded(t *testing.T) {
	srv := fake.New(fake.Script{})
	url := start(t, srv)
	post(t.Context(), t, url, "hello", "X-Mine", "1")
	r, err := srv.Wait(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, "hello", r.Prompt)
	assert.Equal(t, "m", r.Model)
	assert.True(t, r.Stream && r.IncludeUsage)
	assert.Len(t, r.Messages, 2)
	assert.Equal(t, "1", r.Header.Get("X-Mine"))
	assert.Equal(t, "/v1/chat/completions", r.Path)
	assert.Equal(t, 1, r.N)
}
