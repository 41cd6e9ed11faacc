package openai

import (
	"context"
	"fmt"
	"io"
	"time"
)

// ClockError is the cause of a call that a clock ended.
type ClockError struct {
	// Clock is the field of Clocks.
	Clock string
	After time.Duration
}

// Error names the clock.
func (e *ClockError) Error() string {
	return fmt.Sprintf("clock %s ran out after %s", e.Clock, e.After)
}

// clock cancels a context when it is not stopped in time. It is used by one goroutine.
type clock struct {
	name   string
	limit  time.Duration // not above 0: off
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// start sets the clock to its full time.
func (c *clock) start() {
	switch {
	case c.limit <= 0:
	case c.timer == nil:
		c.timer = time.AfterFunc(c.limit, func() { c.cancel(&ClockError{Clock: c.name, After: c.limit}) })
	default:
		c.timer.Reset(c.limit)
	}
}

// stop may come too late; the call then ends as if it had not been called.
func (c *clock) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
}

// watch holds the clocks of one attempt.
type watch struct {
	firstByte, firstToken, idle, progress, tail clock
}

func newWatch(k Clocks, cancel context.CancelCauseFunc) *watch {
	return &watch{
		firstByte:  clock{name: "FirstByte", limit: k.FirstByte, cancel: cancel},
		firstToken: clock{name: "FirstToken", limit: k.FirstToken, cancel: cancel},
		idle:       clock{name: "Idle", limit: k.Idle, cancel: cancel},
		progress:   clock{name: "Progress", limit: k.Progress, cancel: cancel},
		tail:       clock{name: "Tail", limit: k.Tail, cancel: cancel},
	}
}

// stop ends all clocks.
func (w *watch) stop() {
	for _, c := range []*clock{&w.firstByte, &w.firstToken, &w.idle, &w.progress, &w.tail} {
		c.stop()
	}
}

// living is a body whose bytes keep the idle clock from running out. The clock runs only inside Read, and only after the first byte:
// until then FirstToken counts, since a server that loads its model is silent.
type living struct {
	body  io.Reader
	idle  *clock
	begun bool
}

func (l *living) Read(p []byte) (int, error) {
	if l.begun {
		l.idle.start()
		defer l.idle.stop()
	}
	n, err := l.body.Read(p)
	l.begun = l.begun || n > 0
	return n, err
}
