package openai_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/stream/turn"
	"holdfast/stream/upstream/fake"
	"holdfast/stream/upstream/openai"
)

const tea = "чай, お茶, 🫖"

// good is a stream with everything in it that an ordinary answer has.
func good() string {
	return ": hello\n\n" + rsn("hm, 🤔") + txt(tea) + txt(" and more\r\n") +
		dat(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"A","function":{"name":"f","arguments":"{}"}}]}}]}`) +
		fin("tool_calls") + dat(`{"choices":[],"usage":{"total_tokens":3}}`) + done
}

// However the network cuts a stream, a person reads the same words, and no letter is broken.
//
// case: FC61, FC66, FC86
func TestEveryCut(t *testing.T) {
	for name, stream := range map[string]string{
		"LF": good(), "CRLF": strings.ReplaceAll(good(), "\n", "\r\n"), "CR": strings.ReplaceAll(good(), "\n", "\r"), "BOM": "\ufeff" + good(),
	} {
		t.Run(name, func(t *testing.T) {
			whole := collect(t.Context(), t, ofCanned(t, func() io.Reader { return strings.NewReader(stream) }), ask("x"))
			require.NoError(t, whole.err)
			require.Equal(t, tea+" and more\r\n", whole.text)
			require.Equal(t, "hm, 🤔", whole.reasoning)
			require.Len(t, whole.tools, 1)
			var cut int
			src := ofCanned(t, func() io.Reader {
				return io.MultiReader(strings.NewReader(stream[:cut]), strings.NewReader(stream[cut:]))
			})
			for cut = range len(stream) {
				require.Equal(t, whole, collect(t.Context(), t, src, ask("x")), "cut at byte %d", cut)
			}
			bytewise := ofCanned(t, func() io.Reader { return iotest.OneByteReader(strings.NewReader(stream)) })
			assert.Equal(t, whole, collect(t.Context(), t, bytewise, ask("x")))
			late := ofCanned(t, func() io.Reader { return iotest.DataErrReader(strings.NewReader(stream)) })
			assert.Equal(t, whole, collect(t.Context(), t, late, ask("x")))
		})
	}
}

// Through a real connection too, one byte at a time.
//
// case: FC86
func TestSplitCharactersOverTheNetwork(t *testing.T) {
	got, _ := answered(t, fake.Script{Text: tea, Chop: 1, CRLF: true}, openai.Config{})
	require.NoError(t, got.err)
	assert.Equal(t, tea, got.text)
}

// A provider that cuts a character between two events leaves no broken letter either.
func TestCharacterCutBetweenEvents(t *testing.T) {
	content := func(inner string) string { return dat(`{"choices":[{"delta":{"content":"` + inner + `"}}]}`) }
	for name, c := range map[string]struct {
		chunks []string
		want   string
	}{
		"surrogate pair":                  {[]string{content(`a\ud83e`), content(``), content(`\uDED6b`)}, "a🫖b"},
		"pair, then end":                  {[]string{content(`a\ud83e`)}, "a\ufffd"},
		"half a pair, then something":     {[]string{content(`a\ud83e`), content(`b`)}, "a\ufffdb"},
		"a backslash that only looks so":  {[]string{content(`a\\ud83e`), content(`b`)}, `a\ud83eb`},
		"bytes of a character":            {[]string{content("a\xf0\x9f"), content("\xab\x96b")}, "a🫖b"},
		"one byte each":                   {[]string{content("\xf0"), content("\x9f"), content("\xab"), content("\x96")}, "🫖"},
		"bytes that never become a whole": {[]string{content("a\xf0\x9f"), content("b")}, "a\ufffd\ufffdb"},
		"a NUL":                           {[]string{content(`a\u0000b`)}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			stream := strings.Join(c.chunks, "") + fin("stop") + done
			got := collect(t.Context(), t, ofCanned(t, func() io.Reader { return strings.NewReader(stream) }), ask("x"))
			require.NoError(t, got.err)
			assert.Equal(t, c.want, got.text)
		})
	}
}

// A long piece arrives whole up to the bound, and above it the run fails with the earlier text kept.
//
// case: FC65
func TestLongLines(t *testing.T) {
	for _, n := range []int{65_536, 300_000, 4_000_000, 5_000_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			got, _ := answered(t, raw(txt("first"), txt(strings.Repeat("x", n)), fin("stop"), done), openai.Config{})
			if n > 4<<20 {
				assert.Equal(t, "upstream_protocol", got.code())
				assert.Equal(t, "first", got.text)
				return
			}
			require.NoError(t, got.err)
			assert.Len(t, got.text, len("first")+n)
		})
	}
}

// endless is a body of one letter without an end; it counts what is read of it.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.n += len(p)
	return len(p), nil
}

// A line, a page or a JSON answer that never ends is left early, whatever it is.
func TestEndlessBodies(t *testing.T) {
	for _, head := range []string{"data: ", ": ", `{"choices":[{"message":{"content":"`, "<html>"} {
		body := &endless{}
		src := source(t, openai.Config{
			URL: "http://model.example", Retry: openai.Retry{Max: -1}, MaxEvent: 8 << 10, MaxBody: 8 << 10,
			Client: clientOf(func() io.Reader { return io.MultiReader(strings.NewReader(head), body) }),
		})
		got := collect(t.Context(), t, src, ask("x"))
		assert.Equal(t, "upstream_protocol", got.code(), head)
		assert.LessOrEqual(t, body.n, 64<<10, head)
	}
}

// Whatever bytes come, an answer ends once, with a reason or an error, and shows valid text.
func FuzzStream(f *testing.F) {
	f.Add([]byte(good()))
	f.Add([]byte(strings.ReplaceAll(good(), "\n", "\r")))
	for _, q := range quirks {
		if body := strings.Join(q.script.Raw, ""); len(body) < 2000 {
			f.Add([]byte(body))
		}
	}
	f.Add([]byte(`{"choices":[{"message":{"content":"x","tool_calls":[{}]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, think := range []bool{false, true} {
			src := source(t, openai.Config{
				URL: "http://model.example", Client: clientOf(func() io.Reader { return bytes.NewReader(body) }),
				Retry: openai.Retry{Max: -1}, MaxEvent: 4096, MaxBody: 4096, ThinkTags: think,
			})
			ends := 0
			for d, err := range src.Generate(t.Context(), ask("x")) {
				if !utf8.ValidString(d.Text) || strings.Contains(d.Text, "\x00") {
					t.Fatalf("bad text %q", d.Text)
				}
				if err != nil {
					if _, ok := err.(*turn.SourceError); !ok {
						t.Fatalf("error for people of another type: %v", err)
					}
				}
				if err != nil || d.Finish != "" {
					ends++
				}
			}
			if ends != 1 {
				t.Fatalf("%d ends", ends)
			}
		}
	})
}
