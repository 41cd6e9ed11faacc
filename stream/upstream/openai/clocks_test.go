package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// drip sends a text every so often for ever.
func drip(every time.Duration, chunk string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	})
}

// Nobody waits for ever: each kind of silence has its own bound, and the text before it stays (Q36).
func TestClocks(t *testing.T) {
	stall := func(chunks ...string) http.Handler { return fake.New(ending(fake.EndStall, chunks...)) }
	for name, c := range map[string]struct {
		h     http.Handler
		cfg   openai.Config
		after float64 // seconds
		clock string
		text  string
	}{
		"no headers":                    {h: fake.New(fake.Script{HeaderDelay: time.Hour}), cfg: openai.Config{Clocks: openai.Clocks{FirstToken: 300 * time.Second}}, after: 120, clock: "FirstByte"},
		"no headers, bound of our own":  {h: fake.New(fake.Script{HeaderDelay: time.Hour}), cfg: openai.Config{Clocks: openai.Clocks{FirstByte: time.Second}}, after: 1, clock: "FirstByte"},
		"headers, then nothing":         {h: fake.New(fake.Script{FirstDelay: time.Hour}), after: 120, clock: "FirstToken"},
		"only comments from the start":  {h: drip(10*time.Second, ": wait\n\n"), after: 120, clock: "FirstToken"},
		"silence after a role":          {h: stall(txt("")), after: 60, clock: "Idle"},
		"silence in mid-answer":         {h: stall(txt("kept")), after: 60, clock: "Idle", text: "kept"},
		"comments in mid-answer":        {h: drip(30*time.Second, ": wait\n\n"), cfg: openai.Config{Clocks: openai.Clocks{FirstToken: -1}}, after: 900, clock: "Total"},
		"empty deltas in mid-answer":    {h: once(txt("kept"), drip(30*time.Second, txt(""))), after: 300, clock: "Progress", text: "kept"},
		"an answer without end":         {h: drip(200*time.Second, txt("x")), cfg: openai.Config{Clocks: openai.Clocks{Idle: -1}}, after: 900, clock: "Total", text: "xxxxx"},
		"a long tool call":              {h: drip(40*time.Second, dat(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":" "}}]}}]}`)), after: 900, clock: "Total"},
		"a tool call that stands still": {h: once(dat(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":" "}}]}}]}`), drip(30*time.Second, ": x\n\n")), after: 300, clock: "Progress"},
		"silence after the finish":      {h: stall(txt("all"), fin("stop")), after: 5, text: "all"},
		"comments after the finish":     {h: once(txt("all")+fin("stop"), drip(time.Second, ": x\n\n")), after: 5, text: "all"},
		"a slow but living answer":      {h: fake.New(fake.Script{Text: "one two three four", Rate: 1.0 / 50}), text: "one two three four"},
		"a server that loads its model": {h: fake.New(fake.Script{Text: "all", FirstDelay: 250 * time.Second}), cfg: openai.Config{Clocks: openai.Clocks{FirstToken: 300 * time.Second}}, after: 250, text: "all"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, stop := bubble(t, c.h, c.cfg)
				defer stop()
				begin := time.Now()
				got := collect(t.Context(), t, src, ask("x"))
				assert.Equal(t, c.text, got.text)
				if c.after > 0 {
					assert.InDelta(t, c.after, since(begin), 0.02) // the end of the body may be waited for a little
				}
				if c.clock == "" {
					require.NoError(t, got.err)
					assert.Equal(t, "stop", got.finish)
					return
				}
				require.Equal(t, "upstream_stalled", got.code())
				var late *openai.ClockError
				require.ErrorAs(t, got.err, &late)
				assert.Equal(t, c.clock, late.Clock)
			})
		})
	}
}

// once sends a text before what a handler sends.
func once(first string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, first)
		h.ServeHTTP(w, r)
	})
}

// A reader that is busy for long does not make the provider look silent.
func TestClocksStandWhileTheReaderIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, stop := bubble(t, fake.New(fake.Script{Text: "one two three"}), openai.Config{Clocks: openai.Clocks{Total: -1}})
		defer stop()
		text, finish := "", ""
		for d, err := range src.Generate(t.Context(), ask("x")) {
			require.NoError(t, err)
			text += d.Text
			finish = d.Finish
			time.Sleep(time.Hour) // the bubble's time
		}
		assert.Equal(t, "one two three", text)
		assert.Equal(t, "stop", finish)
	})
}

// Stop closes the connection at once: the provider notices while it still has much to say, and the reason comes back.
func TestAbort(t *testing.T) {
	why := errors.New("the person pressed stop")
	for name, script := range map[string]fake.Script{
		"in mid-answer":           {End: fake.EndStall, After: 2},
		"before the first word":   {FirstDelay: time.Hour},
		"before the headers":      {HeaderDelay: time.Hour},
		"behind the last word":    {Raw: []string{txt("x"), fin("stop")}, End: fake.EndStall},
		"in a long stream at top": {LongLine: 1 << 20, Rate: 0.001},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fake.New(script)
			src := source(t, openai.Config{URL: start(t, srv), Retry: openai.Retry{Max: 5}})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go func() {
				_, _ = srv.Wait(ctx, 1)
				cancel(why)
			}()
			got := collect(ctx, t, src, ask("hello"))
			require.ErrorIs(t, got.err, why)
			r, err := srv.Wait(t.Context(), 1)
			require.NoError(t, err)
			<-r.Gone
			<-r.Done
			assert.Len(t, srv.Requests(), 1)
		})
	}
	t.Run("ended before it began", func(t *testing.T) {
		srv := fake.New(fake.Script{})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		got := collect(ctx, t, source(t, openai.Config{URL: start(t, srv)}), ask("hello"))
		require.ErrorIs(t, got.err, why)
		assert.Empty(t, srv.Requests())
	})
}

// A reader that has had enough ends the call just so; the first words of a CRLF stream reach it while the stream goes on.
//
// case: FC61
func TestReaderLeaves(t *testing.T) {
	for _, crlf := range []bool{false, true} {
		t.Run(fmt.Sprintf("CRLF %v", crlf), func(t *testing.T) {
			srv := fake.New(fake.Script{End: fake.EndStall, CRLF: crlf, After: 1})
			src := source(t, openai.Config{URL: start(t, srv)})
			for d, err := range src.Generate(t.Context(), ask("hello")) {
				require.NoError(t, err)
				require.Equal(t, turn.Text, d.Kind)
				break
			}
			r, err := srv.Wait(t.Context(), 1)
			require.NoError(t, err)
			<-r.Gone
		})
	}
}
