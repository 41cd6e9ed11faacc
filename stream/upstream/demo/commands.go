package demo

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWords is the most words that /long gives.
const MaxWords = 20000

// defaultWords is what /long gives without a number.
const defaultWords = 300

// Command is one thing a person may ask of the demo model by a slash word.
type Command struct {
	// Name is the slash word, such as "/long".
	Name string
	// Usage is the word with its argument, such as "/long N".
	Usage string
	// Help is one line for the page.
	Help string
}

// Commands lists the slash commands in the order in which a page shows them. The slice is the caller's own.
func Commands() []Command {
	return []Command{
		{"/help", "/help", "lists these commands"},
		{"/echo", "/echo TEXT", "answers with exactly TEXT"},
		{"/long", "/long N", "answers with exactly N words (up to 20000)"},
		{"/think", "/think TEXT", "thinks aloud first, then answers"},
		{"/slow", "/slow TEXT", "answers at about 3 pieces a second; may stand before another command"},
		{"/fast", "/fast TEXT", "answers without waiting; may stand before another command"},
		{"/tool", "/tool TEXT", "ends with a call of a tool"},
		{"/stall", "/stall", "says a little, then nothing until you press stop"},
		{"/error", "/error", "fails before the first word"},
		{"/error-mid", "/error-mid", "fails in the middle of the answer"},
		{"/overload", "/overload", "fails as a provider does that has too much to do"},
	}
}

// Pace is how fast an order wants its answer.
type Pace int

// The paces. PaceNormal is the zero value: what the source was configured with.
const (
	PaceNormal Pace = iota
	PaceSlow        // about 3 pieces a second
	PaceFast        // no waiting
)

// Order is what a prompt asks of the demo model.
type Order struct {
	// Name is the command's slash word; "" is a plain prompt.
	Name string
	// Arg is the prompt after its commands. For /echo it is exact; otherwise white space at its ends is cut off.
	Arg string
	// Words is the number of words for /long, 1 to MaxWords; 0 for every other command.
	Words int
	// Pace is what /slow or /fast asked for; the last one counts.
	Pace Pace
}

// Parse reads the commands at the head of a prompt. A slash word that is not a command is part of a plain prompt.
func Parse(prompt string) Order {
	var o Order
	rest := strings.TrimLeftFunc(prompt, unicode.IsSpace)
	for {
		word, after := firstWord(rest)
		switch word {
		case "/slow":
			o.Pace, rest = PaceSlow, strings.TrimLeftFunc(after, unicode.IsSpace)
		case "/fast":
			o.Pace, rest = PaceFast, strings.TrimLeftFunc(after, unicode.IsSpace)
		case "/echo":
			o.Name, o.Arg = word, after
			return o
		case "/long":
			o.Name, o.Arg, o.Words = word, strings.TrimSpace(after), wordCount(after)
			return o
		case "/help", "/think", "/tool", "/stall", "/error", "/error-mid", "/overload":
			o.Name, o.Arg = word, strings.TrimSpace(after)
			return o
		default:
			o.Arg = strings.TrimSpace(rest)
			return o
		}
	}
}

// firstWord cuts s after its first word and the one white-space character behind that.
func firstWord(s string) (word, after string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return s[:i], s[i+n:]
}

// wordCount reads /long's number; what is no number gives the default.
func wordCount(arg string) int {
	word, _ := firstWord(strings.TrimSpace(arg))
	n, err := strconv.Atoi(word)
	switch {
	case err != nil:
		return defaultWords
	case n < 1:
		return 1
	default:
		return min(n, MaxWords)
	}
}
