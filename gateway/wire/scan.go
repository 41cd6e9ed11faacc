package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// NextObject cuts the first JSON object off a message, which holds one object or several separated by newlines. obj is nil when
// nothing is left. The object is whole but not yet checked. After an error nothing of the rest can be trusted.
func NextObject(msg []byte) (obj, rest []byte, err error) {
	msg = bytes.TrimLeft(msg, " \t\r\n")
	if len(msg) == 0 {
		return nil, nil, nil
	}
	if msg[0] != '{' {
		return nil, nil, badf("not a JSON object")
	}
	end := valueEnd(msg, 0)
	if end < 0 {
		return nil, nil, badf("not a whole JSON object")
	}
	rest = bytes.TrimLeft(msg[end:], " \t\r")
	if len(rest) > 0 && rest[0] != '\n' {
		return nil, nil, badf("objects must be separated by newlines")
	}
	return msg[:end], rest, nil
}

// valueEnd gives the index after the value that begins at i, or -1 where there is none. It only counts brackets and skips strings:
// right for valid JSON, harmless for the rest.
func valueEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i) - 1; i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			continue
		default: // a number or a word: it ends before the next structural byte
			for i+1 < len(b) && !structural(b[i+1]) {
				i++
			}
		}
		if depth <= 0 {
			return i + 1
		}
	}
	return -1
}

func structural(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '[', ']', '{', '}', '"':
		return true
	}
	return false
}

// stringEnd gives the index after the string that begins at i, or -1.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// eachField calls fn for every field of a valid JSON object, in order. Values alias obj.
func eachField(obj []byte, fn func(name string, value []byte) error) error {
	i := skipSpace(obj, 1)
	for i < len(obj) && obj[i] != '}' {
		end := stringEnd(obj, i)
		name, ok := unquote(obj[i:end])
		if !ok {
			return badf("malformed field name")
		}
		i = skipSpace(obj, end) // at the colon
		i = skipSpace(obj, i+1) // at the value
		end = valueEnd(obj, i)  // valid JSON: there is one
		if end < 0 || end < i {
			return badf("malformed JSON")
		}
		if err := fn(name, obj[i:end]); err != nil {
			return err
		}
		if i = skipSpace(obj, end); i < len(obj) && obj[i] == ',' {
			i = skipSpace(obj, i+1)
		}
	}
	return nil
}

// elements gives the elements of a valid JSON array, copied.
func elements(arr []byte) []json.RawMessage {
	var out []json.RawMessage
	i := skipSpace(arr, 1)
	for i < len(arr) && arr[i] != ']' {
		end := valueEnd(arr, i)
		if end < 0 {
			break
		}
		out = append(out, bytes.Clone(arr[i:end]))
		if i = skipSpace(arr, end); i < len(arr) && arr[i] == ',' {
			i = skipSpace(arr, i+1)
		}
	}
	return out
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// unquote reads a valid JSON string.
func unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// checkText refuses valid JSON that holds, in any string, what may not be stored: a NUL or a lone surrogate. It looks at the bytes,
// because the JSON package turns a lone surrogate into U+FFFD without a word. It gives "" or what is wrong.
func checkText(raw []byte) string {
	if !utf8.Valid(raw) {
		return "text is not UTF-8"
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' { // in valid JSON a backslash stands only inside a string, and escapes are whole
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		unit := hexUnit(raw[i+1:])
		i += 4
		switch {
		case unit == 0:
			return "text holds a NUL"
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return "text holds a lone surrogate"
		case unit >= 0xD800 && unit <= 0xDBFF:
			low := raw[i+1:]
			if len(low) < 6 || low[0] != '\\' || low[1] != 'u' || hexUnit(low[2:])>>10 != 0xDC00>>10 {
				return "text holds a lone surrogate"
			}
			i += 6
		}
	}
	return ""
}

// hexUnit reads the four hex digits of an escape in valid JSON.
func hexUnit(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return 0 // cannot happen in valid JSON; 0 is refused
	}
	return n
}
