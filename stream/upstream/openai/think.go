package openai

import "strings"

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// splitter takes <think>…</think> at the start of an answer for reasoning. Tags may come in any pieces.
type splitter struct {
	state int // 0: nothing seen yet, 1: inside, 2: behind
	held  string
}

// split divides a piece of text.
func (s *splitter) split(text string) (reasoning, answer string) {
	text = s.held + text
	s.held = ""
	if s.state == 0 {
		start := strings.TrimLeft(text, " \r\n\t")
		switch {
		case strings.HasPrefix(start, openTag):
			s.state, text = 1, start[len(openTag):]
		case strings.HasPrefix(openTag, start):
			s.held = text
			return "", ""
		default:
			s.state = 2
		}
	}
	if s.state == 2 {
		return "", text
	}
	if inside, behind, found := strings.Cut(text, closeTag); found {
		s.state = 2
		return inside, strings.TrimLeft(behind, "\r\n")
	}
	keep := tagStart(text)
	s.held = text[len(text)-keep:]
	return text[:len(text)-keep], ""
}

// flush gives what is held when no more comes.
func (s *splitter) flush() (reasoning, answer string) {
	held := s.held
	s.held = ""
	if s.state == 1 {
		return held, ""
	}
	return "", held
}

// tagStart is the length of the longest end of text that begins a closing tag.
func tagStart(text string) int {
	for n := min(len(closeTag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, closeTag[:n]) {
			return n
		}
	}
	return 0
}
