package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// newDice gives the randomness of one answer: the same for the same run, purpose and text, and independent between purposes, so that
// the pace of an answer does not shift its words.
func newDice(purpose, run, text string) *rand.Rand {
	h := sha256.New()
	for _, part := range []string{purpose, run, text} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))
}

// pick gives one of the texts.
func pick(dice *rand.Rand, texts []string) string { return texts[dice.IntN(len(texts))] }

// some gives n of the texts, each at most once, in an order of their own.
func some(dice *rand.Rand, n int, texts []string) []string {
	out := make([]string, 0, n)
	for _, i := range dice.Perm(len(texts))[:min(n, len(texts))] {
		out = append(out, texts[i])
	}
	return out
}
