package redistest

import (
	"slices"
	"strings"
)

// Match says whether a command, its name first, is meant. It is called for the commands of all connections, one at a time, in the order
// in which they came, and must not use the proxy.
type Match func(words []string) bool

// Named means a command with one of these names, in any case.
func Named(names ...string) Match {
	return func(words []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, words[0]) })
	}
}

// Nth means the n-th command from now (1: the next) that match means; nil means any. What a client sends when it connects counts too.
func Nth(n int, match Match) Match {
	return func(words []string) bool {
		if match == nil || match(words) {
			n--
		}
		return n == 0
	}
}

// After says what becomes of the connection on which something was lost. A reply that came after a lost one would be taken for it, so
// the client hears nothing more on it.
type After int

const (
	// ThenCut closes the connection.
	ThenCut After = iota
	// ThenSilence leaves it open and says nothing more: the client runs into its time-out.
	ThenSilence
)

// Fault is one loss that was ordered; it happens once.
type Fault struct {
	match   Match
	after   After
	request bool
	done    chan struct{}
}

// Done is closed when the loss has happened: the server has answered, or the request was thrown away.
func (f *Fault) Done() <-chan struct{} { return f.done }

// LoseReply lets the next command that match means reach the server, and loses what the server answers: it was applied, and the client
// does not know. Replies to commands before it are delivered. Connections that subscribed are left alone.
func (p *Proxy) LoseReply(match Match, after After) *Fault {
	return p.order(&Fault{match: match, after: after, done: make(chan struct{})})
}

// LoseRequest throws the next command that match means away, and all that follow it on its connection: none was applied, and the
// client does not know.
func (p *Proxy) LoseRequest(match Match, after After) *Fault {
	return p.order(&Fault{match: match, after: after, request: true, done: make(chan struct{})})
}

func (p *Proxy) order(f *Fault) *Fault {
	p.set(func() { p.faults = append(p.faults, f) })
	return f
}

// meet counts a command and gives the fault that it runs into, or nil.
func (p *Proxy) meet(words []string, subscribed bool) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[strings.ToUpper(words[0])]++
	if subscribed {
		return nil
	}
	for i, f := range p.faults {
		if f.match(words) {
			p.faults = slices.Delete(p.faults, i, i+1)
			return f
		}
	}
	return nil
}
