package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
)

// quoteRunes is how much of the person's words an answer repeats.
const quoteRunes = 80

// Script is the text of the answer to a prompt in a run: every text delta, joined. A run that fails or stalls sends what Script
// gives before it does; one that fails before its first piece has the empty script.
func Script(prompt, run string) string {
	o := Parse(prompt)
	dice := newDice("script", run, prompt)
	switch o.Name {
	case "/echo":
		if strings.TrimSpace(o.Arg) == "" {
			return "There is nothing to echo: write some text behind `/echo`."
		}
		return o.Arg
	case "/long":
		return longText(dice, o.Words)
	case "/help":
		return helpText()
	case "/error", "/overload":
		return ""
	case "/error-mid":
		return "This answer will not come to its end. " + pick(dice, remarks) + " And then, in the middle of the"
	case "/stall":
		return "I will say this much and then fall silent. " + pick(dice, remarks) + " Press stop to end me…"
	case "/tool":
		return "I would look that up, so I call a tool. Nothing here runs it."
	default:
		return answer(dice, o.Arg, run)
	}
}

// Thoughts is the reasoning that goes before the answer: empty except for /think.
func Thoughts(prompt, run string) string {
	o := Parse(prompt)
	if o.Name != "/think" {
		return ""
	}
	dice := newDice("thoughts", run, prompt)
	lines := append([]string{fmt.Sprintf(thoughts[0], quote(o.Arg))}, thoughts[1:]...)
	return strings.Join(lines[:3+dice.IntN(len(lines)-2)], "\n\n") + "\n"
}

// answer is the plain answer: something of everything that a page must be able to draw.
func answer(dice *rand.Rand, words, run string) string {
	var b strings.Builder
	title, opening := "Hello", "You sent no words, so I choose the topic myself."
	if q := quote(words); q != "" {
		title, opening = "About “"+q+"”", fmt.Sprintf(pick(dice, openings), q)
	}
	fmt.Fprintf(&b, "## %s\n\n%s ", title, opening)
	said := some(dice, 3, remarks)
	fmt.Fprintf(&b, "%s %s\n\n", said[0], said[1])
	b.WriteString("### What matters\n\n")
	for i, p := range some(dice, 3+dice.IntN(3), points) {
		fmt.Fprintf(&b, "%d. %s\n", i+1, p)
	}
	b.WriteString("\n### What happens when\n\n| What | Then | |\n|---|---|:-:|\n")
	b.WriteString(strings.Join(some(dice, 3, tableRows), "\n"))
	fmt.Fprintf(&b, "\n\n### In code\n\n%s\n\n", pick(dice, snippets))
	fmt.Fprintf(&b, "> %s\n\n%s\n\n", said[2], pick(dice, rightToLeft))
	fmt.Fprintf(&b, "%s\n\n*Take %s.*\n", pick(dice, closings), take(run))
	return b.String()
}

// take names the run in the answer, so that two runs never give the same text, however the dice fall.
func take(run string) string {
	if run == "" {
		return "one"
	}
	if len(run) > 8 {
		run = run[:8]
	}
	return escape(strings.ToValidUTF8(run, ""))
}

// longText is exactly n words in paragraphs.
func longText(dice *rand.Rand, n int) string {
	var b strings.Builder
	last, line := "", 0
	for left := n; left > 0; {
		s := pick(dice, sentences)
		if s == last {
			continue // a sentence twice in a row reads like a fault
		}
		last = s
		words := strings.Fields(s)
		if b.Len() > 0 {
			if line++; line%5 == 0 {
				b.WriteString("\n\n")
			} else {
				b.WriteByte(' ')
			}
		}
		if len(words) > left {
			words = words[:left]
			words[left-1] = strings.TrimRight(words[left-1], ".,") + "."
		}
		b.WriteString(strings.Join(words, " "))
		left -= len(words)
	}
	return b.String()
}

// helpText lists the commands.
func helpText() string {
	var b strings.Builder
	b.WriteString("I am the demo model. These words do something:\n\n")
	for _, c := range Commands() {
		fmt.Fprintf(&b, "- `%s` %s\n", c.Usage, c.Help)
	}
	b.WriteString("\nAnything else gets an answer.\n")
	return b.String()
}

// quote shortens the person's words to one line that markdown shows as they were written.
func quote(words string) string {
	runes := []rune(strings.Join(strings.Fields(strings.Map(printable, words)), " "))
	if len(runes) <= quoteRunes {
		return escape(string(runes))
	}
	cut := quoteRunes
	for cut > quoteRunes/2 && runes[cut] != ' ' {
		cut--
	}
	if runes[cut] != ' ' { // one long word: cut where a reader sees two characters
		for cut = quoteRunes; cut > 1 && !breakable(runes[cut-1], runes[cut]); cut-- {
		}
	}
	return escape(strings.TrimSpace(string(runes[:cut]))) + "…"
}

// printable drops what would disturb the text around a quotation: controls, and marks that turn the direction of what follows.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return -1
	default:
		return r
	}
}

// escape puts a backslash before what markdown or HTML would take for its own.
func escape(s string) string {
	return markdown.Replace(s)
}

var markdown = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "#", `\#`, "|", `\|`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "~", `\~`,
)
