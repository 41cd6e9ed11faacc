package openai

import (
	"fmt"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// Secret is a provider's key. However it is printed, encoded or logged, it shows as [redacted]; its zero value is no key and shows
// as "".
type Secret struct {
	// A function, because fmt looks into unexported fields of other types without asking their methods.
	reveal func() string
}

// NewSecret wraps a key; white space around it is dropped, as files and shells leave some there.
func NewSecret(key string) Secret {
	key = strings.TrimSpace(key)
	if key == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return key }}
}

// IsZero says whether there is no key.
func (s Secret) IsZero() bool { return s.reveal == nil }

// String is [redacted], or "" without a key.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// Format is String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, s.String()) }

// MarshalText is String, for JSON, YAML and their kin.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// key is the key itself.
func (s Secret) key() string {
	if s.IsZero() {
		return ""
	}
	return s.reveal()
}

const (
	shownBody = 400 // of a provider's words in a debug log
	keyHead   = 5   // a word that begins or ends as the key does is taken for a part of it
	keyTail   = 4
)

// redact makes a provider's words fit for a debug log: one line, short, without the key or pieces of it.
func (s Secret) redact(body []byte) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(string(body[:min(len(body), 4*shownBody)]), "?"), func(r rune) bool { return r <= ' ' })
	key := s.key()
	for i, w := range words {
		if key == "" {
			break
		}
		if strings.Contains(w, key) {
			words[i] = redacted
			continue
		}
		bare := strings.Trim(w, `"'.,:;()[]{}<>\`)
		if len(key) >= 2*keyHead && (strings.Contains(bare, key[:keyHead]) || strings.HasSuffix(bare, key[len(key)-keyTail:])) {
			words[i] = redacted
		}
	}
	out := strings.Join(words, " ")
	if len(out) > shownBody {
		out = strings.ToValidUTF8(out[:shownBody], "") + "…"
	}
	return out
}
