package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"holdfast/stream/upstream/fake"
	"holdfast/tests/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = time.Minute

// running is a command under way.
type running struct {
	t    *testing.T
	url  string
	stop context.CancelFunc
	done chan error
}

// run starts the command line and waits for its address, or for its end.
func run(t *testing.T, args ...string) (*running, error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	cmd := rootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(w)
	x := &running{t: t, stop: stop, done: make(chan error, 1)}
	go func() {
		err := cmd.ExecuteContext(ctx)
		_ = w.CloseWithError(io.EOF)
		x.done <- err
	}()
	first := make([]byte, 0, 256)
	buf := make([]byte, 256)
	for !bytes.Contains(first, []byte("\n")) {
		n, err := r.Read(buf)
		first = append(first, buf[:n]...)
		if err != nil {
			stop()
			return nil, <-x.done
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	line, _, _ := strings.Cut(string(first), "\n")
	_, x.url, _ = strings.Cut(line, " on ")
	t.Cleanup(func() {
		stop()
		select {
		case err := <-x.done:
			require.NoError(t, err)
		case <-time.After(limit):
			t.Error("the command does not end")
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return x, nil
}

func (x *running) post(session, body string) string {
	x.t.Helper()
	resp, err := http.Post(x.url+"/v1/sessions/"+session+"/commands", "application/json", strings.NewReader(body))
	require.NoError(x.t, err)
	defer func() { _ = resp.Body.Close() }()
	out, err := io.ReadAll(resp.Body)
	require.NoError(x.t, err)
	return string(out)
}

// until reads a session until it contains want.
func (x *running) until(session, want string) string {
	x.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for {
		resp, err := http.Get(x.url + "/v1/sessions/" + session)
		require.NoError(x.t, err)
		out, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		require.NoError(x.t, err)
		if strings.Contains(string(out), want) {
			return string(out)
		}
		select {
		case <-tick.C:
		case <-end:
			x.t.Fatalf("waited too long for %s in %s", want, out)
		}
	}
}

// What a person can mend gets one line that says how.
func TestHints(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := free.Addr().String()
	require.NoError(t, free.Close())
	broken := filepath.Join(t.TempDir(), "holdfast.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("lisen: x\n"), 0o600))
	t.Setenv("HOLDFAST_TEST_NO_KEY", "")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a port that is taken":       {[]string{"--listen", taken.Addr().String()}, "is taken by another program"},
		"a Redis that is not there":  {[]string{"--listen", "127.0.0.1:0", "--redis", "redis://:secret@" + nobody}, "does not answer"},
		"no Redis address":           {[]string{"--redis", "localhost"}, "--redis: scheme"},
		"no key":                     {[]string{"--upstream", "openai", "--upstream-key-env", "HOLDFAST_TEST_NO_KEY"}, "needs a key: set HOLDFAST_TEST_NO_KEY"},
		"no model address":           {[]string{"--upstream", "openai", "--upstream-url", "nowhere"}, "--upstream-url"},
		"an open address":            {[]string{"--listen", "0.0.0.0:0"}, "--insecure"},
		"a duration":                 {[]string{"--lease-ttl", "1ms"}, "--lease-ttl"},
		"a size":                     {[]string{"--max-frame", "huge"}, "--max-frame"},
		"a model source":             {[]string{"--upstream", "magic"}, "demo or openai"},
		"a policy":                   {[]string{"--on-failure", "panic"}, "show or restore"},
		"a node id":                  {[]string{"--node-id", "a/b"}, "--node-id"},
		"an unknown key of the file": {[]string{"--config", broken}, `"lisen" is no setting`},
		"two stores":                 {[]string{"--redis", "redis://x", "--data", "y"}, "one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, c.args...)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "secret")
			var hint *hintError
			require.ErrorAs(t, err, &hint)
		})
	}
}

// Flags win over the environment, the environment over the file.
func TestPrecedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.yaml")
	require.NoError(t, os.WriteFile(path, []byte("node-id: file\nlease-ttl: 7s\ndoubt: 3s\n"), 0o600))
	t.Setenv("HOLDFAST_NODE_ID", "env")
	t.Setenv("HOLDFAST_DOUBT", "4s")
	t.Setenv("HOLDFAST_SERVICE_HOST", "10.0.0.1") // Kubernetes sets such names
	cmd := serveCommand()
	require.NoError(t, cmd.ParseFlags([]string{"--config", path, "--node-id", "flag"}))
	c, err := loadConfig(cmd.Flags())
	require.NoError(t, err)
	require.Equal(t, "flag", c.node)
	require.Equal(t, 4*time.Second, c.doubt)
	require.Equal(t, 7*time.Second, c.leaseTTL)
	require.Equal(t, time.Minute, c.idleRelease)
	require.False(t, c.listenGiven)
}

// A model server over HTTP answers through holdfast, whole; its key, its address and its errors stay inside.
func TestRealModel(t *testing.T) {
	const secret = "sk-very-secret-0123456789"
	provider := fake.New(fake.Script{Key: secret})
	srv := httptest.NewServer(provider)
	defer srv.Close()
	t.Setenv("MODEL_KEY", secret)
	x, err := run(t, "--listen", "127.0.0.1:0", "--upstream", "openai", "--upstream-url", srv.URL+"/v1", "--upstream-key-env", "MODEL_KEY", "--upstream-model", "m1")
	require.NoError(t, err)
	x.post("s1", `{"id":1,"op":"send","key":"k1","content":"/echo over the wire"}`)
	x.until("s1", `"content":"over the wire"`)
	x.post("s1", `{"id":2,"op":"send","key":"k2","content":"/error-mid"}`)
	body := x.until("s1", `"error":true`)
	for _, private := range []string{secret, srv.URL, "internal.example", "usage"} {
		require.NotContains(t, body, private)
	}
}

// A wrong key and a wrong address show one clear line in the chat.
func TestWrongKeyAndAddress(t *testing.T) {
	srv := httptest.NewServer(fake.New(fake.Script{Key: "right"}))
	defer srv.Close()
	other := httptest.NewServer(http.NotFoundHandler()) // a server, and not one of models
	defer other.Close()
	for _, c := range []struct{ key, url, says string }{
		{"wrong", srv.URL + "/v1", "--upstream-key-env"},
		{"right", other.URL, "--upstream-url"},
	} {
		t.Setenv("MODEL_KEY", c.key)
		x, err := run(t, "--listen", "127.0.0.1:0", "--upstream", "openai", "--upstream-url", c.url, "--upstream-key-env", "MODEL_KEY", "--upstream-model", "m1")
		require.NoError(t, err)
		x.post("s1", `{"id":1,"op":"send","key":"k1","content":"hello"}`)
		require.Contains(t, x.until("s1", `"error":true`), c.says)
	}
}

// With --data a conversation is there again after a restart, and the redis-server ends with the program.
func TestDataIsKept(t *testing.T) {
	redistest.Require(t, "redis-server")
	dir := t.TempDir()
	t.Run("first life", func(t *testing.T) {
		x, err := run(t, "--listen", "127.0.0.1:0", "--data", dir, "--drain-timeout", "0s")
		require.NoError(t, err)
		x.post("s1", `{"id":1,"op":"send","key":"k1","content":"/fast /echo remember this"}`)
		x.until("s1", `"run":null`)
	})
	x, err := run(t, "--listen", "127.0.0.1:0", "--data", dir, "--drain-timeout", "0s")
	require.NoError(t, err)
	require.Contains(t, x.until("s1", `"role":"assistant"`), `"content":"remember this"`)
	require.Contains(t, x.post("s1", `{"id":2,"op":"send","key":"k1","content":"/fast /echo remember this"}`), `"repeat":true`)
}

// The forms of --redis are told apart before anything is dialled.
func TestRedisAddresses(t *testing.T) {
	for addr, about := range map[string]string{
		"redis://localhost:6379/2":                  "redis at localhost:6379",
		"rediss://u:p@redis.example:6380":           "redis at redis.example:6380",
		"redis+sentinel://a:26379,b:26379/mymaster": "redis master mymaster by sentinels",
		"redis+cluster://a:7000,b:7000":             "redis cluster",
	} {
		b, err := parseRedis(addr)
		require.NoError(t, err, addr)
		require.Equal(t, about, b.about)
	}
	for _, addr := range []string{"localhost:6379", "http://x", "redis+sentinel://a:26379", ""} {
		_, err := parseRedis(addr)
		require.Error(t, err, addr)
	}
	require.NotContains(t, redacted("redis://u:secret@host:1"), "secret")
}

// The fake provider misbehaves as it is told, and holdfast says what happened and keeps what came.
func TestFakeProviderMisbehaves(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--crlf", "--comments", "--chop", "3", "--text", "füür 🌊 end"}, `"content":"füür 🌊 end"`},
		{[]string{"--form", "whole", "--text", "all at once"}, `"content":"all at once"`},
		{[]string{"--end", "cut", "--after", "2"}, `"partial":true`},
		{[]string{"--form", "html"}, `"error":true`},
	} {
		p, err := run(t, append([]string{"fake-provider", "--listen", "127.0.0.1:0"}, c.args...)...)
		require.NoError(t, err)
		x, err := run(t, "--listen", "127.0.0.1:0", "--upstream", "openai", "--upstream-url", p.url, "--upstream-key-env", "", "--upstream-model", "m1")
		require.NoError(t, err)
		x.post("s1", `{"id":1,"op":"send","key":"k1","content":"go"}`)
		x.until("s1", c.want)
	}
	_, err := run(t, "fake-provider", "--end", "badly")
	require.ErrorContains(t, err, "--end is one of")
}

// A conversation from elsewhere is brought in over HTTP, shown, and goes on; the same body again is the same session.
func TestImportOverHTTP(t *testing.T) {
	x, err := run(t, "--listen", "127.0.0.1:0")
	require.NoError(t, err)
	post := func(body string) (int, string) {
		resp, err := http.Post(x.url+"/v1/sessions", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		out, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(out)
	}
	body := `{"session":"old","title":"From elsewhere","rows":[` +
		`{"id":"u1","turn":"t1","role":"user","content":"hello","at":1},{"id":"a1","turn":"t1","role":"assistant","content":"hi","at":2}]}`
	for range 2 {
		status, out := post(body)
		require.Equal(t, http.StatusCreated, status, out)
		require.Contains(t, out, `"title":"From elsewhere"`)
		require.Contains(t, out, `"revision"`)
	}
	status, out := post(`{"session":"old","rows":[]}`)
	require.Equal(t, http.StatusConflict, status, out)
	status, out = post(`{"session":"ro","read_only":true,"rows":[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"}]}`)
	require.Equal(t, http.StatusCreated, status, out)
	require.NotContains(t, out, `"revision"`)
	require.Contains(t, x.post("ro", `{"id":1,"op":"send","key":"k","content":"more"}`), `"status":403`)
	for _, bad := range []string{`{"session":"a/b"}`, `{"rows":[{"role":"boss","content":"x"}]}`, `{"rows":[{"role":"user","content":"\u0000"}]}`, `{"rows":7}`, `{`} {
		status, out := post(bad)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", bad, out)
	}
	x.post("old", `{"id":2,"op":"send","key":"k","content":"/fast /echo on we go"}`)
	x.until("old", `"content":"on we go"`)
}
