package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"holdfast/regen"
	"holdfast/stream"
)

// run is one attempt to answer a turn, as its owner sees it.
type run struct {
	id, turn, model string
	start           stream.EntryID // its started entry; zero if the log lost it
	began           time.Time
	cancel          context.CancelFunc
	buf             *buffer

	// What is needed to accept it again, should the store lose the acceptance.
	req  request
	mint regen.Mint
	base uint64 // the document's version before it

	// What the log has of it.
	text, reasoning strings.Builder
	tools           []json.RawMessage
	holed           bool // the log lost entries here; what follows is not the answer's next words

	stopped bool   // a stop is recorded
	cut     string // settle as interrupted, for this cause
}

// piece is some of an answer that waits for the log.
type piece struct {
	kind stream.Kind
	text string
}

// buffer is what stands between the model and the log. The generator fills it, the actor empties it.
type buffer struct {
	limit int
	wake  chan struct{} // size 1: there is something to take
	room  chan struct{} // size 1: there is room again

	mu     sync.Mutex // guards what follows
	pieces []piece
	size   int
	ended  bool
	err    error
	last   Delta // finish, usage and model, as far as they came
}

func newBuffer(limit int) *buffer {
	return &buffer{limit: limit, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

var kinds = map[DeltaKind]stream.Kind{Text: stream.KindText, Reasoning: stream.KindReasoning, Tool: stream.KindTool}

// push adds a delta, waiting for room. It reports false when ctx ended first.
func (b *buffer) push(ctx context.Context, d Delta) bool {
	for {
		b.mu.Lock()
		if b.size < b.limit || d.Text == "" {
			if k, ok := kinds[d.Kind]; ok && d.Text != "" {
				b.pieces = append(b.pieces, piece{kind: k, text: d.Text})
				b.size += len(d.Text)
			}
			b.note(d)
			b.mu.Unlock()
			wake(b.wake)
			return true
		}
		b.mu.Unlock()
		wake(b.wake) // a doubtful owner must learn that the buffer is full
		select {
		case <-b.room:
		case <-ctx.Done():
			return false
		}
	}
}

func (b *buffer) note(d Delta) {
	if d.Finish != "" {
		b.last.Finish = d.Finish
	}
	if d.Usage != nil {
		b.last.Usage = d.Usage
	}
	if d.Model != "" {
		b.last.Model = d.Model
	}
}

// finish says that no more comes.
func (b *buffer) finish(err error) {
	b.mu.Lock()
	b.ended, b.err = true, err
	b.mu.Unlock()
	wake(b.wake)
}

// maxEntry bounds the text of one entry, in bytes.
const maxEntry = 32 << 10

// take gives the next piece for the log: what waits of one kind, merged.
func (b *buffer) take() (piece, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pieces) == 0 {
		return piece{}, false
	}
	p := b.pieces[0]
	n := 1
	if p.kind != stream.KindTool {
		size := len(p.text)
		for n < len(b.pieces) && b.pieces[n].kind == p.kind && size+len(b.pieces[n].text) <= maxEntry {
			size += len(b.pieces[n].text)
			n++
		}
		if n > 1 {
			var s strings.Builder
			s.Grow(size)
			for _, x := range b.pieces[:n] {
				s.WriteString(x.text)
			}
			p.text = s.String()
		}
	}
	clear(b.pieces[:n])
	b.pieces = b.pieces[n:]
	if len(b.pieces) == 0 {
		b.pieces = nil
	}
	b.size -= len(p.text)
	wake(b.room)
	return p, true
}

// end gives how the model ended; false while it goes on or something waits.
func (b *buffer) end() (last Delta, err error, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last, b.err, b.ended && len(b.pieces) == 0
}

func (b *buffer) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size >= b.limit
}

// generate calls the model and fills the buffer. It is a goroutine of the actor's.
func (e *Engine) generate(ctx context.Context, b *buffer, p Prompt) {
	var err error
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("model source panicked: %v\n%s", r, debug.Stack())
		}
		b.finish(err)
	}()
	for d, derr := range e.source.Generate(ctx, p) {
		if derr != nil {
			err = derr
			return
		}
		if !b.push(ctx, d) {
			err = ctx.Err()
			return
		}
	}
}
