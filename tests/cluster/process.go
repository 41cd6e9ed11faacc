package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// startLimit is ten times what a node with the race detector needs on a busy machine.
const startLimit = 60 * time.Second

// process is one life of a node.
type process struct {
	cmd   *exec.Cmd
	out   *logs
	url   string
	ended chan struct{} // closed when it was waited for; err is set before
	err   error
	asked atomic.Bool // we ended it
}

// launch starts the program and waits until it is ready.
func launch(path string, args, env []string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), out: newLogs(), ended: make(chan struct{})}
	p.cmd.Args[0] = "holdfast"
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = dieWithParent()
	p.cmd.Env = append(environment(), env...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	if err := p.ready(); err != nil {
		p.end(syscall.SIGKILL)
		<-p.ended
		return nil, fmt.Errorf("%w; it wrote:\n%s", err, lastLines(p.out.String(), 50))
	}
	return p, nil
}

// environment is ours without settings for holdfast.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HOLDFAST_") {
			env = append(env, v)
		}
	}
	return env
}

var errNotReady = errors.New("node did not become ready")

// ready waits for the address and for /readyz.
func (p *process) ready() error {
	const listening = "holdfast: listening on "
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	line, ok := p.out.await(ctx, p.ended, listening)
	if !ok {
		return fmt.Errorf("%w: it did not say where it listens", errNotReady)
	}
	p.url = strings.TrimSpace(strings.TrimPrefix(line, listening))
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := h.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("%w: it ended (%v)", errNotReady, p.err)
		case <-ctx.Done():
			return fmt.Errorf("%w: /readyz", errNotReady)
		}
	}
}

// end sends a signal that is meant to end the process.
func (p *process) end(s syscall.Signal) {
	p.asked.Store(true)
	_ = p.cmd.Process.Signal(s) // it may have ended
}

// alive says whether it has not been waited for.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// fault says what is wrong with a life that is over; "" when nothing is.
func (p *process) fault() string {
	text := p.out.String()
	for _, sign := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: ", "panicked"} {
		if i := strings.Index(text, sign); i >= 0 {
			return "it wrote " + text[i:min(len(text), i+4000)]
		}
	}
	if !p.asked.Load() && !p.alive() {
		return fmt.Sprintf("it ended by itself (%v)", p.err)
	}
	return ""
}
