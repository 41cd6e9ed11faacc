package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// object appends one JSON object to b. It is a value on the caller's stack: writing a frame allocates nothing but the room in b.
type object struct {
	b []byte
	n int // fields written
}

func (w *object) key(k string) {
	if w.n > 0 {
		w.b = append(w.b, ',')
	}
	w.n++
	w.b = append(w.b, '"')
	w.b = append(w.b, k...)
	w.b = append(w.b, '"', ':')
}

func (w *object) str(k, v string) {
	w.key(k)
	w.b = AppendString(w.b, v)
}

// optional leaves the field out when v is "".
func (w *object) optional(k, v string) {
	if v != "" {
		w.str(k, v)
	}
}

// orNull writes null for "".
func (w *object) orNull(k, v string) {
	if v == "" {
		w.key(k)
		w.b = append(w.b, "null"...)
		return
	}
	w.str(k, v)
}

func (w *object) integer(k string, v uint64) {
	w.key(k)
	w.b = strconv.AppendUint(w.b, v, 10)
}

// seconds writes a time; what JSON cannot say becomes 0.
func (w *object) seconds(k string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	w.key(k)
	w.b = strconv.AppendFloat(w.b, v, 'f', -1, 64)
}

func (w *object) boolean(k string, v bool) {
	w.key(k)
	w.b = strconv.AppendBool(w.b, v)
}

// raw leaves the field out when v is empty.
func (w *object) raw(k string, v json.RawMessage) {
	if len(v) > 0 {
		w.key(k)
		w.b = append(w.b, v...)
	}
}

// raws leaves the field out when vs is empty.
func (w *object) raws(k string, vs []json.RawMessage) {
	if len(vs) > 0 {
		w.list(k, vs)
	}
}

func (w *object) list(k string, vs []json.RawMessage) {
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

func (w *object) strings(k string, vs []string) {
	if len(vs) == 0 {
		return
	}
	w.key(k)
	w.b = append(w.b, '[')
	for i, v := range vs {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = AppendString(w.b, v)
	}
	w.b = append(w.b, ']')
}

func (w *object) end() []byte { return append(w.b, '}') }

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD; everything else comes back as it was.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, s[from:i]...)
				b = append(b, "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		b = appendEscape(b, c)
		i++
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
