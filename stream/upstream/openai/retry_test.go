package openai_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/stream/turn"
	"holdfast/stream/upstream/fake"
	"holdfast/stream/upstream/openai"
)

func status(n int, header ...string) fake.Script {
	s := fake.Script{Status: n, Body: `{"error":{"message":"no"}}`, Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		s.Header.Set(header[i], header[i+1])
	}
	return s
}

// A person does not see a provider's hiccup; what will not mend itself is said at once, and a provider that asks for patience gets it.
//
// case: FC84
func TestRetries(t *testing.T) {
	ok := fake.Script{Text: "fine"}
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		scripts  func() []fake.Script
		requests int
		code     string
		after    float64       // seconds, at least; with half the jitter
		asked    time.Duration // RetryAfter of the error
	}{
		"500 and 503, then well":   {scripts: func() []fake.Script { return []fake.Script{status(500), status(503), ok} }, requests: 3, after: 0.25 + 0.5},
		"three times 502":          {scripts: func() []fake.Script { return []fake.Script{status(502), status(502), status(502)} }, requests: 3, code: "upstream_unavailable", after: 0.75},
		"408, 409, then well":      {scripts: func() []fake.Script { return []fake.Script{status(408), status(409), ok} }, requests: 3, after: 0.75},
		"520, 524, then well":      {scripts: func() []fake.Script { return []fake.Script{status(520), status(524), ok} }, requests: 3, after: 0.75},
		"498 with jitter":          {scripts: func() []fake.Script { return []fake.Script{status(498), ok} }, requests: 2, after: 0.25},
		"529 once more, not twice": {scripts: func() []fake.Script { return []fake.Script{status(529), status(529), ok} }, requests: 2, code: "upstream_overloaded", after: 0.25},
		"400":                      {scripts: func() []fake.Script { return []fake.Script{status(400), ok} }, requests: 1, code: "upstream_invalid"},
		"401":                      {scripts: func() []fake.Script { return []fake.Script{status(401), ok} }, requests: 1, code: "upstream_auth"},
		"402":                      {scripts: func() []fake.Script { return []fake.Script{status(402), ok} }, requests: 1, code: "upstream_auth"},
		"403":                      {scripts: func() []fake.Script { return []fake.Script{status(403), ok} }, requests: 1, code: "upstream_auth"},
		"404":                      {scripts: func() []fake.Script { return []fake.Script{status(404), ok} }, requests: 1, code: "upstream_invalid"},
		"413":                      {scripts: func() []fake.Script { return []fake.Script{status(413), ok} }, requests: 1, code: "upstream_invalid"},
		"501":                      {scripts: func() []fake.Script { return []fake.Script{status(501), ok} }, requests: 1, code: "upstream_unavailable"},
		"307":                      {scripts: func() []fake.Script { return []fake.Script{status(307, "Location", "http://other.example/"), ok} }, requests: 1, code: "upstream_invalid"},
		"429 with seconds":         {scripts: func() []fake.Script { return []fake.Script{status(429, "Retry-After", "3"), ok} }, requests: 2, after: 3.15},
		"429 with milliseconds": {scripts: func() []fake.Script {
			return []fake.Script{status(429, "Retry-After-Ms", "700", "Retry-After", "9"), ok}
		}, requests: 2, after: 0.735},
		"429 with a date": {scripts: func() []fake.Script { return []fake.Script{status(429, "Retry-After", in(5*time.Second)), ok} }, requests: 2, after: 5.25},
		"429 with limits' resets": {scripts: func() []fake.Script {
			return []fake.Script{status(429, "X-Ratelimit-Reset-Requests", "1s", "X-Ratelimit-Reset-Tokens", "2s"), ok}
		}, requests: 2, after: 2.1},
		"429 without a word":          {scripts: func() []fake.Script { return []fake.Script{status(429), ok} }, requests: 2, after: 0.25},
		"429 for longer than we wait": {scripts: func() []fake.Script { return []fake.Script{status(429, "Retry-After", "3600"), ok} }, requests: 1, code: "upstream_rate_limited", asked: time.Hour},
		"429 with an absurd wait":     {scripts: func() []fake.Script { return []fake.Script{status(429, "Retry-After", "1e300"), ok} }, requests: 1, code: "upstream_rate_limited", asked: 365 * 24 * time.Hour},
		"429 without quota": {scripts: func() []fake.Script {
			s := status(429)
			s.Body = `{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}`
			return []fake.Script{s, ok}
		}, requests: 1, code: "upstream_auth"},
		"the provider says do not":      {scripts: func() []fake.Script { return []fake.Script{status(500, "X-Should-Retry", "false"), ok} }, requests: 1, code: "upstream_unavailable"},
		"the provider says do":          {scripts: func() []fake.Script { return []fake.Script{status(400, "X-Should-Retry", "true"), ok} }, requests: 2, after: 0.25},
		"dropped before the first word": {scripts: func() []fake.Script { return []fake.Script{ending(fake.EndReset), ok} }, requests: 2, after: 0.25},
		"overloaded as first event":     {scripts: func() []fake.Script { return []fake.Script{raw(dat(`{"error":{"type":"overloaded_error"}}`)), ok} }, requests: 2, after: 0.25},
		"overloaded in mid-answer": {scripts: func() []fake.Script {
			return []fake.Script{raw(txt("par"), dat(`{"error":{"type":"overloaded_error"}}`)), ok}
		}, requests: 1, code: "upstream_overloaded"},
		"dropped after a thought": {scripts: func() []fake.Script { return []fake.Script{ending(fake.EndReset, rsn("hm")), ok} }, requests: 1, code: "upstream_cut"},
		"dropped after some text": {scripts: func() []fake.Script { return []fake.Script{ending(fake.EndReset, txt("The ans")), ok} }, requests: 1, code: "upstream_cut"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := fake.New(fake.Script{})
				srv.Queue(c.scripts()...)
				var waits []time.Duration
				attempts := 0
				src, stop := bubble(t, srv, openai.Config{
					Jitter: func() float64 { return 0.5 },
					Observer: openai.Observer{
						Waiting: func(d time.Duration, _ string) { waits = append(waits, d) }, Attempt: func(n int) { attempts = n },
					},
				})
				defer stop()
				begin := time.Now()
				got := collect(t.Context(), t, src, ask("x"))
				require.Equal(t, c.code, got.code())
				assert.Len(t, srv.Requests(), c.requests)
				assert.Equal(t, c.requests, attempts)
				assert.Len(t, waits, c.requests-1)
				assert.InDelta(t, c.after, since(begin), 0.02)
				if c.code == "" {
					assert.Equal(t, "fine", got.text)
				}
				var e *turn.SourceError
				if errors.As(got.err, &e) {
					assert.Equal(t, c.asked, e.RetryAfter)
				}
			})
		})
	}
}

// Stop works while we wait for a provider to recover.
func TestStopWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.New(status(429, "Retry-After", "15"))
		src, stop := bubble(t, srv, openai.Config{})
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begin := time.Now()
		got := collect(ctx, t, src, ask("x"))
		require.ErrorIs(t, got.err, context.DeadlineExceeded)
		assert.InDelta(t, 2, since(begin), 0.01)
		assert.Len(t, srv.Requests(), 1)
	})
}

// All attempts together keep to the total bound.
func TestTotalBoundsTheWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.New(status(429, "Retry-After", "15"))
		src, stop := bubble(t, srv, openai.Config{Clocks: openai.Clocks{Total: 20 * time.Second}, Retry: openai.Retry{Max: 9}})
		defer stop()
		begin := time.Now()
		got := collect(t.Context(), t, src, ask("x"))
		assert.Equal(t, "upstream_stalled", got.code())
		assert.InDelta(t, 20, since(begin), 0.01)
	})
}

// A provider that is not there is tried again and then named as unreachable, without its address.
func TestUnreachable(t *testing.T) {
	attempts := 0
	src := source(t, openai.Config{
		URL: "http://127.0.0.1:1/v1?secret=hush", Observer: openai.Observer{Attempt: func(n int) { attempts = n }},
	})
	got := collect(t.Context(), t, src, ask("x"))
	assert.Equal(t, "upstream_unavailable", got.code())
	assert.Equal(t, 3, attempts)
	assert.NotContains(t, got.err.Error(), "127.0.0.1")
	assert.NotContains(t, errors.Unwrap(got.err).Error(), "hush")
}
