package demo

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	wordSplit = 8  // a word of more characters may come in two pieces
	longRun   = 24 // a run of so many characters without a space is cut somewhere
)

// Cut divides a text into the pieces in which a run sends it. Joined they are the text; each is valid UTF-8 if the text is, and none
// ends inside a character or an emoji. The empty text has no pieces.
func Cut(text, run string) []string {
	dice := newDice("cut", run, text)
	var pieces []string
	for text != "" {
		n := nextWord(text)
		// Mostly one word, sometimes two or three: that is how models send.
		for more := dice.IntN(6); more >= 4 && n < len(text); more-- {
			n += nextWord(text[n:])
		}
		if word := text[:n]; utf8.RuneCountInString(word) > wordSplit && dice.IntN(3) == 0 {
			n = middle(word, dice.IntN(len(word)))
		}
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// nextWord is the length in bytes of the white space and the word at the head of text, at most longRun characters where the text may
// be cut at all.
func nextWord(text string) int {
	word := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	if word == len(text) {
		return word
	}
	end := strings.IndexFunc(text[word:], unicode.IsSpace)
	if end < 0 {
		end = len(text) - word
	}
	count, prev := 0, rune(0)
	for i, r := range text[word : word+end] {
		if count++; count > longRun && breakable(prev, r) {
			return word + i
		}
		prev = r
	}
	return word + end
}

// middle finds the first place at or behind byte at where the word may be cut; the whole word if there is none.
func middle(word string, at int) int {
	prev := rune(0)
	for i, r := range word {
		if i > 0 && i >= at && breakable(prev, r) {
			return i
		}
		prev = r
	}
	return len(word)
}

// breakable says whether a and b may come in two pieces. It is not the Unicode rule for what a reader takes for one character, but
// errs only to the side of not cutting.
func breakable(a, b rune) bool {
	const joiner = 0x200d
	switch {
	case a == joiner || b == joiner, a == '\r' && b == '\n':
		return false
	case unicode.In(b, unicode.Mn, unicode.Me, unicode.Mc, unicode.Cf, unicode.Variation_Selector):
		return false
	case b >= 0x1f3fb && b <= 0x1f3ff: // skin tones
		return false
	case regional(a) && regional(b): // flags
		return false
	default:
		return true
	}
}

func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }
