package regen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Chain is the running digest of a list: 64 lower-case hex digits that stand for every row up to and including this one.
type Chain string

// EmptyChain is the chain of zero rows.
const EmptyChain Chain = "0000000000000000000000000000000000000000000000000000000000000000"

// NextChain is the chain after one more row, in its encoded form.
func NextChain(prev Chain, encoded string) Chain { return nextChain(prev, []byte(encoded)) }

func nextChain(prev Chain, encoded []byte) Chain {
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write(encoded)
	return Chain(hex.EncodeToString(h.Sum(nil)))
}

// or gives EmptyChain for the zero value.
func (c Chain) or() Chain {
	if c == "" {
		return EmptyChain
	}
	return c
}

// Link is one element of the display list. The row is shared between documents: never change it.
type Link struct {
	Chain Chain
	Row   *Row
}

// Encode gives the stored element: "<chain> <row json>".
func (l Link) Encode() string { return element(l.Chain, l.Row.encode()) }

// DecodeLink reads what Encode wrote; else it gives ErrElement.
func DecodeLink(s string) (Link, error) {
	chain, rest, err := cutChain(s)
	if err != nil {
		return Link{}, err
	}
	row, err := decodeRow(rest)
	if err != nil {
		return Link{}, err
	}
	return Link{Chain: chain, Row: row}, nil
}

// ContextLink is one element of the context list: a reference to a display row, or a row of its own. The chain of a
// reference runs over the display row that it names, so a change of that row changes both lists.
type ContextLink struct {
	Chain Chain
	// Ref is the display row's id; "" when Row is set.
	Ref string
	// Row is a row that only the context has; nil for a reference. It is shared: never change it.
	Row *Row
}

// Encode gives the stored element: "<chain> @<row id>" or "<chain> <row json>".
func (l ContextLink) Encode() string {
	if l.Row == nil {
		return element(l.Chain, []byte("@"+l.Ref))
	}
	return element(l.Chain, l.Row.encode())
}

// id is the id of the row that the element stands for; "" where an imported row has none.
func (l ContextLink) id() string {
	if l.Row == nil {
		return l.Ref
	}
	return l.Row.ID
}

// DecodeContextLink reads what Encode wrote; else it gives ErrElement.
func DecodeContextLink(s string) (ContextLink, error) {
	chain, rest, err := cutChain(s)
	if err != nil {
		return ContextLink{}, err
	}
	if ref, ok := strings.CutPrefix(rest, "@"); ok {
		if ref == "" {
			return ContextLink{}, fmt.Errorf("empty reference: %w", ErrElement)
		}
		return ContextLink{Chain: chain, Ref: ref}, nil
	}
	row, err := decodeRow(rest)
	if err != nil {
		return ContextLink{}, err
	}
	return ContextLink{Chain: chain, Row: row}, nil
}

func element(c Chain, payload []byte) string {
	var b strings.Builder
	b.Grow(len(c) + 1 + len(payload))
	b.WriteString(string(c))
	b.WriteByte(' ')
	b.Write(payload)
	return b.String()
}

func cutChain(s string) (Chain, string, error) {
	chain, rest, ok := strings.Cut(s, " ")
	if !ok || len(chain) != len(EmptyChain) || !isLowerHex(chain) {
		return "", "", fmt.Errorf("no chain: %w", ErrElement)
	}
	return Chain(chain), rest, nil
}

func decodeRow(s string) (*Row, error) {
	var r Row
	if err := json.Unmarshal([]byte(s), &r); err != nil {
		return nil, fmt.Errorf("decode row: %w: %w", ErrElement, err)
	}
	return &r, nil
}
