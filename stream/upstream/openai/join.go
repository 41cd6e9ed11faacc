package openai

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// joiner decodes the JSON texts of consecutive pieces and holds back a character that a provider has cut in two: half of a surrogate
// pair, or the first bytes of a UTF-8 sequence.
type joiner struct{ rest string }

// text decodes one piece: a text, or a list of typed parts of which only text parts count (thoughts come back apart). Anything else
// is nothing.
func (j *joiner) text(raw json.RawMessage) (text, thoughts string) {
	switch {
	case len(raw) == 0:
		return "", ""
	case raw[0] == '"':
		return j.join(string(raw)), ""
	case raw[0] != '[':
		return "", ""
	}
	var parts []struct {
		Type     loose           `json:"type"`
		Text     json.RawMessage `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		switch p.Type {
		case "text", "output_text":
			t, _ := j.text(p.Text)
			text += t
		case "thinking":
			t, _ := new(joiner).text(p.Thinking)
			thoughts += t
		}
	}
	return text, thoughts
}

// join decodes a quoted text behind what was held back.
func (j *joiner) join(quoted string) string {
	inner := j.rest + quoted[1:len(quoted)-1]
	cut := len(inner) - unfinished(inner)
	inner, j.rest = inner[:cut], inner[cut:]
	return unquote(inner)
}

// flush gives what was held back when no more comes: a sign that a character is missing.
func (j *joiner) flush() string {
	rest := j.rest
	j.rest = ""
	return unquote(rest)
}

func unquote(inner string) string {
	if inner == "" {
		return ""
	}
	var s loose
	_ = s.UnmarshalJSON([]byte(`"` + inner + `"`))
	return string(s)
}

// unfinished is the number of bytes at the end of a JSON text's inside that are the first part of a character.
func unfinished(inner string) int {
	const escape = len(`\ud83d`)
	if n := len(inner) - escape; n >= 0 && highSurrogate(inner[n:]) {
		slashes := len(inner[:n]) - len(strings.TrimRight(inner[:n], `\`))
		if slashes%2 == 0 {
			return escape
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(inner); n++ {
		if b := inner[len(inner)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(inner[len(inner)-n:]) {
				return n
			}
			break
		}
	}
	return 0
}

// highSurrogate says whether s is a \u escape of the first half of a pair.
func highSurrogate(s string) bool {
	return s[0] == '\\' && s[1] == 'u' && (s[2] == 'd' || s[2] == 'D') && strings.IndexByte("89abAB", s[3]) >= 0
}
