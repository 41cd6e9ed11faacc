package regen

import "strings"

// thinkingTags are the wrappers in which models put their thinking when it comes inside the text.
var thinkingTags = []string{"think", "thinking", "thought", "reasoning"}

// stripThinking removes complete and unclosed thinking blocks from an unfinished answer. Code (between back ticks) stays as it
// is: an answer may speak about the tags. Nothing but white space left gives "".
func stripThinking(s string) string {
	var out strings.Builder
	stripped := false
	for i := 0; i < len(s); {
		if s[i] == '`' {
			n := codeLen(s[i:])
			out.WriteString(s[i : i+n])
			i += n
			continue
		}
		if n := blockLen(s[i:]); n > 0 {
			i, stripped = i+n, true
			continue
		}
		if s[i] == '<' && strings.TrimSpace(out.String()) == "" && cutTag(s[i:]) {
			return "" // the stop came in the middle of the opening tag
		}
		out.WriteByte(s[i])
		i++
	}
	rest := out.String()
	if strings.TrimSpace(rest) == "" {
		return ""
	}
	if stripped {
		return strings.TrimSpace(rest)
	}
	return rest
}

// stripLeadingThinking removes the thinking in front of an answer, to see whether anything follows it.
func stripLeadingThinking(s string) string {
	for {
		s = strings.TrimSpace(s)
		n := blockLen(s)
		if n == 0 {
			return s
		}
		s = s[n:]
	}
}

// blockLen is the length of the thinking block at the start of s: to its closing tag, or to the end if it has none; 0 where
// no block starts.
func blockLen(s string) int {
	if s == "" || s[0] != '<' {
		return 0
	}
	for _, tag := range thinkingTags {
		head := len(tag) + 2
		if len(s) < head || s[head-1] != '>' || !strings.EqualFold(s[1:head-1], tag) {
			continue
		}
		closing := "</" + tag + ">"
		for i := head; i+len(closing) <= len(s); i++ {
			if s[i] == '<' && strings.EqualFold(s[i:i+len(closing)], closing) {
				return i + len(closing)
			}
		}
		return len(s)
	}
	return 0
}

// cutTag says whether s is the beginning of an opening tag and nothing else.
func cutTag(s string) bool {
	for _, tag := range thinkingTags {
		if len(s) <= len(tag)+1 && strings.EqualFold(s, ("<" + tag)[:len(s)]) {
			return true
		}
	}
	return false
}

// codeLen is the length of the code at the start of s: a fence of three back ticks or more up to the next such fence, or to the
// end if it is open; a span of fewer up to its end on the same line. Ticks that open nothing are text.
func codeLen(s string) int {
	ticks := 0
	for ticks < len(s) && s[ticks] == '`' {
		ticks++
	}
	rest := s[ticks:]
	if ticks < 3 {
		rest, _, _ = strings.Cut(rest, "\n")
	}
	if end := strings.Index(rest, s[:ticks]); end >= 0 {
		return ticks + end + ticks
	}
	if ticks >= 3 {
		return len(s)
	}
	return ticks
}
