package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/stream/turn"
	"holdfast/stream/upstream/fake"
	"holdfast/stream/upstream/openai"
)

const planted = "sk-planted-9f8e7d6c5b4a3210"

// A key shows as [redacted] however it is printed.
func TestSecretNeverPrints(t *testing.T) {
	s := openai.NewSecret(" " + planted + "\n")
	type holder struct {
		Key    openai.Secret
		hidden openai.Secret
	}
	h := holder{Key: s, hidden: s}
	src, err := openai.New(openai.Config{URL: "http://h", Key: s})
	require.NoError(t, err)
	var out strings.Builder
	for _, v := range []any{s, &s, h, &h, h.hidden, []openai.Secret{s}, map[string]openai.Secret{"k": s}, openai.Config{Key: s}, src} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		raw, _ := json.Marshal(v) // a configuration holds functions and does not encode
		out.Write(raw)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
	}
	assertClean(t, out.String())
	raw, err := json.Marshal(map[string]any{"key": s, "none": openai.Secret{}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"key":"[redacted]","none":""}`, string(raw))
	assert.Equal(t, "[redacted]", fmt.Sprint(s))
	assert.True(t, openai.NewSecret(" \n").IsZero())
}

// assertClean checks that a text holds neither the key nor the same bytes in hex.
func assertClean(t *testing.T, text string) {
	t.Helper()
	assert.NotContains(t, text, planted)
	assert.NotContains(t, text, planted[:8])
	assert.NotContains(t, text, planted[len(planted)-6:])
	assert.NotContains(t, strings.ToLower(text), fmt.Sprintf("%x", planted))
}

// However a provider fails, and however much of the key it repeats, no error and no log line has it, and no message for people has
// the provider's own words (Q40).
//
// case: FC71
func TestKeyStaysInside(t *testing.T) {
	leak := fmt.Sprintf(`{"error":{"message":"Incorrect key %s, or %s***, or ***%s at worker-7.internal.example","type":"%s","code":"%s"}}`,
		planted, planted[:10], planted[len(planted)-6:], planted, planted)
	scripts := map[string]fake.Script{
		"in the stream": raw(txt("par"), dat(leak), done), "first in the stream": raw(dat(leak)),
		"text in the stream": raw(dat(`{"error":"` + planted + `"}`)), "event error": raw("event: error\n" + dat("oops "+planted)),
		"event error with JSON": raw("event: error\n" + dat(`{"type":"`+planted+`","message":"`+planted+`"}`)),
		"JSON":                  {Form: fake.FormJSONError, ErrorBody: leak}, "broken": raw(dat(planted)), "page": {Form: fake.FormHTML},
	}
	for _, n := range []int{301, 400, 401, 403, 404, 418, 429, 500, 529} {
		scripts[fmt.Sprint("status ", n)] = fake.Script{Status: n, Body: leak}
		scripts[fmt.Sprint("page with status ", n)] = fake.Script{Status: n, Body: "<html>" + planted + "</html>"}
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			srv := fake.New(script)
			base := start(t, srv)
			src := source(t, openai.Config{
				URL: base, Key: openai.NewSecret(planted), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			got := collect(t.Context(), t, src, ask("x"))
			require.Error(t, got.err)
			assert.Equal(t, "Bearer "+planted, srv.Requests()[0].Header.Get("Authorization"), "the provider did get it")
			e := got.err.(*turn.SourceError)
			assertClean(t, fmt.Sprintf("%v %+v %#v", e, e, *e))
			for err := error(e); err != nil; err = errors.Unwrap(err) {
				assertClean(t, err.Error())
			}
			assertClean(t, log.String())
			assert.NotContains(t, e.Message, "worker-7")
			assert.NotContains(t, e.Message, "oops")
			assert.NotContains(t, e.Message, strings.TrimPrefix(base, "http://"))
		})
	}
}

// An operator who asks for debug logs sees what the provider said.
func TestDebugLogHasTheProvidersWords(t *testing.T) {
	var log bytes.Buffer
	src := source(t, openai.Config{
		URL: start(t, fake.New(fake.Script{Status: 400, Body: `{"error":{"message":"top_p must be below 1"}}`})), Key: openai.NewSecret(planted),
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	collect(t.Context(), t, src, ask("x"))
	assert.Contains(t, log.String(), "top_p must be below 1")
}
