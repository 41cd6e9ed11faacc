package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/tests/redistest"
)

// limit is ten times what anything on a page needs on a busy machine.
const limit = 60 * time.Second

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-browser")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "holdfast")
	out, err := exec.Command("go", "build", "-o", path, "holdfast/cmd/holdfast").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// start runs holdfast with args and gives its address. It ends with the test.
func start(t *testing.T, args ...string) string {
	t.Helper()
	url, _ := startNode(t, args...)
	return url
}

// startNode is start; end kills the process before the test's end.
func startNode(t *testing.T, args ...string) (url string, end func()) {
	t.Helper()
	path, err := build()
	require.NoError(t, err)
	cmd := exec.Command(path, append(args, "--listen", fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t)), "--drain-timeout", "0s")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(end)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return url, end
		}
	}
	t.Fatal("holdfast ended at once")
	return "", nil
}

// browser starts Chromium, with a profile of its own.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := redistest.Require(t, "chromium")
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1280, 800), chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(limit))
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	return alloc
}

// tab is one page.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func open(t *testing.T, parent context.Context, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx}
	p.run(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(url))
	p.until(`document.body.dataset.connection === "open" || document.querySelector("#status-connection").dataset.state === "open"`)
	return p
}

func (p *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(p.ctx, actions...) }()
	select {
	case err := <-done:
		require.NoError(p.t, err)
	case <-time.After(limit):
		p.t.Fatal("the browser does not answer")
	}
}

// value evaluates an expression.
func value[T any](p *tab, expr string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expr))
	require.NoError(p.t, err, expr)
	return v
}

// do runs a statement.
func (p *tab) do(statement string) { value[bool](p, "("+statement+", true)") }

// until waits for an expression to be true.
func (p *tab) until(expr string) {
	p.t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if value[bool](p, "Boolean("+expr+")") {
			return
		}
		if time.Now().After(deadline) {
			p.shot("timeout-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
			p.t.Fatalf("waited too long for %s; the page says:\n%s", expr, value[string](p, "document.body.innerText"))
		}
	}
}

func id(name string) string { return `document.querySelector('[data-testid="` + name + `"]')` }

// send writes into the composer and presses Enter.
func (p *tab) send(text string) {
	p.t.Helper()
	p.run(chromedp.SendKeys(chromedp.CSS(`[data-testid="composer"]`), text))
	// A key by the protocol would write its character even where the page has said no.
	p.do(id("composer") + `.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}))`)
}

func (p *tab) click(name string) {
	p.t.Helper()
	p.until(id(name) + " && !" + id(name) + ".hidden")
	p.do(id(name) + ".click()")
}

// answers are the texts of the answers that are shown, blanks made one.
func (p *tab) answers() []string {
	p.t.Helper()
	return value[[]string](p, `[...document.querySelectorAll('[data-testid="answer"]')].map((e) => e.querySelector(".prose").innerText.replace(/\s+/g, " ").trim())`)
}

func (p *tab) outcomes() []string {
	p.t.Helper()
	return value[[]string](p, `[...document.querySelectorAll('[data-testid="turn"]')].map((e) => e.dataset.outcome)`)
}

// idle waits until no run is active, and the last turn has ended as said.
func (p *tab) idle(outcome string) {
	p.t.Helper()
	p.until(`document.body.dataset.busy === "false" && [...document.querySelectorAll('[data-testid="turn"]')].at(-1)?.dataset.outcome === "` + outcome + `"`)
}

func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("HOLDFAST_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(dir, 0o755))
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// row is one row of a stored session.
type row struct {
	Role, Content, Run string
	Error, Partial     bool
}

func stored(t *testing.T, url, session string) []row {
	t.Helper()
	resp, err := http.Get(url + "/v1/sessions/" + session)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var body struct{ Document struct{ Rows []row } }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&body))
	return body.Document.Rows
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }
