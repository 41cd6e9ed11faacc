package redistest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	program = "redis-server"
	// startLimit is ten times what a server needs to answer on a busy machine.
	startLimit = 30 * time.Second
	// Ports are taken from below the range that the kernel gives to outgoing connections (a port of that range may be gone when a
	// server starts again on it), and low enough that a cluster's own port, 10 000 above, is outside that range too.
	firstPort, ports = 16_000, 6_500
)

// Require skips the test when program is not installed; with HOLDFAST_TEST_ALL=1 it fails it. With HOLDFAST_TEST_QUICK=1 it always
// skips: such a run needs nothing but Go, and means the same on every machine. It gives the program's path.
func Require(tb testing.TB, program string) string {
	tb.Helper()
	if os.Getenv("HOLDFAST_TEST_QUICK") == "1" {
		tb.Skipf("needs %s, and a quick run has nothing but Go", program)
	}
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

// Process is one redis-server. Its methods are for the test's own goroutine and fail the test when they cannot do what they say.
type Process struct {
	tb   testing.TB // nil for a server that outlives its test
	path string
	port int
	args []string
	cmd  *exec.Cmd // nil while it does not run
}

// Server starts a redis-server that keeps nothing, unless args say otherwise, as on its command line: "--appendonly", "yes",
// "--appendfsync", "always" keeps every write that was answered; "--maxmemory", "8mb" limits it. It returns when the server answers.
func Server(tb testing.TB, args ...string) *Process {
	tb.Helper()
	path := Require(tb, program)
	p := &Process{tb: tb, path: path, args: settings(tb.TempDir(), args...)}
	tb.Cleanup(p.end)
	if err := p.startAnywhere(); err != nil {
		tb.Fatalf("redis-server: %v", err)
	}
	return p
}

func settings(dir string, args ...string) []string {
	return append([]string{
		"--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--daemonize", "no",
	}, args...)
}

// FreePort gives a port that nobody listens on.
func FreePort(tb testing.TB) int {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

func freePort() (port int, err error) {
	for range 50 {
		port = firstPort + rand.IntN(ports)
		var ln net.Listener
		if ln, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, ln.Close()
		}
	}
	return 0, fmt.Errorf("no free port: %w", err)
}

// Addr is host and port; they stay the same over a Restart.
func (p *Process) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// Options are settings of a client that repeats nothing by itself and ends its calls with their context. Each call makes new ones.
func (p *Process) Options() *redis.Options { return optionsFor(p.Addr()) }

func optionsFor(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Protocol: 2, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// URL is the address as --redis takes it.
func (p *Process) URL() string { return "redis://" + p.Addr() }

// PID is the server's process id, 0 while it does not run.
func (p *Process) PID() int {
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Kill ends the server as a power cut does, and waits until it is gone. One that does not run stays so.
func (p *Process) Kill() { p.end() }

// Restart kills the server, if it runs, and starts it on the same port, with what it has kept.
func (p *Process) Restart() {
	p.tb.Helper()
	p.end()
	if err := p.start(); err != nil {
		p.tb.Fatalf("redis-server did not start again: %v", err)
	}
}

// Pause stops the server's process: connections stay open and nothing answers. The end of the test needs no Resume.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on; what it was sent meanwhile it does now.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) {
	p.tb.Helper()
	if p.cmd == nil {
		p.tb.Fatalf("redis-server: %v, but it does not run", s)
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		p.tb.Fatalf("redis-server: %v: %v", s, err)
	}
}

// startAnywhere starts the server on a free port. Somebody else may take it first: then it ends, and another one is tried.
func (p *Process) startAnywhere() error {
	var err error
	for range 4 {
		if p.port, err = freePort(); err != nil {
			return err
		}
		if err = p.start(); err == nil {
			return nil
		}
	}
	return err
}

func (p *Process) start() error {
	out, err := os.CreateTemp("", "redis-*.log") // a file, not a buffer: that would need a goroutine
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	_ = os.Remove(out.Name())
	cmd := exec.Command(p.path, append([]string{"--port", strconv.Itoa(p.port)}, p.args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	// The kernel ends the server when the thread that started it ends. The runtime keeps its threads, unless a goroutine that locked
	// one ends without unlocking it: a test must not do that.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	if err := p.ready(); err != nil {
		p.end()
		said := make([]byte, 4096)
		n, _ := out.ReadAt(said, 0)
		return fmt.Errorf("port %d: %w\n%s", p.port, err, said[:n])
	}
	return nil
}

// ready asks until this server, and not another one on its port, answers.
func (p *Process) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	client := redis.NewClient(p.Options())
	defer func() { _ = client.Close() }()
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	mine := fmt.Sprintf("process_id:%d\r\n", p.cmd.Process.Pid)
	for {
		if p.listens() && client.Ping(ctx).Err() == nil { // a ping fails while the server loads its data
			info, err := client.Info(ctx, "server").Result()
			if err == nil && strings.Contains(info, mine) {
				return nil
			}
			if err == nil {
				return fmt.Errorf("another server has this port")
			}
		}
		var status syscall.WaitStatus
		if pid, _ := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WNOHANG, nil); pid > 0 {
			p.cmd = nil
			return fmt.Errorf("ended at once, status %d", status.ExitStatus())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-retry.C:
		}
	}
}

// listens says whether anybody does on the server's port. A client that is refused would write that into the test's output.
func (p *Process) listens() bool {
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// end kills the server and waits for its end.
func (p *Process) end() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}
