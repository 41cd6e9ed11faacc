package regen

import "strings"

// maxTitle is the length of a title, in characters.
const maxTitle = 60

// titleOf makes a title of the first prompt: its first 60 characters on one line, cut at a word where there is one.
func titleOf(prompt string) string {
	words := strings.Join(strings.Fields(prompt), " ")
	runes := []rune(words)
	if len(runes) <= maxTitle {
		return words
	}
	cut := string(runes[:maxTitle])
	if runes[maxTitle] == ' ' {
		return cut
	}
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		return cut[:i]
	}
	return cut
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
