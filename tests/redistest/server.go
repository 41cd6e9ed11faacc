package redistest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"holdfast/stream/redislog/embedded"
)

// startLimit is ten times what a server needs to answer on a busy machine.
const startLimit = 30 * time.Second

// Require skips the test when program is not installed; with HOLDFAST_TEST_ALL=1 it fails it. It gives the program's path.
func Require(tb testing.TB, program string) string {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("HOLDFAST_TEST_ALL") == "1" {
		tb.Fatalf("%s is not installed", program)
	}
	tb.Skipf("%s is not installed", program)
	return ""
}

// Mini starts an embedded store.
func Mini(tb testing.TB) *redis.Options {
	tb.Helper()
	s := embedded.New(embedded.Config{})
	tb.Cleanup(s.Close)
	return s.Options()
}

// Each runs f on the embedded store and on a redis-server.
func Each(t *testing.T, f func(t *testing.T, name string, opts *redis.Options)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { f(t, "embedded", Mini(t)) })
	t.Run("redis", func(t *testing.T) { f(t, "redis", Server(t).Options()) })
}

// Process is one redis-server.
type Process struct {
	tb   testing.TB
	path string
	port int
	args []string
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan struct{}
}

// Server starts a redis-server that keeps nothing, unless args say otherwise (such as "--appendonly", "yes").
func Server(tb testing.TB, args ...string) *Process {
	tb.Helper()
	p := &Process{tb: tb, path: Require(tb, "redis-server")}
	dir := tb.TempDir()
	for try := 0; ; try++ {
		p.port = FreePort(tb)
		p.args = append([]string{
			"--port", strconv.Itoa(p.port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no",
			"--maxmemory-policy", "noeviction", "--daemonize", "no",
		}, args...)
		err := p.start()
		if err == nil {
			break
		}
		if try == 3 {
			tb.Fatalf("redis-server: %v\n%s", err, p.out.String())
		}
	}
	tb.Cleanup(func() {
		p.Resume()
		p.Kill()
	})
	return p
}

// FreePort gives a port that nobody listens on.
func FreePort(tb testing.TB) int {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port
}

func (p *Process) start() error {
	p.out.Reset()
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) { _ = cmd.Wait(); close(done) }(p.cmd, p.done)
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	rdb := redis.NewClient(p.Options())
	defer func() { _ = rdb.Close() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for rdb.Ping(ctx).Err() != nil {
		select {
		case <-p.done:
			return fmt.Errorf("ended at once")
		case <-ctx.Done():
			p.Kill()
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// Addr is host and port.
func (p *Process) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// Options are settings of a client that repeats nothing by itself.
func (p *Process) Options() *redis.Options { return optionsFor(p.Addr()) }

func optionsFor(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// URL is the address as --redis takes it.
func (p *Process) URL() string { return "redis://" + p.Addr() }

// Kill ends the server as a power cut does, and waits.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Restart kills the server and starts it on the same port, with what it has kept.
func (p *Process) Restart() {
	p.tb.Helper()
	p.Kill()
	if err := p.start(); err != nil {
		p.tb.Fatalf("redis-server did not start again: %v\n%s", err, p.out.String())
	}
}

// Pause stops the server's process; Resume lets it go on.
func (p *Process) Pause() { _ = p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (p *Process) Resume() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }
