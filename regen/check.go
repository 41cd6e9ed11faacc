package regen

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CheckJSON refuses raw JSON that may not be stored: malformed, invalid UTF-8, a NUL or a lone surrogate in a string. It
// looks at the raw bytes because the JSON package turns a lone surrogate into U+FFFD without a word. The error is a
// *ContentError.
func CheckJSON(raw []byte) error {
	if !utf8.Valid(raw) {
		return &ContentError{Reason: "invalid UTF-8"}
	}
	if !json.Valid(raw) {
		return &ContentError{Reason: "invalid JSON"}
	}
	for i := 0; i < len(raw); i++ {
		// In valid JSON a backslash stands only inside a string, and escapes are whole.
		if raw[i] != '\\' {
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
			return &ContentError{Reason: "NUL character"}
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return &ContentError{Reason: "lone surrogate"}
		case unit >= 0xD800 && unit <= 0xDBFF:
			rest := raw[i+1:]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
				return &ContentError{Reason: "lone surrogate"}
			}
			if low := hexUnit(rest[2:]); low < 0xDC00 || low > 0xDFFF {
				return &ContentError{Reason: "lone surrogate"}
			}
			i += 6
		}
	}
	return nil
}

// hexUnit reads the four hex digits of a checked escape.
func hexUnit(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return 0 // cannot happen in valid JSON; 0 is refused
	}
	return n
}

// checkText is CheckJSON for a string that is not JSON.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return &ContentError{Reason: "invalid UTF-8"}
	}
	if strings.IndexByte(s, 0) >= 0 {
		return &ContentError{Reason: "NUL character"}
	}
	return nil
}
