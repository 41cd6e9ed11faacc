package redistest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// queued is how many values one direction of a link takes in before it leaves the rest to the kernel's buffers.
const queued = 4096

// link is one client's pair of connections. Each direction has a reader, which knows where values end and which of them to lose, and
// a writer, which knows when.
type link struct {
	p              *Proxy
	client, server *net.TCPConn
	done           chan struct{} // closed by end
	once           sync.Once

	mu         sync.Mutex // guards what follows
	pending    []*Fault   // one for each command without a reply yet; nil: an ordinary one
	subscribed bool       // replies and messages can no longer be told apart
}

// piece is one value on its way.
type piece struct {
	raw  []byte
	at   time.Time
	last After // with raw nil: what happens in its place
}

func newLink(p *Proxy, client, server *net.TCPConn) *link {
	return &link{p: p, client: client, server: server, done: make(chan struct{})}
}

// run returns when nothing more can come either way.
func (l *link) run() {
	defer l.end()
	up, down := make(chan piece, queued), make(chan piece, queued)
	var wg sync.WaitGroup
	wg.Go(func() { defer close(up); l.readCommands(up) })
	wg.Go(func() { defer close(down); l.readReplies(down) })
	wg.Go(func() {
		l.write(up, l.server, func(p *Proxy) bool { return p.holdUp })
		_ = l.server.CloseWrite() // not Close: that could take back what the server has not read yet
	})
	l.write(down, l.client, func(p *Proxy) bool { return p.holdDn })
	l.end()
	wg.Wait()
}

// end cuts the link; it does not wait.
func (l *link) end() {
	l.once.Do(func() {
		close(l.done)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

func (l *link) readCommands(to chan<- piece) {
	r := bufio.NewReader(l.client)
	for {
		raw, words, err := readCommand(r)
		if err != nil || len(words) == 0 {
			return
		}
		l.mu.Lock()
		f := l.p.meet(words, l.subscribed)
		if name := strings.ToUpper(words[0]); strings.HasSuffix(name, "SUBSCRIBE") {
			l.subscribed = true
		}
		lost := f != nil && f.request
		if !lost {
			l.pending = append(l.pending, f)
		}
		l.mu.Unlock()
		if lost {
			l.lose(f, to, r)
			return
		}
		if !l.give(to, piece{raw: raw, at: time.Now()}) {
			return
		}
	}
}

func (l *link) readReplies(to chan<- piece) {
	r := bufio.NewReader(l.server)
	for {
		raw, push, err := readValue(r)
		if err != nil {
			return
		}
		if f := l.answered(push); f != nil {
			l.lose(f, to, r)
			return
		}
		if !l.give(to, piece{raw: raw, at: time.Now()}) {
			return
		}
	}
}

// answered gives the fault of the command that a value from the server answers, or nil.
func (l *link) answered(push bool) *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if push || l.subscribed || len(l.pending) == 0 {
		return nil
	}
	f := l.pending[0]
	l.pending = l.pending[1:]
	return f
}

// lose carries the fault out, and takes in the rest of what comes until the sender ends.
func (l *link) lose(f *Fault, to chan<- piece, from io.Reader) {
	if l.give(to, piece{last: f.after}) {
		close(f.done)
	}
	_, _ = io.Copy(io.Discard, from)
	l.end()
}

func (l *link) give(to chan<- piece, x piece) bool {
	select {
	case to <- x:
		return true
	case <-l.done:
		return false
	}
}

// write passes pieces on, each at its time, until there are no more or the link ends.
func (l *link) write(from <-chan piece, to net.Conn, held func(*Proxy) bool) {
	for x := range from {
		if x.raw == nil {
			if x.last == ThenCut {
				l.end()
			}
			<-l.done
			return
		}
		if !l.due(x.at, held) {
			return
		}
		if _, err := to.Write(x.raw); err != nil {
			l.end()
			return
		}
	}
}

// due waits until what came at the given time may go on; false: the link has ended.
func (l *link) due(at time.Time, held func(*Proxy) bool) bool {
	for {
		l.p.mu.Lock()
		hold, delay, changed := held(l.p), l.p.delay, l.p.changed
		l.p.mu.Unlock()
		select {
		case <-l.done:
			return false
		default:
		}
		wait := time.Until(at.Add(delay))
		if !hold && wait <= 0 {
			return true
		}
		var timer <-chan time.Time
		if !hold {
			timer = time.After(wait)
		}
		select {
		case <-l.done:
			return false
		case <-changed:
		case <-timer:
		}
	}
}
