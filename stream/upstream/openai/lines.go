package openai

import (
	"bytes"
	"errors"
	"io"
)

// errLong is the error of a line above the bound.
var errLong = errors.New("line of the stream is above the bound")

// lines hands a body on in whole lines, so that the parser above looks at each byte a fixed number of times however the network cuts
// it, and bounds their length. At the end of the body the last line may be unfinished.
type lines struct {
	from    io.Reader
	limit   int
	buf     []byte // read but not handed on
	ready   int    // bytes of buf that end with a line's end, or all of them at the end of the body
	err     error  // to give when buf is empty
	scratch []byte

	column  int  // bytes since the last line's end
	comment bool // the line begins with a colon
	cr      bool // the last byte was a carriage return
	open    bool // an event has begun and its blank line has not come
}

func newLines(from io.Reader, limit int) *lines {
	return &lines{from: from, limit: limit, scratch: make([]byte, 16<<10)}
}

// Read gives whole lines only.
func (l *lines) Read(p []byte) (int, error) {
	for l.ready == 0 {
		if l.err != nil {
			if len(l.buf) > 0 && errors.Is(l.err, io.EOF) {
				l.ready = len(l.buf)
				break
			}
			return 0, l.err
		}
		n, err := l.from.Read(l.scratch)
		l.take(l.scratch[:n])
		if l.err == nil {
			l.err = err
		}
	}
	n := copy(p, l.buf[:l.ready])
	l.ready -= n
	l.buf = l.buf[n:]
	if len(l.buf) == 0 {
		l.buf = nil // what a long line needed is given back
	}
	return n, nil
}

// take adds bytes and notes where lines end.
func (l *lines) take(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			l.add(p)
			return
		}
		l.add(p[:i])
		if l.err != nil {
			return
		}
		l.end(p[i])
		p = p[i+1:]
	}
}

// add takes bytes within a line.
func (l *lines) add(p []byte) {
	if len(p) == 0 {
		return
	}
	if l.column == 0 {
		l.comment = p[0] == ':'
	}
	l.cr = false
	l.column += len(p)
	if l.column > l.limit {
		l.err = errLong
		return
	}
	l.buf = append(l.buf, p...)
}

// end takes a line's end.
func (l *lines) end(b byte) {
	second := b == '\n' && l.cr // the second half of a Windows line end
	l.cr = b == '\r'
	l.buf = append(l.buf, b)
	l.ready = len(l.buf)
	if second {
		return
	}
	switch {
	case l.column == 0:
		l.open = false
	case !l.comment:
		l.open = true
	}
	l.column = 0
}

// unterminated says, at the end of the body, whether an event lacked its blank line and was therefore dropped.
func (l *lines) unterminated() bool { return l.open || l.column > 0 && !l.comment }
