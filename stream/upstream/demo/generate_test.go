package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream/turn"
	"holdfast/stream/upstream/demo"
)

var _ turn.Source = (*demo.Source)(nil)

func ask(text string) turn.Prompt {
	return turn.Prompt{Run: runA, System: "be kind", Rows: []regen.Row{
		{Role: regen.RoleUser, Content: regen.Text("an older question")}, {Role: regen.RoleAssistant, Content: regen.Text("an older answer")},
		{Role: regen.RoleUser, Content: regen.Text(text)},
	}}
}

type result struct {
	text, reasoning string
	tools           []string
	pieces          int
	last            turn.Delta
	err             error
}

func collect(ctx context.Context, src *demo.Source, p turn.Prompt) (r result) {
	for d, err := range src.Generate(ctx, p) {
		switch {
		case err != nil:
			r.err = err
		case d.Kind == turn.Text:
			r.text += d.Text
			r.pieces++
		case d.Kind == turn.Reasoning:
			r.reasoning += d.Text
			r.pieces++
		case d.Kind == turn.Tool:
			r.tools = append(r.tools, d.Text)
		}
		r.last = d
	}
	return r
}

var fast = demo.New(demo.Config{Rate: -1})

// What a person reads is the script, to the letter, and the answer says why it ended and what it cost.
func TestAnswerIsTheScript(t *testing.T) {
	for _, prompt := range []string{"hello", "/echo  exact \n text", "/long 1234", "/help", "/think of it", "/slow /fast x", ""} {
		got := collect(t.Context(), fast, ask(prompt))
		require.NoError(t, got.err)
		assert.Equal(t, demo.Script(prompt, runA), got.text, "%q", prompt)
		assert.Equal(t, demo.Thoughts(prompt, runA), got.reasoning)
		assert.Equal(t, "stop", got.last.Finish)
		assert.Equal(t, "demo", got.last.Model)
		var usage map[string]int
		require.NoError(t, json.Unmarshal(got.last.Usage, &usage))
		assert.Equal(t, got.pieces, usage["completion_tokens"])
		assert.Equal(t, usage["prompt_tokens"]+usage["completion_tokens"], usage["total_tokens"])
		assert.Equal(t, 8+len(strings.Fields(prompt)), usage["prompt_tokens"])
	}
}

// A tool call comes whole, behind the text.
func TestTool(t *testing.T) {
	got := collect(t.Context(), fast, ask("/tool rain tomorrow"))
	require.NoError(t, got.err)
	require.Len(t, got.tools, 1)
	assert.JSONEq(t, `{"id":"call_01234567","type":"function","function":{"name":"look_up","arguments":"{\"query\":\"rain tomorrow\"}"}}`, got.tools[0])
	assert.Equal(t, "tool_calls", got.last.Finish)
}

// Failures come when they were ordered, in words for people, with the text before them kept.
func TestFailures(t *testing.T) {
	for prompt, code := range map[string]string{"/error": "upstream_error", "/fast /error": "upstream_error", "/overload": "upstream_overloaded", "/error-mid": "upstream_error"} {
		got := collect(t.Context(), fast, ask(prompt))
		var e *turn.SourceError
		require.ErrorAs(t, got.err, &e, prompt)
		assert.Equal(t, code, e.Code)
		assert.NotEmpty(t, e.Message)
		assert.Equal(t, demo.Script(prompt, runA), got.text)
		assert.Equal(t, prompt == "/error-mid", got.text != "")
		assert.Empty(t, got.last.Finish)
	}
}

// Pieces come at a pace at which a person can read along: about 30 a second, or 3, or all at once.
func TestPace(t *testing.T) {
	for prompt, rate := range map[string]float64{"/long 3000": 30, "/slow /long 3000": 3} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			got := collect(t.Context(), demo.New(demo.Config{}), ask(prompt))
			require.NoError(t, got.err)
			assert.InEpsilon(t, rate, float64(got.pieces)/time.Since(begin).Seconds(), 0.25)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		require.NoError(t, collect(t.Context(), demo.New(demo.Config{}), ask("/fast /long 3000")).err)
		assert.Zero(t, time.Since(begin))
	})
}

// Stop works at any moment, in silence too, and says why it stopped.
func TestStop(t *testing.T) {
	why := errors.New("the person pressed stop")
	for prompt, after := range map[string]time.Duration{"/stall": time.Hour, "/long 20000": 3 * time.Second, "/slow /long 9": 100 * time.Millisecond, "/fast /stall": time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			time.AfterFunc(after, func() { cancel(why) })
			begin := time.Now()
			got := collect(ctx, demo.New(demo.Config{}), ask(prompt))
			require.ErrorIs(t, got.err, why)
			assert.Equal(t, after, time.Since(begin))
			assert.True(t, strings.HasPrefix(demo.Script(prompt, runA), got.text))
			if strings.HasSuffix(prompt, "/stall") {
				assert.Equal(t, demo.Script(prompt, runA), got.text)
			}
		})
	}
}

// A reader that leaves ends the answer.
func TestReaderLeaves(t *testing.T) {
	n := 0
	for range fast.Generate(t.Context(), ask("/long 100")) {
		if n++; n == 3 {
			break
		}
	}
	assert.Equal(t, 3, n)
}
