package regen

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// fieldWriter builds one JSON object. Rows are written by hand because their bytes are hashed: the order is fixed, and raw
// values go in as they are, which the JSON package would escape again.
type fieldWriter struct{ b []byte }

func (w *fieldWriter) key(k string) {
	if len(w.b) == 0 {
		w.b = append(w.b, '{')
	} else {
		w.b = append(w.b, ',')
	}
	w.b = appendString(w.b, k)
	w.b = append(w.b, ':')
}

func (w *fieldWriter) str(k, v string) {
	if v != "" {
		w.key(k)
		w.b = appendString(w.b, v)
	}
}

func (w *fieldWriter) num(k string, v float64) {
	if v != 0 {
		w.key(k)
		w.b = appendNumber(w.b, v)
	}
}

func (w *fieldWriter) flag(k string, v bool) {
	if v {
		w.key(k)
		w.b = append(w.b, "true"...)
	}
}

func (w *fieldWriter) raw(k string, v json.RawMessage) {
	if len(v) > 0 {
		w.key(k)
		w.b = append(w.b, v...)
	}
}

func (w *fieldWriter) raws(k string, vs []json.RawMessage) {
	if len(vs) == 0 {
		return
	}
	w.key(k)
	w.b = append(w.b, '[')
	for i, v := range vs {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, v...)
	}
	w.b = append(w.b, ']')
}

func (w *fieldWriter) strs(k string, vs []string) {
	if len(vs) == 0 {
		return
	}
	w.key(k)
	w.b = append(w.b, '[')
	for i, v := range vs {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = appendString(w.b, v)
	}
	w.b = append(w.b, ']')
}

func (w *fieldWriter) end() []byte {
	if len(w.b) == 0 {
		w.b = append(w.b, '{')
	}
	return append(w.b, '}')
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string: only what must be escaped is; invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// appendNumber writes the shortest form that reads back equal; what JSON cannot say becomes 0.
func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, '0')
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// validTime says whether t may be a start or an end: seconds since 1970, finite and after it.
func validTime(t float64) bool { return t > 0 && !math.IsInf(t, 0) }
