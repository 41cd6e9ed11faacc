package cluster

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/tests/history"
	"holdfast/tests/redistest"
)

// Options describe a cluster. The zero value is two nodes with the demo model over a Redis of their own.
type Options struct {
	// Nodes is how many; 0 means 2.
	Nodes int
	// Server is the Redis; nil starts one that keeps nothing.
	Server *redistest.Process
	// RedisURL is given to --redis in place of Server's address, for Sentinel and Cluster; Connect then makes the test's own client.
	RedisURL string
	Connect  func() redis.UniversalClient
	// Proxy puts a proxy of its own between each node and Redis.
	Proxy bool
	// LeaseTTL is --lease-ttl; 0 means 3 s.
	LeaseTTL time.Duration
	// Upstream is --upstream; "" means demo.
	Upstream string
	// Args go behind the other flags and win over them. Env are more variables, "NAME=value".
	Args, Env []string
	// Recorder collects what clients send and see; nil makes a new one.
	Recorder *history.Recorder
}

// Cluster is some nodes over one Redis. Nodes are counted from 0; node 0 is named n1.
type Cluster struct {
	// Server is the Redis; nil with Options.RedisURL.
	Server *redistest.Process
	// Recorder has everything that clients of this cluster sent and saw.
	Recorder *history.Recorder

	tb    testing.TB
	opts  Options
	path  string
	redis redis.UniversalClient

	mu      sync.Mutex // guards what follows
	nodes   []*node
	clients int
}

// node is one place in the cluster; its lives follow each other.
type node struct {
	name  string
	proxy *redistest.Proxy
	lives []*process // the last one is the present
}

// Start builds holdfast and starts the nodes, all at once. It ends them with the test.
func Start(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	if o.Nodes <= 0 {
		o.Nodes = 2
	}
	if o.LeaseTTL <= 0 {
		o.LeaseTTL = 3 * time.Second
	}
	if o.Upstream == "" {
		o.Upstream = "demo"
	}
	if o.Recorder == nil {
		o.Recorder = new(history.Recorder)
	}
	c := &Cluster{Recorder: o.Recorder, Server: o.Server, tb: tb, opts: o}
	if c.Server == nil && o.RedisURL == "" {
		c.Server = redistest.Server(tb) // before the build: it may skip the test
	}
	c.path = Program(tb)
	c.connect()
	for i := range o.Nodes {
		n := &node{name: fmt.Sprintf("n%d", i+1)}
		if o.Proxy {
			n.proxy = redistest.NewProxy(tb, c.Server.Addr())
		}
		c.nodes = append(c.nodes, n)
	}
	tb.Cleanup(c.finish)
	var wg sync.WaitGroup
	errs := make([]error, o.Nodes)
	for i := range o.Nodes {
		wg.Go(func() { errs[i] = c.start(i) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			tb.Fatalf("start node %s: %v", c.Name(i), err)
		}
	}
	return c
}

func (c *Cluster) connect() {
	if c.opts.Connect != nil {
		c.redis = c.opts.Connect()
	} else {
		c.redis = redis.NewClient(c.Server.Options())
	}
	c.tb.Cleanup(func() { _ = c.redis.Close() })
}

// start begins a life of node i.
func (c *Cluster) start(i int) error {
	n := c.nodes[i]
	url := c.opts.RedisURL
	switch {
	case n.proxy != nil:
		url = "redis://" + n.proxy.Addr()
	case url == "":
		url = "redis://" + c.Server.Addr()
	}
	args := []string{
		"serve", "--listen", "127.0.0.1:0", "--redis", url, "--node-id", n.name, "--lease-ttl", c.opts.LeaseTTL.String(),
		"--upstream", c.opts.Upstream, "--drain-timeout", "2s", "--log-level", "debug",
	}
	p, err := launch(c.path, append(args, c.opts.Args...), c.opts.Env)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.lives = append(n.lives, p)
	return nil
}

// life is node i's present process; an error of the test where it never lived.
func (c *Cluster) life(i int) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i].lives[len(c.nodes[i].lives)-1]
}

// finish ends every node and says what was wrong with it.
func (c *Cluster) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var dying []*process
	for _, n := range c.nodes {
		for _, p := range n.lives {
			if p.alive() {
				p.end(syscall.SIGTERM)
				_ = p.cmd.Process.Signal(syscall.SIGCONT)
				dying = append(dying, p)
			}
		}
	}
	patience := time.NewTimer(15 * time.Second)
	defer patience.Stop()
	for _, p := range dying {
		select {
		case <-p.ended:
		case <-patience.C:
			patience.Reset(0) // the others had as much time
			p.end(syscall.SIGKILL)
			<-p.ended
		}
	}
	for _, n := range c.nodes {
		for _, p := range n.lives {
			if what := p.fault(); what != "" {
				c.tb.Errorf("node %s: %s", n.name, what)
			}
		}
	}
	if !c.tb.Failed() {
		return
	}
	for _, n := range c.nodes {
		for life, p := range n.lives {
			c.tb.Logf("node %s, life %d (%s), wrote at last:\n%s", n.name, life+1, p.url, lastLines(p.out.String(), 80))
		}
	}
}
