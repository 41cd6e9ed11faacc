package race

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"time"

	"holdfast/stream/turn"
)

// Script is a model whose every answer is drawn from a seed and the prompt: how many words, how fast, and how it ends.
type Script struct{ Seed uint64 }

var _ turn.Source = Script{}

// ErrModel is how some of a Script's answers end.
var ErrModel = errors.New("the model failed")

// Generate answers; see turn.Source.
func (s Script) Generate(ctx context.Context, p turn.Prompt) iter.Seq2[turn.Delta, error] {
	return func(yield func(turn.Delta, error) bool) {
		rng := s.rng(p)
		prompt := p.Rows[len(p.Rows)-1].Content.Text()
		for i := range rng.IntN(12) {
			if rng.IntN(3) == 0 && !sleep(ctx, time.Duration(rng.IntN(4000))*time.Microsecond) {
				yield(turn.Delta{}, ctx.Err())
				return
			}
			d := turn.Delta{Kind: turn.Text, Text: fmt.Sprintf("%s-%d ", prompt, i)}
			switch rng.IntN(12) {
			case 0:
				d.Kind = turn.Reasoning
			case 1:
				d = turn.Delta{Kind: turn.Tool, Text: fmt.Sprintf(`{"id":"c%d","name":"look","arguments":"{}"}`, i)}
			}
			if !yield(d, nil) {
				return
			}
		}
		if rng.IntN(5) == 0 && !sleep(ctx, 60*time.Millisecond) { // long enough for somebody to press stop
			yield(turn.Delta{}, ctx.Err())
			return
		}
		switch rng.IntN(10) {
		case 0:
			yield(turn.Delta{}, ErrModel)
		case 1:
			yield(turn.Delta{Finish: "length"}, nil)
		case 2: // cut: no end mark
		default:
			yield(turn.Delta{Finish: "stop"}, nil)
		}
	}
}

func (s Script) rng(p turn.Prompt) *rand.Rand {
	h := fnv.New64a()
	for i := range p.Rows {
		_, _ = h.Write([]byte(p.Rows[i].Content.Text()))
	}
	return rand.New(rand.NewPCG(s.Seed, h.Sum64()))
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
