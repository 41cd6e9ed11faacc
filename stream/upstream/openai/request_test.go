package openai_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream/turn"
	"holdfast/stream/upstream/fake"
	"holdfast/stream/upstream/openai"
)

// sent gives the JSON body that a prompt makes.
func sent(t *testing.T, cfg openai.Config, p turn.Prompt) string {
	t.Helper()
	tr := &canned{body: func() io.Reader { return strings.NewReader(done) }}
	cfg.URL, cfg.Client = "http://model.example", &http.Client{Transport: tr}
	collect(t.Context(), t, source(t, cfg), p)
	require.NotNil(t, tr.last)
	return string(tr.sent)
}

func row(t *testing.T, raw string) regen.Row {
	t.Helper()
	var r regen.Row
	require.NoError(t, json.Unmarshal([]byte(raw), &r))
	return r
}

func rows(t *testing.T, raws ...string) turn.Prompt {
	t.Helper()
	p := turn.Prompt{}
	for _, raw := range raws {
		p.Rows = append(p.Rows, row(t, raw))
	}
	return p
}

// The model is given what the conversation says, in the words and parts in which it was said, and nothing that it would choke on.
func TestMessages(t *testing.T) {
	const call = `{"id":"A","type":"function","function":{"name":"f","arguments":"{}"}}`
	for name, c := range map[string]struct {
		cfg      openai.Config
		prompt   turn.Prompt
		messages string
	}{
		"plain": {prompt: rows(t, `{"role":"user","content":"a <b> & \u2028"}`), messages: `[{"role":"user","content":"a <b> & \u2028"}]`},
		"system": {prompt: turn.Prompt{System: "be kind", Rows: ask("x").Rows}, cfg: openai.Config{SystemRole: "developer"},
			messages: `[{"role":"developer","content":"be kind"},{"role":"user","content":"x"}]`},
		"a partial answer and a system row": {prompt: rows(t, `{"role":"system","content":"s"}`, `{"role":"user","content":"a"}`,
			`{"role":"assistant","content":"half an","partial":true,"reasoning":"hidden"}`, `{"role":"assistant","content":"failed","error":true}`, `{"role":"user","content":"b"}`),
			messages: `[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"half an"},{"role":"user","content":"b"}]`},
		"parts and images": {prompt: rows(t, `{"role":"user","content":[{"type":"text","text":"look","x":1}],"attachments":[
				{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"},"name":"private"},{"type":"image_url","image_url":"https://h/i.png"},
				{"type":"image_url","image_url":7},{"type":"file","id":"f"},"odd"]}`),
			messages: `[{"role":"user","content":[{"type":"text","text":"look","x":1},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}},
				{"type":"image_url","image_url":{"url":"https://h/i.png"}}]}]`},
		"text with an image": {prompt: rows(t, `{"role":"user","content":"look","attachments":[{"type":"image_url","image_url":{"url":"u"}}]}`),
			messages: `[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"u"}}]}]`},
		"an image alone": {prompt: rows(t, `{"role":"user","content":"","attachments":[{"type":"image_url","image_url":{"url":"u"}}]}`),
			messages: `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]`},
		"answered tool calls": {prompt: rows(t, `{"role":"user","content":"a"}`, `{"role":"assistant","content":"","tool_calls":[`+call+`]}`,
			`{"role":"tool","content":"42","tool_call_id":"A","tool_name":"f"}`, `{"role":"user","content":"b"}`),
			messages: `[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[` + call + `]},{"role":"tool","content":"42","tool_call_id":"A"},{"role":"user","content":"b"}]`},
		"tool calls that nobody answered": {prompt: rows(t, `{"role":"user","content":"a"}`, `{"role":"assistant","content":"I call","tool_calls":[`+call+`]}`, `{"role":"user","content":"b"}`),
			messages: `[{"role":"user","content":"a"},{"role":"assistant","content":"I call"},{"role":"user","content":"b"}]`},
		"nothing but such a call": {prompt: rows(t, `{"role":"user","content":"a"}`, `{"role":"assistant","content":"","tool_calls":[`+call+`]}`, `{"role":"user","content":"b"}`),
			messages: `[{"role":"user","content":"a"},{"role":"user","content":"b"}]`},
		"a result that nobody asked for": {prompt: rows(t, `{"role":"tool","content":"42","tool_call_id":"A"}`, `{"role":"user","content":"b"}`),
			messages: `[{"role":"user","content":"b"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			var body struct {
				Messages json.RawMessage `json:"messages"`
			}
			require.NoError(t, json.Unmarshal([]byte(sent(t, c.cfg, c.prompt)), &body))
			assert.JSONEq(t, c.messages, string(body.Messages))
		})
	}
}

// What an operator sets beside the address reaches the provider.
func TestRequestFields(t *testing.T) {
	p := ask("x")
	assert.JSONEq(t, `{"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true},"model":"m","top_p":0.5}`,
		sent(t, openai.Config{Model: "m", Extra: extra("top_p", "0.5")}, p))
	p.Model = "mine"
	assert.JSONEq(t, `{"messages":[{"role":"user","content":"x"}],"stream":true,"model":"mine"}`, sent(t, openai.Config{Model: "m", NoStreamOptions: true}, p))

	tr := &canned{body: func() io.Reader { return strings.NewReader(done) }}
	src := source(t, openai.Config{
		URL: "http://h?v=1", Client: &http.Client{Transport: tr}, Key: openai.NewSecret("k"), KeyHeader: "api-key", Header: http.Header{"x-title": {"t"}},
	})
	collect(t.Context(), t, src, p)
	assert.Equal(t, "k", tr.last.Header.Get("api-key"))
	assert.Equal(t, "t", tr.last.Header.Get("X-Title"))
	assert.Empty(t, tr.last.Header.Get("Authorization"))
	assert.Equal(t, "v=1", tr.last.URL.RawQuery)
}

// Many people at once get each their own answer.
func TestManyAtOnce(t *testing.T) {
	srv := fake.New(fake.Script{})
	src := source(t, openai.Config{URL: start(t, srv)})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			prompt := "/echo " + strings.Repeat("x", i+1)
			got := collect(context.Background(), t, src, ask(prompt))
			assert.NoError(t, got.err)
			assert.Equal(t, fake.Text(prompt, ""), got.text)
		})
	}
	wg.Wait()
}
