package redistest

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Proxy stands between clients and a server. It passes everything on until it is told otherwise. It knows where a command and a reply
// end, and never passes on a part of one. It is safe for use by any number of goroutines.
type Proxy struct {
	ln     net.Listener
	target string
	wg     sync.WaitGroup

	// mu guards what follows; nothing is waited for under it.
	mu      sync.Mutex
	links   map[*link]struct{}
	holdUp  bool
	holdDn  bool
	delay   time.Duration
	refuse  bool
	faults  []*Fault
	counts  map[string]int
	changed chan struct{} // closed and made anew when one of the above changes
}

// NewProxy starts a proxy before target ("host:port"). It ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{ln: ln, target: target, links: map[*link]struct{}{}, counts: map[string]int{}, changed: make(chan struct{})}
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		_ = ln.Close()
		p.Refuse()
		p.wg.Wait()
	})
	return p
}

// Addr is the proxy's own address.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// URL is the address as --redis takes it.
func (p *Proxy) URL() string { return "redis://" + p.Addr() }

// Options are settings of a client that goes through the proxy; see Process.Options.
func (p *Proxy) Options() *redis.Options { return optionsFor(p.Addr()) }

// Delay makes everything arrive later by d, each way.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// Blackhole keeps both directions back without closing anything; new connections are taken and go nowhere.
func (p *Proxy) Blackhole() { p.set(func() { p.holdUp, p.holdDn = true, true }) }

// LoseReplies keeps back only what the server says: it gets and does what it is asked.
func (p *Proxy) LoseReplies() { p.set(func() { p.holdUp, p.holdDn = false, true }) }

// LoseRequests keeps back only what clients say; what the server says by itself (messages to subscribers) arrives.
func (p *Proxy) LoseRequests() { p.set(func() { p.holdUp, p.holdDn = true, false }) }

// Release passes on what was kept back, as a network does that comes back in time: late, whole and in order. Delay and Refuse stay.
func (p *Proxy) Release() { p.set(func() { p.holdUp, p.holdDn = false, false }) }

// Heal passes everything on again, new connections too; what was kept back, and losses that were ordered and have not happened, are
// gone, and so are the connections.
func (p *Proxy) Heal() {
	p.set(func() {
		p.cut()
		p.holdUp, p.holdDn, p.delay, p.refuse, p.faults = false, false, 0, false, nil
	})
}

// Refuse closes new connections at once, and cuts the ones there are.
func (p *Proxy) Refuse() {
	p.set(func() {
		p.refuse = true
		p.cut()
	})
}

// Cut closes all connections; what was kept back on them is lost.
func (p *Proxy) Cut() { p.set(p.cut) }

// Reset is Cut as a host does it that has forgotten the connections: clients get a reset (RST) instead of an end.
func (p *Proxy) Reset() {
	p.set(func() {
		for l := range p.links {
			_ = l.client.SetLinger(0)
		}
		p.cut()
	})
}

// Count is how many commands of this name clients have sent through the proxy, in any case of letters.
func (p *Proxy) Count(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[strings.ToUpper(name)]
}

// Connections is how many connections are open now.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// cut ends every link; mu is held.
func (p *Proxy) cut() {
	for l := range p.links {
		l.end()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := newLink(p, client.(*net.TCPConn), server.(*net.TCPConn))
		p.mu.Lock()
		if p.refuse {
			l.end()
			p.mu.Unlock()
			continue
		}
		p.links[l] = struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() {
			l.run()
			p.set(func() { delete(p.links, l) })
		})
	}
}
