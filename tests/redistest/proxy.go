package redistest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between clients and a server. It passes everything on until it is told otherwise.
type Proxy struct {
	ln     net.Listener
	target string
	wg     sync.WaitGroup

	mu     sync.Mutex // guards what follows
	links  map[*link]struct{}
	up     mode
	down   mode
	delay  time.Duration
	refuse bool
}

// mode is what happens to the bytes of one direction.
type mode int

const (
	pass mode = iota
	hold      // kept back, as a network that drops packets without a word
)

// link is one client's pair of connections.
type link struct{ client, server net.Conn }

// NewProxy starts a proxy before target ("host:port"). It ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{ln: ln, target: target, links: map[*link]struct{}{}}
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		_ = ln.Close()
		p.set(func() { p.up, p.down, p.refuse = pass, pass, true })
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// Addr is the proxy's own address.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// URL is the address as --redis takes it.
func (p *Proxy) URL() string { return "redis://" + p.Addr() }

// Delay holds every chunk up for d, each way.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// Blackhole keeps both directions back without closing anything; new connections are taken and go nowhere.
func (p *Proxy) Blackhole() { p.set(func() { p.up, p.down = hold, hold }) }

// LoseReplies keeps back only what the server says: it gets and does what it is asked.
func (p *Proxy) LoseReplies() { p.set(func() { p.up, p.down = pass, hold }) }

// Heal passes everything on again; what was kept back is lost with its connections.
func (p *Proxy) Heal() {
	p.set(func() { p.up, p.down, p.delay, p.refuse = pass, pass, 0, false })
	p.Cut()
}

// Refuse closes new connections at once, and cuts the ones there are.
func (p *Proxy) Refuse() {
	p.set(func() { p.refuse = true })
	p.Cut()
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		_ = l.client.Close()
		_ = l.server.Close()
	}
}

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.refuse
		p.mu.Unlock()
		if refuse {
			_ = client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client: client, server: server}
		p.mu.Lock()
		p.links[l] = struct{}{}
		p.mu.Unlock()
		var both sync.WaitGroup
		both.Go(func() { p.copy(server, client, func() mode { return p.up }) })
		both.Go(func() { p.copy(client, server, func() mode { return p.down }) })
		p.wg.Go(func() {
			both.Wait()
			p.mu.Lock()
			delete(p.links, l)
			p.mu.Unlock()
		})
	}
}

// copy moves bytes of one direction; an end of either side ends both.
func (p *Proxy) copy(to, from net.Conn, now func() mode) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && p.through(now) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// through waits as long as the direction asks for; false drops the bytes.
func (p *Proxy) through(now func() mode) bool {
	p.mu.Lock()
	m, delay := now(), p.delay
	p.mu.Unlock()
	if m == hold {
		return false
	}
	if delay > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		<-t.C
	}
	return true
}
