package race

import (
	"bufio"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"holdfast/stream/redislog/embedded"
)

// maxLate is how long a late command waits before it goes on to the store.
const maxLate = 15 * time.Millisecond

// Loss are the chances, each from 0 to 1, of what becomes of one call to the store. The zero value loses nothing.
type Loss struct {
	// Request is lost before the store sees it, Reply after the call was applied.
	Request, Reply float64
	// Late calls are applied after their connection has gone, a little later.
	Late float64
	// Twice is applied twice; the second answer is the one that arrives.
	Twice float64
}

// Faults lose, delay and repeat the calls of all nodes to one embedded store. Scripts and appends are calls; what subscribes is left
// alone.
type Faults struct {
	server *embedded.Server
	srv    *server.Server
	late   sync.WaitGroup

	mu     sync.Mutex // guards what follows
	rng    *rand.Rand
	loss   Loss
	ghosts map[*server.Peer]bool // senders of what is applied without its own connection
	done   []time.Time           // when each late call was applied; zero: not yet
	closed bool
}

// NewFaults hooks into a server. Nothing is lost before Set.
func NewFaults(s *embedded.Server, seed uint64) *Faults {
	f := &Faults{server: s, srv: s.Miniredis().Server(), rng: rand.New(rand.NewPCG(seed, 1)), ghosts: map[*server.Peer]bool{}}
	s.SetHook(f.hook)
	return f
}

// Set changes the chances.
func (f *Faults) Set(l Loss) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loss = l
}

// Close ends all faults and waits for what is late.
func (f *Faults) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.late.Wait()
	f.server.SetHook(nil)
}

// Ticket counts the late calls so far. Applied gives when the last of them was applied; it is asked after Close.
func (f *Faults) Ticket() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.done)
}

// Applied is when the late calls before a ticket had all been applied; zero if there were none.
func (f *Faults) Applied(ticket int) (last time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range f.done[:ticket] {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// isCall says whether a command came from a node: what a script issues has none of these forms.
func isCall(name string, args []string) bool {
	return name == "EVALSHA" || name == "EVAL" || name == "XADD" && slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "NOMKSTREAM") })
}

func (f *Faults) hook(p *server.Peer, name string, args ...string) bool {
	if !isCall(name, args) {
		return false
	}
	f.mu.Lock()
	if f.ghosts[p] || f.closed {
		f.mu.Unlock()
		return false
	}
	if p.Closed() { // it was sent behind one that was lost, and its sender has given it up too
		f.mu.Unlock()
		return true
	}
	x, l := f.rng.Float64(), f.loss
	wait := time.Duration(f.rng.Int64N(int64(maxLate)) + 1)
	if x >= l.Request+l.Reply && x < l.Request+l.Reply+l.Late {
		f.late.Add(1) // under mu, so that Close cannot miss it
		f.done = append(f.done, time.Time{})
	}
	ticket := len(f.done) - 1
	f.mu.Unlock()
	command := append([]string{name}, args...)
	switch {
	case x < l.Request:
	case x < l.Request+l.Reply:
		f.apply(command)
	case x < l.Request+l.Reply+l.Late:
		go func() {
			defer f.late.Done()
			t := time.NewTimer(wait)
			defer t.Stop()
			<-t.C
			f.apply(command)
			f.mu.Lock()
			f.done[ticket] = time.Now()
			f.mu.Unlock()
		}()
	case x < l.Request+l.Reply+l.Late+l.Twice:
		f.apply(command)
		return false
	default:
		return false
	}
	p.Close()
	return true
}

// apply has the store run a command whose answer nobody hears.
func (f *Faults) apply(command []string) {
	ghost := server.NewPeer(bufio.NewWriter(io.Discard))
	f.mu.Lock()
	f.ghosts[ghost] = true
	f.mu.Unlock()
	f.srv.Dispatch(ghost, command)
	f.mu.Lock()
	delete(f.ghosts, ghost)
	f.mu.Unlock()
}
