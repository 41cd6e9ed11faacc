package cluster

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// logs is what one process wrote.
type logs struct {
	mu      sync.Mutex // guards what follows
	buf     bytes.Buffer
	changed chan struct{} // closed by the next write, and replaced
}

func newLogs() *logs { return &logs{changed: make(chan struct{})} }

// Write appends; it never fails.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

// String is everything so far.
func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// await waits for a whole line that contains part and gives it from part on, without its end. False: ctx or the process ended first.
func (l *logs) await(ctx context.Context, ended <-chan struct{}, part string) (string, bool) {
	for last := false; ; {
		l.mu.Lock()
		text, changed := l.buf.String(), l.changed
		l.mu.Unlock()
		if _, rest, ok := strings.Cut(text, part); ok {
			if line, _, whole := strings.Cut(rest, "\n"); whole {
				return part + line, true
			}
		}
		if last {
			return "", false
		}
		select {
		case <-changed:
		case <-ended: // its last words may have come with its end
			last = true
		case <-ctx.Done():
			return "", false
		}
	}
}

// lastLines is the end of a text.
func lastLines(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		at = strings.LastIndexByte(text[:at-1], '\n') + 1
	}
	return text[at:]
}
