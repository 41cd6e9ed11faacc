package regen_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// A text that cannot be kept as it is gets refused, it is never silently changed.
func TestParseContentRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"number": `1`, "null": `null`, "object": `{}`, "nothing": ``, "half": `"a`, "two": `"a" "b"`,
		"NUL": `"a\u0000"`, "high alone": `"\ud800"`, "low alone": `"\udc00"`, "high high": `"\ud800\ud800"`,
		"high text": `"\ud800x"`, "high newline": `"\ud800\n0000"`, "NUL in a part": `[{"type":"text","text":"\u0000"}]`,
		"surrogate in a key": `[{"\udfff":1}]`, "text in a list": `["a"]`, "number as text": `[{"type":"text","text":1}]`,
		"invalid UTF-8": "\"\xff\"", "surrogate as UTF-8": "\"\xed\xa0\x80\"", "raw NUL": "\"\x00\"",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := regen.ParseContent([]byte(raw))
			var e *regen.ContentError
			require.ErrorAs(t, err, &e)
			require.Error(t, json.Unmarshal([]byte(`{"c":`+raw+`}`), &struct{ C regen.Content }{}))
		})
	}
	for raw, text := range map[string]string{
		`"\ud83d\ude00 \\u0000 \\ud800"`: "😀 \\u0000 \\ud800", ` "" `: "", `"\u0001"`: "\x01", `[]`: "",
	} {
		c, err := regen.ParseContent([]byte(raw))
		require.NoError(t, err, raw)
		require.Equal(t, text, c.Text())
	}
}

// A picture, an unknown part and their fields come back exactly as the person's page sent them.
func TestPartsAreKept(t *testing.T) {
	raw := `[{"type":"text","text":"a<b>&\u2028"},{"x":1.50,"type":"image","url":"data:;base64,AA=="},{"text":"c","type":"input_text"}]`
	c, err := regen.ParseContent([]byte(strings.ReplaceAll(raw, `,{`, ` , {`)))
	require.NoError(t, err)
	require.Equal(t, "a<b>&\u2028 c", c.Text())
	require.Len(t, c.Parts(), 3)
	row := regen.Row{ID: "r", Role: regen.RoleUser, Content: c}
	link, err := regen.DecodeLink(regen.Link{Chain: regen.EmptyChain, Row: &row}.Encode())
	require.NoError(t, err)
	require.Contains(t, link.Encode(), raw)
	require.True(t, link.Row.Content.IsParts())
}

// What counts as an answer is text that a person sees after thinking and tools.
func TestVisible(t *testing.T) {
	for raw, want := range map[string]bool{
		`"a"`: true, `" \n"`: false, `"<think>a</think>"`: false, `"<think>a"`: false, `" <THINK>a</think>\n b"`: true,
		`"<think>a</think><thinking>b</thinking>"`: false, `"a <think>b"`: true, `"<thinker>a"`: true, `"<think a"`: true,
		`[{"type":"text","text":"a"}]`: true, `[{"type":"image"}]`: false,
		`[{"type":"text","text":"a"},{"type":"tool_use"}]`:                            false,
		`[{"type":"tool_use"},{"type":"text","text":"a"}]`:                            true,
		`[{"type":"tool_use"},{"type":"text","text":"a"},{"type":"tool-invocation"}]`: false,
		`[{"type":"text","text":"<think>a</think>"},{"type":"text","text":" "}]`:      false,
	} {
		c, err := regen.ParseContent([]byte(raw))
		require.NoError(t, err)
		require.Equal(t, want, c.Visible(), raw)
	}
}

// A person can send a picture alone, but not nothing.
func TestEmpty(t *testing.T) {
	for raw, want := range map[string]bool{`""`: true, `" "`: true, `[]`: true, `[{"type":"text","text":" "}]`: true,
		`"a"`: false, `[{"type":"image"}]`: false, `[{"type":"text","text":"a"}]`: false} {
		c, err := regen.ParseContent([]byte(raw))
		require.NoError(t, err)
		require.Equal(t, want, c.Empty(), raw)
	}
}

// Closed and unclosed thinking goes from a stopped answer; text that only speaks about it stays.
// contract: C11
func TestStripThinking(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "",
		" \n":                                   "",
		"plain ":                                "plain ",
		"<think>a</think>b":                     "b",
		"<think>a":                              "",
		"<thi":                                  "",
		"<":                                     "",
		"a <thi":                                "a <thi",
		"a<Thinking>x</THINKING> b <think>open": "a b",
		"<think>a</think>\n\n<think>b</think> c ": "c",
		"use `<think>` to think":                  "use `<think>` to think",
		"```\n<think>\n``` and <think>x":          "```\n<think>\n``` and",
		"```\n<think>open fence":                  "```\n<think>open fence",
		"it`s <think>x</think>\ndon`t":            "it`s \ndon`t",
		"<thinker>a</thinker>":                    "<thinker>a</thinker>",
	} {
		require.Equal(t, want, regen.StripThinking(in), in)
	}
}

// Whatever arrives: it is refused, or it comes back byte for byte and can be asked anything.
func FuzzContent(f *testing.F) {
	for _, s := range []string{`"a"`, `"\ud83d\ude00"`, `"\ud800"`, `[{"type":"text","text":"<think>"}]`, `[{"type":"tool_use"}]`, `"\\u0000"`,
		`null`, `[[]]`, "\"`<think>\"", `[{"type":"text","text":"x","a":{"b":[1e5, 2]}}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := regen.ParseContent(raw)
		if err != nil {
			var e *regen.ContentError
			require.ErrorAs(t, err, &e)
			return
		}
		require.True(t, utf8.ValidString(c.Text()))
		require.NotContains(t, c.Text(), "\x00")
		require.LessOrEqual(t, len(regen.StripThinking(c.Text())), len(c.Text()))
		if c.Visible() {
			require.NotEmpty(t, c.Text())
		}
		c.Empty()
		once, err := c.MarshalJSON()
		require.NoError(t, err)
		back, err := regen.ParseContent(once)
		require.NoError(t, err)
		require.Equal(t, c.Text(), back.Text())
		twice, err := back.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, once, twice)
		d := &regen.Document{Session: "s"}
		p, err := d.Plan(regen.Command{Op: regen.OpSend, Content: c})
		if c.Empty() {
			require.ErrorIs(t, err, regen.ErrEmptyPrompt)
			return
		}
		require.NoError(t, err)
		done, err := p.Commit(regen.Mint{Run: id('r', 1), Turn: id('t', 1), Row: id('u', 1), At: 1})
		require.NoError(t, err)
		link, err := regen.DecodeLink(done.Edit.Rows.Append[0])
		require.NoError(t, err)
		require.Equal(t, done.Edit.Rows.Append[0], link.Encode())
		require.True(t, json.Valid(done.Document.Public(done.Rows[0])))
	})
}
