package demo_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/stream/upstream/demo"
)

const runA, runB = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"

// A person gets the same answer however often it is looked at, and another one from a regenerate.
func TestScriptDependsOnPromptAndRunAlone(t *testing.T) {
	assert.Equal(t, demo.Script("hello", runA), demo.Script("hello", runA))
	assert.NotEqual(t, demo.Script("hello", runA), demo.Script("hello there", runA))
	seen := map[string]bool{}
	for i := range 500 {
		seen[demo.Script("hello", fmt.Sprintf("%08x%024x", i, 0))] = true
	}
	assert.Len(t, seen, 500)
	assert.NotEqual(t, demo.Script("/think x", runA), demo.Script("/think x", runB))
}

// The answer has in it what a page must be able to draw, and the person's own words.
func TestScriptShowsEverything(t *testing.T) {
	got := demo.Script("Why is the sky blue?", runA)
	for _, want := range []string{"Why is the sky blue?", "\n### ", "\n1. **", "|---|", "\n```", "\u200d", "\n> "} {
		assert.Contains(t, got, want)
	}
	assert.True(t, strings.ContainsFunc(got, func(r rune) bool { return r >= 0x5d0 && r <= 0x6ff }), "a right-to-left line")
	assert.Equal(t, 2, strings.Count(got, "```"), "the code block is closed")
}

// The person's words stand in the answer as words, whatever they are.
func TestScriptQuotes(t *testing.T) {
	got := demo.Script("<img src=x onerror=alert(1)>\n# `code` |\u202e", runA)
	assert.Contains(t, got, "\\<img src=x onerror=alert(1)\\> \\# \\`code\\` \\|")
	assert.NotContains(t, got, "\u202e")
	long := demo.Script(strings.Repeat("word ", 100), runA)
	assert.Contains(t, long, "word…")
	assert.NotContains(t, long, strings.Repeat("word ", 20))
	assert.True(t, utf8.ValidString(demo.Script(strings.Repeat("👩🏽‍🚒", 90), runA)))
	assert.Contains(t, demo.Script(" \n", runA), "no words")
}

// Each command does what its line says.
func TestCommandTexts(t *testing.T) {
	for prompt, want := range map[string]string{
		"/echo  two  spaces \n":       " two  spaces \n",
		"/echo\nnext line":            "next line",
		"/fast /echo x":               "x",
		"/slow\n /fast /echo /long 3": "/long 3",
		"/error":                      "",
		"/overload":                   "",
	} {
		assert.Equal(t, want, demo.Script(prompt, runA), "%q", prompt)
	}
	assert.Contains(t, demo.Script("/echo", runA), "nothing to echo")
	for _, c := range demo.Commands() {
		assert.Contains(t, demo.Script("/help", runA), c.Usage)
		assert.NotEmpty(t, c.Help)
		assert.NotContains(t, c.Help, "\n")
		o := demo.Parse(c.Name)
		assert.True(t, o.Name == c.Name || o.Pace != demo.PaceNormal, "%s is a command", c.Name)
	}
	assert.Empty(t, demo.Thoughts("hello", runA))
	assert.Contains(t, demo.Thoughts("/think about rain", runA), "about rain")
	assert.Contains(t, demo.Script("/think about rain", runA), "about rain")
	assert.NotContains(t, demo.Script("/think about rain", runA), "/think about")
}

// /long gives exactly as many words as asked for.
func TestLongCounts(t *testing.T) {
	for arg, want := range map[string]int{
		"1": 1, "2": 2, "17": 17, "500": 500, "5000": 5000, "20000": 20000, "20001": 20000, "99999999999999999999": 300, "-4": 1, "0": 1, "": 300, "x": 300, "40 words please": 40,
	} {
		got := demo.Script("/long "+arg, runA)
		assert.Len(t, strings.Fields(got), want, "/long %s", arg)
		assert.True(t, strings.HasSuffix(got, "."), "/long %s ends with a full stop", arg)
	}
	assert.NotEqual(t, demo.Script("/long 50", runA), demo.Script("/long 50", runB))
}

// What looks like a command and is none gets an ordinary answer.
func TestParse(t *testing.T) {
	for prompt, want := range map[string]demo.Order{
		"hello":             {Arg: "hello"},
		" /help ":           {Name: "/help"},
		"/helpme":           {Arg: "/helpme"},
		"say /echo x":       {Arg: "say /echo x"},
		"/fast":             {Pace: demo.PaceFast},
		"/fast /long 500":   {Name: "/long", Arg: "500", Words: 500, Pace: demo.PaceFast},
		"/slow what is it?": {Arg: "what is it?", Pace: demo.PaceSlow},
		"/echo /fast x":     {Name: "/echo", Arg: "/fast x"},
		"/echo\u2003x":      {Name: "/echo", Arg: "x"},
		"":                  {},
	} {
		assert.Equal(t, want, demo.Parse(prompt), "%q", prompt)
	}
}

// No piece of an answer ends inside a character or an emoji, and nothing is lost between them.
func TestCut(t *testing.T) {
	for _, text := range []string{
		"", " ", "one", "👨‍👩‍👧‍👦👩🏽‍🚒🏳️‍🌈🇩🇪🇫🇷1️⃣", strings.Repeat("漢字", 200), strings.Repeat("é", 100), "a\r\n\r\nb", strings.Repeat("x", 5000), strings.Repeat(" ", 100),
		demo.Script("hello", runA), demo.Script("/long 20000", runA),
	} {
		pieces := demo.Cut(text, runA)
		require.Equal(t, text, strings.Join(pieces, ""))
		assert.Equal(t, pieces, demo.Cut(text, runA))
		for _, p := range pieces {
			assert.NotEmpty(t, p)
			assert.LessOrEqual(t, len(p), 400)
			for _, joined := range []string{"\u200d", "\ufe0f", "\u20e3", "\u0301", "\U0001f3fd", "\n"} {
				if joined != "\n" {
					assert.False(t, strings.HasPrefix(p, joined), "piece %q begins inside a character", p)
				}
			}
			assert.False(t, strings.HasSuffix(p, "\u200d"), "piece %q ends inside an emoji", p)
		}
	}
	assert.Greater(t, len(demo.Cut(demo.Script("hello", runA), runA)), 60, "an answer comes in many pieces")
}

// Any prompt gets an answer of whole characters.
func FuzzScript(f *testing.F) {
	f.Add("hello", runA)
	f.Add("/fast /long 77", runB)
	f.Add("/echo 👩🏽‍🚒", "")
	f.Fuzz(func(t *testing.T, prompt, run string) {
		text := demo.Script(prompt, run)
		if strings.Join(demo.Cut(text, run), "") != text {
			t.Fatal("pieces are not the text")
		}
		if !utf8.ValidString(prompt) {
			return
		}
		if !utf8.ValidString(text) {
			t.Fatal("not UTF-8")
		}
		for _, p := range demo.Cut(text, run) {
			if p == "" || !utf8.ValidString(p) {
				t.Fatalf("piece %q", p)
			}
		}
	})
}
