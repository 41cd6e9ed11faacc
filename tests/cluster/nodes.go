package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"holdfast/tests/redistest"
)

// Nodes is how many nodes there are, dead ones too.
func (c *Cluster) Nodes() int { return len(c.nodes) }

// Name is node i's --node-id.
func (c *Cluster) Name(i int) string { return c.nodes[i].name }

// URL is node i's address, http://host:port. It changes with Restart.
func (c *Cluster) URL(i int) string { return c.life(i).url }

// WS is the address of node i's sockets.
func (c *Cluster) WS(i int) string { return "ws" + strings.TrimPrefix(c.URL(i), "http") + "/v1/ws" }

// Proxy is what stands between node i and Redis; nil without Options.Proxy.
func (c *Cluster) Proxy(i int) *redistest.Proxy { return c.nodes[i].proxy }

// PID is node i's process id.
func (c *Cluster) PID(i int) int { return c.life(i).cmd.Process.Pid }

// Alive says whether node i's process is there; a paused one is.
func (c *Cluster) Alive(i int) bool { return c.life(i).alive() }

// Kill ends node i as kill -9 does, and waits until it is gone.
func (c *Cluster) Kill(i int) {
	p := c.life(i)
	p.end(syscall.SIGKILL)
	<-p.ended
}

// Term asks node i to drain and end. It does not wait: Wait does.
func (c *Cluster) Term(i int) { c.life(i).end(syscall.SIGTERM) }

// Wait waits until node i has ended and gives how: nil for an orderly end. It fails the test after a minute.
func (c *Cluster) Wait(i int) error {
	c.tb.Helper()
	p := c.life(i)
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case <-p.ended:
		return p.err
	case <-limit.C:
		c.tb.Errorf("node %s did not end within a minute", c.Name(i))
		return context.DeadlineExceeded
	}
}

// Pause stops node i's process in its tracks; its sockets stay open. It returns when the process stands still.
func (c *Cluster) Pause(i int) {
	c.tb.Helper()
	p := c.life(i)
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	stat := fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 10_000 {
		raw, err := os.ReadFile(stat)
		if err != nil {
			return // gone, or a system that does not tell
		}
		_, state, _ := strings.Cut(string(raw), ") ")
		if strings.HasPrefix(state, "T") {
			return
		}
		<-tick.C
	}
	c.tb.Errorf("node %s did not stand still", c.Name(i))
}

// Resume lets a paused node go on.
func (c *Cluster) Resume(i int) { _ = c.life(i).cmd.Process.Signal(syscall.SIGCONT) }

// Restart begins another life of node i, killing the present one if need be. The node has its name again, and another address.
func (c *Cluster) Restart(i int) {
	c.tb.Helper()
	if err := c.TryRestart(i); err != nil {
		c.tb.Fatalf("restart node %s: %v", c.Name(i), err)
	}
}

// TryRestart is Restart for goroutines other than the test's.
func (c *Cluster) TryRestart(i int) error {
	if c.Alive(i) {
		c.Kill(i)
	}
	return c.start(i)
}

// Logs is what node i wrote, in all of its lives.
func (c *Cluster) Logs(i int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, p := range c.nodes[i].lives {
		b.WriteString(p.out.String())
	}
	return b.String()
}

// AwaitLog waits until node i, in its present life, writes a line that contains part. False: ctx or the node ended first.
func (c *Cluster) AwaitLog(ctx context.Context, i int, part string) bool {
	p := c.life(i)
	_, ok := p.out.await(ctx, p.ended, part)
	return ok
}

// Ready asks node i's /readyz.
func (c *Cluster) Ready(ctx context.Context, i int) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL(i)+"/readyz", nil)
	if err != nil {
		return false
	}
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := h.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Sockets counts node i's open sockets, the listener and those to Redis too, for history.Baseline; 0 where the system does not tell.
func (c *Cluster) Sockets(i int) int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.PID(i)))
	n := 0
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
