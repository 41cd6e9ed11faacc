package openai_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/stream/upstream/fake"
	"holdfast/stream/upstream/openai"
)

// quirk is one row of the table: what a provider sends, and what a reader must get.
type quirk struct {
	q      string // numbers, separated by spaces
	name   string
	script fake.Script
	cfg    openai.Config

	text, reasoning string
	finish          string // "stop" when code is empty and finish is too
	code            string
	usage           string
	model           string
	requests        int // 1 when 0
	noticed         string
}

func raw(chunks ...string) fake.Script { return ending(fake.EndDone, chunks...) }

func ending(end fake.End, chunks ...string) fake.Script {
	return fake.Script{Raw: append([]string{""}, chunks...), End: end}
}

var quirks = []quirk{
	{q: "1", name: "clean end after some text", script: raw(txt("half an ans")), text: "half an ans", code: "upstream_cut"},
	{q: "1", name: "clean end of nothing is tried again", script: raw(), code: "upstream_cut", requests: 3},
	{q: "2", name: "reset after some text", script: ending(fake.EndReset, txt("half")), text: "half", code: "upstream_cut"},
	{q: "2", name: "reset before any text is tried again", script: ending(fake.EndReset), code: "upstream_cut", requests: 3},
	{q: "3", name: "finish reason without an end mark", script: raw(txt("all"), fin("stop")), text: "all", noticed: "no_end_mark"},
	{q: "3", name: "reset after the finish reason", script: ending(fake.EndReset, txt("all"), fin("stop")), text: "all", noticed: "broken_tail"},
	{q: "3", name: "end mark without a finish reason", script: raw(txt("all"), done), text: "all", noticed: "no_finish_reason"},
	{q: "4", name: "last event without its blank line", script: raw(txt("most"), strings.TrimSuffix(fin("stop"), "\n")),
		text: "most", code: "upstream_cut", noticed: "unterminated_event"},
	{q: "4", name: "the same with CRLF", script: raw("data: {\"choices\":[{\"delta\":{\"content\":\"most\"}}]}\r\n\r\ndata: {}\r\n"), text: "most", code: "upstream_cut", noticed: "unterminated_event"},
	{q: "4", name: "end mark without its blank line", script: raw(txt("all"), fin("stop"), "data: [DONE]"), text: "all", noticed: "unterminated_event"},
	{q: "5", name: "error null in every chunk", script: raw(
		dat(`{"error":null,"choices":[{"delta":{"content":"fine"}}]}`), dat(`{"error":null,"choices":[{"delta":{},"finish_reason":"stop"}]}`), done), text: "fine"},
	{q: "5", name: "empty error beside text", script: raw(
		dat(`{"error":{},"choices":[{"delta":{"content":"fi"}}]}`), dat(`{"error":"","choices":[{"delta":{"content":"ne"},"finish_reason":"stop"}]}`), done), text: "fine"},
	{q: "6", name: "error as the first event is tried again", script: raw(dat(`{"error":{"message":"x","type":"server_error"}}`), done),
		code: "upstream_unavailable", requests: 3},
	{q: "6", name: "error after some text is not", script: raw(txt("par"), dat(`{"error":{"message":"x","type":"server_error"}}`), done),
		text: "par", code: "upstream_unavailable"},
	{q: "6", name: "error with a numeric code", script: raw(txt("par"), dat(`{"error":{"message":"x","code":429}}`)), text: "par", code: "upstream_rate_limited"},
	{q: "6", name: "error without choices and without words", script: raw(dat(`{"error":{}}`), done), code: "upstream_error"},
	{q: "6", name: "error after the finish reason", script: raw(txt("all"), fin("stop"), dat(`{"error":"late"}`)), text: "all", noticed: "error_after_finish"},
	{q: "7", name: "error beside choices", script: raw(txt("kept"),
		dat(`{"error":{"code":502,"message":"x"},"choices":[{"delta":{"content":" too"},"finish_reason":"error"}]}`), done),
		text: "kept too", code: "upstream_unavailable"},
	{q: "7", name: "finish reason error alone", script: raw(txt("kept"), fin("error"), done), text: "kept", code: "upstream_error"},
	{q: "7", name: "finish reason for want of resources", script: raw(fin("insufficient_system_resource"), done), code: "upstream_overloaded", requests: 2},
	{q: "9", name: "comments everywhere", script: raw(": WAITING\n\n: WAITING\n\n:\n\n:\n", "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n: in between\n\n", fin("stop"), done), text: "hi"},
	{q: "10", name: "no space", script: raw(`data:{"choices":[{"delta":{"content":"hi"}}]}`+"\n\n", "data:[DONE]\n\n"), text: "hi"},
	{q: "10", name: "two spaces and data alone", script: raw("data\n\n", txt("hi"), fin("stop"), "data:  [DONE]\n\n"), text: "hi"},
	{q: "10", name: "CRLF", script: raw(strings.ReplaceAll(txt("hi")+fin("stop")+done, "\n", "\r\n")), text: "hi"},
	{q: "10", name: "bare CR", script: raw(strings.ReplaceAll(txt("hi")+fin("stop")+done, "\n", "\r")), text: "hi"},
	{q: "10", name: "byte order mark", script: raw("\ufeff", txt("hi"), fin("stop"), done), text: "hi"},
	{q: "10", name: "byte order mark of the fake", script: fake.Script{Text: "hi", BOM: true, CRLF: true, Comments: true, NoSpace: true, Chop: 1}, text: "hi"},
	{q: "11", name: "JSON error with status 200", script: fake.Script{Form: fake.FormJSONError, ErrorBody: `{"error":{"message":"x","type":"insufficient_quota"}}`}, code: "upstream_auth"},
	{q: "11", name: "JSON error in a list", script: fake.Script{Form: fake.FormJSONError, ErrorBody: `[{"error":{"message":"x","code":503}}]`}, code: "upstream_unavailable", requests: 3},
	{q: "11", name: "other JSON with status 200", script: fake.Script{Form: fake.FormJSONError, ErrorBody: `{"detail":"hm"}`}, code: "upstream_protocol"},
	{q: "11", name: "error object of another kind", script: raw(dat(`{"object":"error","message":"x","type":"BadRequestError","code":400}`)), code: "upstream_invalid"},
	{q: "12", name: "complete JSON answer", script: fake.Script{Form: fake.FormWhole, Text: "all of it", Reasoning: "hm", Usage: `{"total_tokens":3}`},
		text: "all of it", reasoning: "hm", usage: `{"total_tokens":3}`},
	{q: "12", name: "complete JSON answer that broke off", script: raw(`{"choices":[{"message":{"content":"al`), code: "upstream_protocol", requests: 3},
	{q: "13", name: "web page with status 200", script: fake.Script{Form: fake.FormHTML}, code: "upstream_protocol"},
	{q: "14", name: "long line", script: raw(txt(strings.Repeat("x", 300_000)), fin("stop"), done), text: strings.Repeat("x", 300_000)},
	{q: "14", name: "line above the bound", script: raw(txt("kept"), txt(strings.Repeat("x", 5000)), fin("stop"), done),
		cfg: openai.Config{MaxEvent: 4096}, text: "kept", code: "upstream_protocol"},
	{q: "14", name: "event of many lines above the bound", script: raw(txt("kept"), strings.Repeat("data: "+strings.Repeat(" ", 1000)+"\n", 9)+"\n", fin("stop"), done),
		cfg: openai.Config{MaxEvent: 4096}, text: "kept", code: "upstream_protocol"},
	{q: "15 16", name: "chunks without choices and choices without delta", script: raw(
		dat(`{"id":"","choices":[],"prompt_filter_results":[]}`), txt("hi"),
		dat(`{"choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{}}]}`), fin("stop"),
		dat(`{"choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{}}]}`), dat(`{"choices":[],"usage":{"total_tokens":3}}`), done),
		text: "hi", usage: `{"total_tokens":3}`},
	{q: "17", name: "large blocks are divided, nothing is lost", script: raw(txt(strings.Repeat("чай", 20_000)), fin("stop"), done), text: strings.Repeat("чай", 20_000)},
	{q: "18", name: "filtered after text was shown", script: raw(txt("shown"), fin("content_filter"), done), text: "shown", finish: "content_filter"},
	{q: "18", name: "filtered late", script: raw(txt("shown"), fin("stop"), fin("content_filter"), done), text: "shown", finish: "content_filter"},
	{q: "19", name: "content null, empty, absent or odd", script: raw(dat(`{"choices":[{"delta":{"role":"assistant","content":null}}]}`),
		dat(`{"choices":[{"delta":{"role":"assistant","content":""}}]}`), dat(`{"choices":[{"delta":{}}]}`), dat(`{"choices":[{"delta":null}]}`),
		dat(`{"choices":[{"delta":{"content":7}}]}`), dat(`null`), txt("hi"), fin("stop"), done), text: "hi"},
	{q: "19", name: "content in parts", script: raw(dat(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"},{"type":"x"}]}}]}`),
		fin("stop"), done), text: "hi", reasoning: "hm"},
	{q: "20", name: "both names of reasoning", script: raw(
		dat(`{"choices":[{"delta":{"reasoning_content":"a","reasoning":"a"}}]}`), dat(`{"choices":[{"delta":{"reasoning_content":"","reasoning":"b"}}]}`),
		dat(`{"choices":[{"delta":{"reasoning":{"odd":1}}}]}`), txt("2"), fin("stop"), done), text: "2", reasoning: "ab"},
	{q: "21", name: "think tags are text by default", script: raw(txt("<think>hm</think>hi"), fin("stop"), done), text: "<think>hm</think>hi"},
	{q: "21", name: "think tags in pieces", script: raw(txt("\n<th"), txt("ink>h"), txt("m <b></"), txt("thi"), txt("nk>\n\nhi </think>"), fin("stop"), done),
		cfg: openai.Config{ThinkTags: true}, text: "hi </think>", reasoning: "hm <b>"},
	{q: "21", name: "think tag that is none", script: raw(txt("<thin"), txt("g>"), fin("stop"), done), cfg: openai.Config{ThinkTags: true}, text: "<thing>"},
	{q: "21", name: "think tag begun and never ended", script: raw(txt("<think>a</th"), fin("length"), done),
		cfg: openai.Config{ThinkTags: true}, reasoning: "a</th", finish: "length"},
	{q: "21", name: "text that ends like a tag begins", script: raw(txt("<"), fin("stop"), done), cfg: openai.Config{ThinkTags: true}, text: "<"},
	{q: "23", name: "last text and finish reason together", script: raw(txt("Hel"), dat(`{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"length"}]}`), done),
		text: "Hello", finish: "length"},
	{q: "24", name: "usage on every chunk", script: raw(dat(`{"choices":[{"delta":{"content":"a"}}],"usage":{"total_tokens":1}}`),
		dat(`{"choices":[{"delta":{"content":"b"}}],"usage":{"total_tokens":2}}`), dat(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null}`), done),
		text: "ab", usage: `{"total_tokens":2}`},
	{q: "25", name: "usage in a vendor's field", script: raw(txt("a"), dat(`{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"total_tokens":4}}}`), done),
		text: "a", usage: `{"total_tokens":4}`},
	{q: "27", name: "model empty at first", script: raw(dat(`{"id":"","model":"","choices":[]}`), dat(`{"model":"m-1","choices":[{"delta":{"content":"a"}}]}`),
		dat(`{"model":"","choices":[{"delta":{"content":"b"}}]}`), dat(`{"model":null,"choices":[]}`), fin("stop"), done), text: "ab", model: "m-1"},
	{q: "35", name: "broken JSON after some text", script: raw(txt("kept"), "data: {\"choices\":[{\"delta\":{\"con\n\n", txt("never"), fin("stop"), done), text: "kept", code: "upstream_protocol"},
	{q: "35", name: "broken JSON after the finish reason", script: raw(txt("all"), fin("stop"), dat("{")), text: "all", noticed: "rubbish_after_finish"},
	{q: "37", name: "end mark, then the body stays open", script: fake.Script{Text: "all", End: fake.EndHang}, text: "all"},
	{q: "38", name: "a second choice", script: raw(dat(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`),
		dat(`{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`), fin("stop"), done), text: "a", noticed: "second_choice"},
}

// elsewhere are the quirks of chat completions that other tests prove, by the test's name.
var elsewhere = map[int]string{
	22: "TestToolCalls", 26: "TestStreamOptionsRefused", 36: "TestClocks", 39: "TestIdentityEncoding", 40: "TestKeyStaysInside",
}

// Whatever odd thing a provider does, a person sees all the text there was, once, and is told when it is not the whole answer.
//
// case: FC60, FC63, FC65, FC67, FC68, FC71, FC73, FC77
func TestQuirks(t *testing.T) {
	for _, q := range quirks {
		t.Run("Q"+strings.ReplaceAll(q.q, " ", " Q")+" "+q.name, func(t *testing.T) {
			var noticed []string
			q.cfg.Observer.Quirk = func(name string) { noticed = append(noticed, name) }
			got, srv := answered(t, q.script, q.cfg)
			assert.Equal(t, q.text, got.text)
			assert.Equal(t, q.reasoning, got.reasoning)
			require.Equal(t, q.code, got.code())
			if q.code == "" && q.finish == "" {
				q.finish = "stop"
			}
			assert.Equal(t, q.finish, got.finish)
			if q.usage != "" {
				assert.JSONEq(t, q.usage, got.usage)
			}
			if q.model != "" {
				assert.Equal(t, q.model, got.model)
			}
			assert.Len(t, srv.Requests(), max(q.requests, 1))
			if q.noticed != "" {
				assert.Contains(t, noticed, q.noticed)
			}
		})
	}
}

// Every quirk of the protocol has its test.
func TestEveryQuirkHasARow(t *testing.T) {
	foreign := []int{8, 28, 29, 30, 31, 32, 33, 34} // of other protocols
	var have []int
	for _, q := range quirks {
		for n := range strings.FieldsSeq(q.q) {
			i, err := strconv.Atoi(n)
			require.NoError(t, err)
			have = append(have, i)
		}
	}
	for n := 1; n <= 40; n++ {
		_, other := elsewhere[n]
		assert.True(t, slices.Contains(have, n) || other || slices.Contains(foreign, n), "Q%d", n)
	}
}

// A person sees the words of a model that calls tools, and each call whole and with its own arguments (Q22).
//
// case: FC78
func TestToolCalls(t *testing.T) {
	tool := func(s string) string { return dat(`{"choices":[{"delta":{"tool_calls":[` + s + `]}}]}`) }
	call := func(id, name, args string) string {
		return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, id, name, args)
	}
	for name, c := range map[string]struct {
		chunks []string
		finish string
		want   []string
		code   string
	}{
		"interleaved": {chunks: []string{
			tool(`{"index":0,"id":"A","function":{"name":"f","arguments":""}}`), tool(`{"index":1,"id":"B","function":{"name":"g","arguments":""}}`),
			tool(`{"index":0,"function":{"arguments":"{\"t\":"}}`), tool(`{"index":1,"function":{"arguments":"{\"t\":\"B\"}"}}`), tool(`{"index":0,"function":{"arguments":"\"A\"}"}}`),
		}, want: []string{call("A", "f", `{"t":"A"}`), call("B", "g", `{"t":"B"}`)}},
		"no index, by id": {chunks: []string{
			tool(`{"id":"A","function":{"name":"f"}}`), tool(`{"id":"B","function":{"name":"g"}}`), tool(`{"id":"A","function":{"arguments":"1"}}`), tool(`{"id":"B","function":{"arguments":"2"}}`),
		}, want: []string{call("A", "f", "1"), call("B", "g", "2")}},
		"no index, no id": {chunks: []string{
			tool(`{"function":{"name":"f","arguments":"1"}}`), tool(`{"function":{"arguments":"2"}}`), tool(`{"function":{"name":"g","arguments":"3"}}`),
		}, want: []string{call("call_0", "f", "12"), call("call_1", "g", "3")}},
		"name late, id and name repeated": {chunks: []string{
			tool(`{"index":0,"id":"A","function":{"arguments":"{"}}`), tool(`{"index":0,"id":"A","function":{"name":"f","arguments":"}"}}`), tool(`{"index":0,"id":"A","function":{"name":"f","arguments":null}}`),
		}, want: []string{call("A", "f", "{}")}},
		"every call under index 0": {chunks: []string{
			tool(`{"index":0,"id":"A","function":{"name":"f","arguments":"1"}}`), tool(`{"index":0,"id":"B","function":{"name":"f","arguments":"2"}}`),
		}, want: []string{call("A", "f", "1"), call("B", "f", "2")}},
		"arguments as an object": {chunks: []string{tool(`{"index":0,"id":"A","function":{"name":"f","arguments":{"a":1}}}`)}, want: []string{call("A", "f", `{"a":1}`)}},
		"the older form": {chunks: []string{
			dat(`{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{"}}}]}`), dat(`{"choices":[{"delta":{"function_call":{"arguments":"}"}}}]}`),
		}, finish: "function_call", want: []string{call("call_0", "f", "{}")}},
		"an id of its own for every piece": {chunks: []string{
			tool(`{"index":0,"id":"A","function":{"name":"f","arguments":"1"}}`), tool(`{"index":0,"id":"B","function":{"arguments":"2"}}`),
		}, want: []string{call("A", "f", "12")}},
		"no name":                            {chunks: []string{tool(`{"index":0,"id":"A","function":{"arguments":"1"}}`)}, code: "upstream_protocol"},
		"broken off for want of room":        {chunks: []string{tool(`{"index":0,"id":"A","function":{"name":"f","arguments":"{\"a\":"}}`)}, finish: "length"},
		"larger than the bound, in pieces":   {chunks: []string{strings.Repeat(tool(`{"index":0,"id":"A","function":{"name":"f","arguments":"`+strings.Repeat("x", 1000)+`"}}`), 9)}, code: "upstream_protocol"},
		"a character cut between two pieces": {chunks: []string{tool(`{"index":0,"id":"A","function":{"name":"f","arguments":"\ud83e"}}`), tool(`{"index":0,"function":{"arguments":"\uded6"}}`)}, want: []string{call("A", "f", "🫖")}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.finish == "" {
				c.finish = "tool_calls"
			}
			chunks := append([]string{txt("I call.")}, c.chunks...)
			got, _ := answered(t, raw(append(chunks, fin(c.finish), done)...), openai.Config{MaxEvent: 8000})
			assert.Equal(t, "I call.", got.text)
			require.Equal(t, c.code, got.code())
			require.Len(t, got.tools, len(c.want))
			for i := range c.want {
				assert.JSONEq(t, c.want[i], got.tools[i])
			}
			if c.code == "" && c.finish != "length" {
				assert.Equal(t, "tool_calls", got.finish)
			}
		})
	}
	t.Run("the fake's, streamed and whole", func(t *testing.T) {
		for _, form := range []fake.Form{fake.FormStream, fake.FormWhole} {
			got, _ := answered(t, fake.Script{Form: form, Text: "I call.", ToolCalls: []fake.ToolCall{{ID: "A", Name: "f", Arguments: `{"a":"b"}`}}}, openai.Config{})
			require.NoError(t, got.err)
			require.Len(t, got.tools, 1)
			assert.JSONEq(t, call("A", "f", `{"a":"b"}`), got.tools[0])
			assert.Equal(t, "tool_calls", got.finish)
		}
	})
	t.Run("a broken stream yields no half call", func(t *testing.T) {
		got, _ := answered(t, raw(txt("I call."), tool(`{"index":0,"id":"A","function":{"name":"f","arguments":"{}"}}`)), openai.Config{})
		assert.Equal(t, "upstream_cut", got.code())
		assert.Empty(t, got.tools)
	})
}

// A person with an older server gets an answer without any setting: the option that it refuses is left out from then on (Q26).
func TestStreamOptionsRefused(t *testing.T) {
	var bodies []map[string]json.RawMessage
	srv := fake.New(fake.Script{Text: "fine"})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var fields map[string]json.RawMessage
		assert.NoError(t, json.Unmarshal(body, &fields))
		bodies = append(bodies, fields)
		if fields["stream_options"] != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		srv.ServeHTTP(w, r)
	})
	src := source(t, openai.Config{URL: start(t, h), Retry: openai.Retry{Max: -1}})
	for range 2 {
		got := collect(t.Context(), t, src, ask("hello"))
		require.NoError(t, got.err)
		assert.Equal(t, "fine", got.text)
	}
	require.Len(t, bodies, 3, "the second call knows")
	assert.JSONEq(t, `{"include_usage":true}`, string(bodies[0]["stream_options"]))
	assert.NotContains(t, bodies[2], "stream_options")
}

// A server that refuses what we did not send is not asked for ever.
func TestRefusalOfAnOptionNotSent(t *testing.T) {
	got, srv := answered(t, fake.Script{Status: 400, Body: `{"error":{"message":"stream_options"}}`}, openai.Config{NoStreamOptions: true})
	assert.Equal(t, "upstream_invalid", got.code())
	assert.Len(t, srv.Requests(), 1)
}

// An absurd model name is not taken into the conversation.
func TestLongModelName(t *testing.T) {
	got, _ := answered(t, fake.Script{Text: "fine", Model: strings.Repeat("m", 300)}, openai.Config{})
	require.NoError(t, got.err)
	assert.Empty(t, got.model)
}

// A person sees words as they come: we ask for no compression, and a server that compresses all the same is named (Q39).
func TestIdentityEncoding(t *testing.T) {
	src := source(t, openai.Config{Retry: openai.Retry{Max: -1}, URL: start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "identity", r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, txt("hi")+fin("stop")+done)
		_ = z.Close()
	}))})
	got := collect(t.Context(), t, src, ask("hello"))
	assert.Equal(t, "upstream_protocol", got.code())
}

// A server that holds the body open after the end does not hold the answer open (Q37), and is left at once.
func TestEndMarkEndsAtOnce(t *testing.T) {
	srv := fake.New(fake.Script{Text: "all", End: fake.EndHang})
	src := source(t, openai.Config{URL: start(t, srv)})
	got := collect(t.Context(), t, src, ask("hello"))
	require.NoError(t, got.err)
	r, err := srv.Wait(t.Context(), 1)
	require.NoError(t, err)
	<-r.Gone
}

// A connection is used again for the next answer.
func TestConnectionIsReused(t *testing.T) {
	seen := map[string]bool{}
	srv := fake.New(fake.Script{Text: "all"})
	src := source(t, openai.Config{URL: start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		srv.ServeHTTP(w, r)
	}))})
	for range 3 {
		require.NoError(t, collect(context.Background(), t, src, ask("hello")).err)
	}
	assert.Len(t, seen, 1)
}
