package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/stream/turn"
	"holdfast/stream/upstream/fake"
	"holdfast/stream/upstream/openai"
)

// An operator may give the address in any of the forms in which providers print it.
func TestAddresses(t *testing.T) {
	for given, called := range map[string]string{
		"http://h:11434":                               "http://h:11434/v1/chat/completions",
		"http://h:11434/":                              "http://h:11434/v1/chat/completions",
		" https://h/v1 ":                               "https://h/v1/chat/completions",
		"https://h/v1/":                                "https://h/v1/chat/completions",
		"https://h/v1/chat/completions":                "https://h/v1/chat/completions",
		"https://h/v1/chat/completions/":               "https://h/v1/chat/completions",
		"https://h/chat/completions":                   "https://h/chat/completions",
		"https://h/openai/v1":                          "https://h/openai/v1/chat/completions",
		"https://h/api":                                "https://h/api/v1/chat/completions",
		"https://h/v1beta/openai":                      "https://h/v1beta/openai/chat/completions",
		"https://h/openai/deployments/d?api-version=1": "https://h/openai/deployments/d/chat/completions?api-version=1",
		"HTTP://h/v1#x":                                "http://h/v1/chat/completions",
	} {
		tr := &canned{body: func() io.Reader { return strings.NewReader(done) }}
		src := source(t, openai.Config{URL: given, Client: &http.Client{Transport: tr}})
		collect(t.Context(), t, src, ask("x"))
		assert.Equal(t, called, tr.last.URL.String(), "given %q", given)
	}
}

// A configuration that cannot work is refused at start, with all that is wrong with it and none of its values.
func TestRefusedConfigurations(t *testing.T) {
	for _, given := range []string{"", " ", "h/v1", "ftp://h", "https://", "https://user:hush@h/v1", "http://h\x7f/hush", "://hush"} {
		_, err := openai.New(openai.Config{URL: given})
		require.ErrorIs(t, err, openai.ErrConfig, "given %q", given)
		assert.NotContains(t, err.Error(), "hush")
	}
	_, err := openai.New(openai.Config{URL: "http://h", Extra: extra("n", "2")})
	require.ErrorContains(t, err, `"n"`, "one question, one answer (Q38)")
	_, err = openai.New(openai.Config{URL: "http://h", Extra: extra("top_p", "{")})
	require.ErrorContains(t, err, "top_p")
}

func extra(name, value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(value)}
}

// onlyAt answers 404 to all other paths, with a page.
func onlyAt(path string, h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(path, h)
	return mux
}

// Each thing that an operator got wrong gives one line that says what to change, without address or key.
func TestMisconfigurations(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.Handler
		path string
		key  string
		code string
		says string
	}{
		"wrong path":       {h: onlyAt("/v1/chat/completions", fake.New(fake.Script{})), path: "/api", code: "upstream_invalid", says: "Check --upstream-url"},
		"404 page":         {h: fake.New(fake.Script{Status: 404, Body: "<html>no</html>"}), code: "upstream_invalid", says: "Check --upstream-url"},
		"405":              {h: fake.New(fake.Script{Status: 405}), code: "upstream_invalid", says: "Check --upstream-url"},
		"web page":         {h: fake.New(fake.Script{Form: fake.FormHTML}), code: "upstream_protocol", says: "Check --upstream-url"},
		"redirect":         {h: http.RedirectHandler("https://elsewhere.example/v1", http.StatusMovedPermanently), code: "upstream_invalid", says: "Set --upstream-url"},
		"wrong key":        {h: fake.New(fake.Script{Key: "right"}), key: "wrong", code: "upstream_auth", says: "Check the key that --upstream-key-env names"},
		"no key":           {h: fake.New(fake.Script{Key: "right"}), code: "upstream_auth", says: "none is configured"},
		"unknown model":    {h: fake.New(fake.Script{Status: 404, Body: `{"error":{"message":"model 'm' not found","code":null}}`}), code: "upstream_invalid", says: `does not know the model "m"`},
		"unknown model 2":  {h: fake.New(fake.Script{Status: 400, Body: `{"error":{"code":"model_not_found"}}`}), code: "upstream_invalid", says: `does not know the model "m"`},
		"no credit":        {h: fake.New(fake.Script{Status: 402}), code: "upstream_auth", says: "billing"},
		"not allowed":      {h: fake.New(fake.Script{Status: 403, Body: "<html>"}), code: "upstream_auth", says: "rights"},
		"too long":         {h: fake.New(fake.Script{Status: 400, Body: `{"error":{"message":"This model's maximum context length is 10","code":"context_length_exceeded"}}`}), code: "upstream_invalid", says: "too long"},
		"prompt filtered":  {h: fake.New(fake.Script{Status: 400, Body: `{"error":{"code":"content_filter"}}`}), code: "upstream_invalid", says: "filter"},
		"asked too often":  {h: fake.New(fake.Script{Status: 429, Header: http.Header{"Retry-After": {"42"}}}), code: "upstream_rate_limited", says: "42s"},
		"something is odd": {h: fake.New(fake.Script{Status: 422}), code: "upstream_invalid", says: "422"},
	} {
		t.Run(name, func(t *testing.T) {
			base := start(t, c.h)
			src := source(t, openai.Config{URL: base + "/v1" + c.path, Model: "m", Key: openai.NewSecret(c.key)})
			got := collect(t.Context(), t, src, ask("x"))
			require.Equal(t, c.code, got.code())
			said := got.err.(*turn.SourceError).Message
			assert.Contains(t, said, c.says)
			assert.NotContains(t, said, "\n")
			assert.NotContains(t, said, strings.TrimPrefix(base, "http://"))
			assert.NotContains(t, said, "wrong")
		})
	}
}
