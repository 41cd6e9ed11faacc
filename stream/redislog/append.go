package redislog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"holdfast/regen"
	"holdfast/stream"
)

const (
	// flushEntries and flushBytes bound one write, so that it stays far below the call's time-out.
	flushEntries = 1024
	flushBytes   = 4 << 20
	// entryCost is what an entry counts for beside its data.
	entryCost = 256
)

var (
	errQueueFull = errors.New("append queue is full")
	errNoWriter  = errors.New("append writer has stopped")
)

// Append puts one entry into a session's log, if the log is there and holds no equal or higher id. It never waits for the store.
// done is called once, from the writer's goroutine or, after Run has ended, by Append itself; it must not block.
//
// The caller has one entry of a session under way at a time, and nothing else of that session beside it. The result under an
// unchanged AppendResult.Conn is what it says; under another count it is unknown: Check, then append the same entry again. What is
// refused must be checked too: the id may be there from an earlier try.
func (s *Store) Append(key regen.Key, e stream.Entry, done func(stream.AppendResult)) {
	s.writer.put(pending{key: key, entry: e, done: done})
}

// pending is one entry on its way.
type pending struct {
	key   regen.Key
	entry stream.Entry
	done  func(stream.AppendResult)
	full  bool // it does not fit the queue; only its answer waits
}

func (p *pending) cost() int { return entryCost + len(p.entry.Data) }

// writer appends the entries of all sessions over one connection.
type writer struct {
	opt    Options
	client redis.UniversalClient
	incs   *incarnations
	// unsure says that the client may send a command a second time by itself, so that a refusal may be of our own first try.
	unsure bool
	conns  atomic.Uint64
	// turn has room for one: who is in it uses the connection. The client's own queue for a connection must never be needed.
	turn chan struct{}
	wake chan struct{} // size 1

	// mu guards what follows.
	mu sync.Mutex
	// copies are the acknowledged entries that are not known to be published.
	copies map[regen.Key][]stream.Entry
	queue  []pending
	bytes  int
	closed bool
}

func newWriter(o Options, incs *incarnations) *writer {
	return &writer{
		opt: o, incs: incs, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), copies: map[regen.Key][]stream.Entry{},
	}
}

// connected counts a connection before anything is sent over it, so a reply can be counted too late but never too early.
func (w *writer) connected() {
	n := w.conns.Add(1)
	if w.opt.Events.Connected != nil {
		w.opt.Events.Connected(n)
	}
}

func (w *writer) take(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the writer: %w", ctx.Err())
	}
}

func (w *writer) give() { <-w.turn }

func (w *writer) put(p pending) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		p.done(w.failed(errNoWriter))
		return
	}
	if w.bytes+p.cost() > w.opt.QueueBytes {
		p.entry, p.full = stream.Entry{}, true
	} else {
		w.bytes += p.cost()
	}
	w.queue = append(w.queue, p)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *writer) failed(err error) stream.AppendResult {
	return stream.AppendResult{
		Status: stream.AppendFailed, Conn: w.conns.Load(), Err: fmt.Errorf("append: %w: %w", stream.ErrUnavailable, err),
	}
}

// next takes what one write may hold.
func (w *writer) next() []pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, size := 0, 0
	for n < len(w.queue) && n < flushEntries && (n == 0 || size+w.queue[n].cost() <= flushBytes) {
		size += w.queue[n].cost()
		if !w.queue[n].full {
			w.bytes -= w.queue[n].cost()
		}
		n++
	}
	batch := w.queue[:n:n]
	if n == len(w.queue) {
		w.queue = nil
	} else {
		w.queue = w.queue[n:]
	}
	return batch
}

// run writes at once when something waits, and collects while it writes. When ctx ends it writes what waits and returns.
func (w *writer) run(ctx context.Context) {
	for {
		if batch, copies := w.next(), w.copied(); len(batch) > 0 || len(copies) > 0 {
			w.flush(batch, copies)
			continue
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			w.shut()
			return
		}
	}
}

// shut takes no more entries and writes those that wait.
func (w *writer) shut() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	for {
		batch, copies := w.next(), w.copied()
		if len(batch) == 0 && len(copies) == 0 {
			return
		}
		w.flush(batch, copies)
	}
}
