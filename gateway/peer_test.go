package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"holdfast/gateway"
	"holdfast/gateway/wire"
)

// patience is how long a test waits for what must come; nothing takes nearly as long.
const patience = 20 * time.Second

// site is a server under test.
type site struct {
	t      *testing.T
	server *gateway.Server
	http   *httptest.Server
	hub    *fakeHub
	engine *fakeEngine
	reader *fakeReader
	closed chan int // the codes of ended sockets
}

// newSite starts a server with fakes; tune may change its configuration.
func newSite(t *testing.T, tune func(*gateway.Config)) *site {
	t.Helper()
	s := &site{t: t, hub: newHub("s1", "s2", "s3"), engine: &fakeEngine{}, reader: &fakeReader{}, closed: make(chan int, 1000)}
	cfg := gateway.Config{
		Engine: s.engine, Hub: s.hub, Reader: s.reader, Node: "n1", Version: "test",
		Logger: slog.New(slog.DiscardHandler),
		Events: gateway.Events{Closed: func(code int) { s.closed <- code }},
	}
	if tune != nil {
		tune(&cfg)
	}
	s.server = gateway.New(cfg)
	s.http = httptest.NewServer(s.server.Handler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, s.server.Shutdown(ctx))
		s.http.Close()
		require.Zero(t, s.server.Sockets())
		require.Zero(t, s.hub.readers(), "subscriptions left over")
	})
	return s
}

func (s *site) url() string { return s.http.URL + "/v1/ws" }

// peer is a client that sees bytes.
type peer struct {
	t      *testing.T
	ws     *websocket.Conn
	frames []frame // received, not yet looked at
}

type frame struct {
	raw string
	m   map[string]any
}

func (f frame) event() string { s, _ := f.m["event"].(string); return s }

func (f frame) code() string {
	e, _ := f.m["error"].(map[string]any)
	s, _ := e["code"].(string)
	return s
}

func (s *site) dial(header http.Header) *peer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, s.url(), &websocket.DialOptions{Subprotocols: []string{wire.Subprotocol}, HTTPHeader: header})
	require.NoError(s.t, err)
	require.Equal(s.t, wire.Subprotocol, ws.Subprotocol())
	ws.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = ws.CloseNow() })
	return &peer{t: s.t, ws: ws}
}

// send writes one message.
func (p *peer) send(msg string) {
	p.t.Helper()
	require.NoError(p.t, p.ws.Write(context.Background(), websocket.MessageText, []byte(msg)))
}

// next gives the next frame.
func (p *peer) next() frame {
	p.t.Helper()
	for len(p.frames) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, msg, err := p.ws.Read(ctx)
		cancel()
		require.NoError(p.t, err)
		for line := range bytes.SplitSeq(msg, []byte("\n")) {
			var m map[string]any
			require.NoError(p.t, json.Unmarshal(line, &m), "%s", line)
			p.frames = append(p.frames, frame{raw: string(line), m: m})
		}
	}
	f := p.frames[0]
	p.frames = p.frames[1:]
	return f
}

// ask sends a message and gives the next frame.
func (p *peer) ask(msg string) frame {
	p.t.Helper()
	p.send(msg)
	return p.next()
}

// expect checks the next frame, byte for byte.
func (p *peer) expect(want string) {
	p.t.Helper()
	require.Equal(p.t, want, p.next().raw)
}

// end reads to the end and gives the frames on the way and the close code; -1 when there was none.
func (p *peer) end() ([]frame, websocket.StatusCode) {
	p.t.Helper()
	frames := p.frames
	p.frames = nil
	for {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, msg, err := p.ws.Read(ctx)
		late := ctx.Err()
		cancel()
		require.NoError(p.t, late, "the connection did not end")
		if err != nil {
			return frames, websocket.CloseStatus(err)
		}
		for line := range bytes.SplitSeq(msg, []byte("\n")) {
			f := frame{raw: string(line)}
			require.NoError(p.t, json.Unmarshal(line, &f.m))
			frames = append(frames, f)
		}
	}
}

// get makes an HTTP call.
func (s *site) call(method, path, body string, header http.Header) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.http.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for k, v := range header {
		req.Header[k] = v
	}
	if h := header.Get("Host"); h != "" {
		req.Host = h
	}
	resp, err := s.http.Client().Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, strings.TrimSuffix(string(got), "\n")
}

func within(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		require.FailNow(t, "did not come: "+what)
	}
}
