package regen

import (
	"fmt"
	"strings"
)

// maxID is the greatest length of a tenant or session id, in bytes.
const maxID = 128

// Key names one session. Its zero value is not valid.
type Key struct{ Tenant, Session string }

// String gives "tenant/session".
func (k Key) String() string { return k.Tenant + "/" + k.Session }

// Validate gives an *IDError unless both ids are valid.
func (k Key) Validate() error {
	if !ValidID(k.Tenant) {
		return &IDError{What: "tenant", ID: k.Tenant}
	}
	if !ValidID(k.Session) {
		return &IDError{What: "session", ID: k.Session}
	}
	return nil
}

// ParseKey reads what String wrote. It gives an *IDError for anything else.
func ParseKey(s string) (Key, error) {
	tenant, session, ok := strings.Cut(s, "/")
	if !ok {
		return Key{}, &IDError{What: "key", ID: s}
	}
	k := Key{Tenant: tenant, Session: session}
	if err := k.Validate(); err != nil {
		return Key{}, fmt.Errorf("parse key: %w", err)
	}
	return k, nil
}

// ValidID says whether s may name a tenant or a session: 1 to 128 of [A-Za-z0-9_-], the first a letter or a digit. Such an
// id cannot leave a directory, a hash tag or a URL path element.
func ValidID(s string) bool {
	if s == "" || len(s) > maxID || s[0] == '-' || s[0] == '_' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

// ValidHexID says whether s may name a run, turn, row or variant: 32 lower-case hex digits.
func ValidHexID(s string) bool { return len(s) == 32 && isLowerHex(s) }

func isLowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}
