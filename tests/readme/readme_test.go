package readme_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"holdfast/tests/redistest"
)

const limit = 2 * time.Minute

// elsewhere are commands that other tests run: what begins so, and where.
var elsewhere = map[string]string{
	"./tests/run":                             "CI runs it",
	"go run ./cmd/holdfast demo":              "tests/browser: TestKillTheOwner",
	"OPENAI_API_KEY=":                         "stream/upstream/openai, and TestRealModel of cmd/holdfast",
	"go run ./cmd/holdfast --upstream openai": "TestRealModel of cmd/holdfast",
	"go run ./cmd/holdfast --redis":           "tests/multinode",
	"go run ./cmd/holdfast --help":            "TestReadmeCommands",
	"go run ./cmd/holdfast fake-provider":     "TestRealModel of cmd/holdfast",
}

// What a newcomer copies from the README works, word for word.
func TestReadmeCommands(t *testing.T) {
	redistest.Require(t, "curl")
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	base := start(t)
	ran := 0
	for _, block := range blocks(string(text)) {
		for line := range strings.SplitSeq(block.body, "\n") {
			line, _, _ = strings.Cut(line, "      #")
			line = strings.TrimSpace(line)
			switch {
			case line == "" || block.lang == "js":
			case line == "go run ./cmd/holdfast":
				ran++ // start does
			case strings.HasPrefix(line, "curl "):
				out := shell(t, strings.ReplaceAll(line, "http://127.0.0.1:8080", base))
				require.True(t, json.Valid([]byte(out)), "%s\n%s", line, out)
				require.NotContains(t, out, `"error"`, line)
				ran++
			case strings.HasPrefix(line, "$ websocat "):
				require.Contains(t, line, "ws://127.0.0.1:8080/v1/ws")
			case strings.HasPrefix(line, "{"):
				socket(t, base, line)
				ran++
			default:
				require.True(t, known(line), "nothing runs this command of the README: %s", line)
			}
		}
	}
	require.GreaterOrEqual(t, ran, 5)
}

func known(line string) bool {
	for prefix := range elsewhere {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

type block struct{ lang, body string }

// blocks are the fenced code blocks of a text.
func blocks(text string) []block {
	var out []block
	for i, part := range strings.Split(text, "```") {
		if i%2 == 1 {
			lang, body, _ := strings.Cut(part, "\n")
			out = append(out, block{lang, body})
		}
	}
	return out
}

// start runs the README's first command, on a port of its own.
func start(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "holdfast")
	out, err := exec.Command("go", "build", "-o", program, "holdfast/cmd/holdfast").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), fmt.Sprintf("HOLDFAST_LISTEN=127.0.0.1:%d", redistest.FreePort(t)))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return url
		}
	}
	t.Fatal("holdfast ended at once")
	return ""
}

func shell(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "bash", "-c", line).Output()
	require.NoError(t, err, line)
	return string(out)
}

// socket sends a line as a WebSocket tool does, and reads until the turn is settled.
func socket(t *testing.T, base, line string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(base, "http")+"/v1/ws", nil)
	require.NoError(t, err)
	defer func() { _ = ws.CloseNow() }()
	require.NoError(t, ws.Write(ctx, websocket.MessageText, []byte(line)))
	for {
		_, msg, err := ws.Read(ctx)
		require.NoError(t, err)
		require.NotContains(t, string(msg), `"error":{`)
		if strings.Contains(string(msg), `"event":"settled"`) {
			return
		}
	}
}
