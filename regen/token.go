package regen

import (
	"strconv"
	"strings"
)

// Token proves that a user row was written or re-stamped for one run: "<run>:<start time>", the time with at most 17
// significant digits. It is "" for a blank run or a time that is not finite and above 0.
func Token(run string, startedAt float64) string {
	run = strings.TrimSpace(run)
	if run == "" || !validTime(startedAt) {
		return ""
	}
	return run + ":" + formatStart(startedAt)
}

// ValidToken says whether s is a token that Token could have made.
func ValidToken(s string) bool {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return false
	}
	at, err := strconv.ParseFloat(s[i+1:], 64)
	return err == nil && Token(s[:i], at) == s
}

// formatStart writes an exponent as e+22, with two digits at least, as the contract's general format does.
func formatStart(t float64) string { return strconv.FormatFloat(t, 'g', 17, 64) }
