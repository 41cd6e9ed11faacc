package gateway_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway"
	"holdfast/gateway/wire"
)

// A client that says hello learns what it needs to know, and one that does not say it may go on all the same.
func TestHello(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	f := p.ask(`{"id":1,"op":"ping"}`)
	assert.Equal(t, `{"re":1,"ok":{}}`, f.raw)
	f = p.ask(`{"id":"h","op":"hello","protocol":1}`)
	assert.Equal(t, `{"re":"h","ok":{"protocol":1,"server":"holdfast/test","node":"n1","ping_ms":20000,`+
		`"limits":{"max_frame":4194304,"max_sessions":256,"max_inflight":64,"max_key":128,"max_id":128},`+
		`"ops":["hello","attach","detach","send","regenerate","edit","undo","truncate","clear","select","rename","cancel","ping"]}}`, f.raw)
}

// A client of another protocol version is told so and does not come back.
func TestHelloOtherVersion(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	p.send(`{"id":1,"op":"hello","protocol":2}`)
	frames, code := p.end()
	require.Len(t, frames, 1)
	assert.Equal(t, "bad_request", frames[0].code())
	assert.EqualValues(t, wire.CloseProtocol, code)
}

// What cannot be understood is answered, with the id where there was one, and the socket lives on.
func TestGarbage(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	for _, msg := range []string{`x`, `[1]`, `{"id":1`, `{"id":{},"op":"ping"}`, `{"op":"send","session":"../x","content":"a"}`, `{}`, "\"\\ud800\""} {
		f := p.ask(msg)
		assert.Equal(t, "bad_request", f.code(), msg)
		assert.Contains(t, f.m, "re")
		assert.Nil(t, f.m["re"], msg)
	}
	f := p.ask(`{"id":-7.50,"op":"drop"}`)
	assert.True(t, strings.HasPrefix(f.raw, `{"re":-7.50,"error":{"code":"bad_request","status":400,`), f.raw)
	f = p.ask(`{"id":8,"op":"send","session":"s1","content":"a\u0000"}`)
	assert.Equal(t, "bad_request", f.code())
}

// Nothing comes back for an empty message.
func TestEmptyMessage(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	p.send("")
	p.send(" \n\n")
	assert.Equal(t, `{"re":1,"ok":{}}`, p.ask(`{"id":1,"op":"ping"}`).raw)
}

// Several commands may come in one message; what follows a broken one in it is not looked at.
func TestSeveralCommands(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	p.send("{\"id\":1,\"op\":\"ping\"}\n{\n\"id\":2,\n\"op\":\"ping\"}\r\n{\"id\":3,\"op\":\"nope\"}\n{\"id\":4,\"op\":\"ping\"}\n{\"id\":5,\n")
	p.expect(`{"re":1,"ok":{}}`)
	p.expect(`{"re":2,"ok":{}}`)
	assert.Equal(t, "bad_request", p.next().code())
	p.expect(`{"re":4,"ok":{}}`)
	f := p.next()
	assert.Equal(t, "bad_request", f.code())
	assert.Nil(t, f.m["re"])
}

// A client that sends nothing but garbage is sent away for good.
func TestGarbageWithoutEnd(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	for range 40 {
		if p.ws.Write(context.Background(), websocket.MessageText, []byte("?")) != nil {
			break
		}
	}
	frames, code := p.end()
	assert.LessOrEqual(t, len(frames), 32)
	assert.EqualValues(t, wire.CloseProtocol, code)
}

// Each kind of message that breaks the rules of the socket has its close code.
// case: FC88
func TestCloseCodes(t *testing.T) {
	big := func(n int) []byte {
		const head, tail = `{"id":1,"op":"ping","x":"`, `"}`
		return []byte(head + strings.Repeat("x", n-len(head)-len(tail)) + tail)
	}
	for name, c := range map[string]struct {
		kind websocket.MessageType
		msg  []byte
		code wire.CloseCode
	}{
		"binary":        {websocket.MessageBinary, []byte(`{"id":1,"op":"ping"}`), wire.CloseProtocol},
		"not UTF-8":     {websocket.MessageText, []byte("{\"id\":1,\"op\":\"ping\",\"x\":\"\xff\"}"), wire.CloseInvalidText},
		"cut UTF-8":     {websocket.MessageText, []byte("\xe2\x82"), wire.CloseInvalidText},
		"one too large": {websocket.MessageText, big(100_001), wire.CloseTooBig},
		"far too large": {websocket.MessageText, big(3_000_000), wire.CloseTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(c *gateway.Config) { c.MaxFrame = 100_000 })
			p := s.dial(nil)
			go func() { _ = p.ws.Write(context.Background(), c.kind, c.msg) }() // the server may stop reading half-way
			_, code := p.end()
			assert.EqualValues(t, c.code, code)
			assert.Equal(t, int(c.code), <-s.closed)
		})
	}
	s := newSite(t, func(c *gateway.Config) { c.MaxFrame = 100_000 })
	p := s.dial(nil)
	for _, n := range []int{32_768, 32_769, 99_999, 100_000} {
		assert.Equal(t, `{"re":1,"ok":{}}`, p.ask(string(big(n))).raw, n)
	}
	// The same in a thousand fragments.
	w, err := p.ws.Writer(context.Background(), websocket.MessageText)
	require.NoError(t, err)
	for rest := big(100_000); len(rest) > 0; rest = rest[100:] {
		_, err = w.Write(rest[:100])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	p.expect(`{"re":1,"ok":{}}`)
}

// A connection that breaks in the middle of a frame, or never finishes its handshake, leaves nothing behind.
func TestHalfFrames(t *testing.T) {
	s := newSite(t, nil)
	handshake := "GET /v1/ws HTTP/1.1\r\nHost: " + s.http.Listener.Addr().String() + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
	frame := "\x81\x94\x00\x00\x00\x00" + `{"id":1,"op":"ping"}`
	for _, cut := range []string{frame[:1], frame[:4], frame[:10], "\x01\x82\x00\x00\x00\x00{\"", "\xff\xff\xff\xff", "\x81\x05hello", "\x88\x81\x00\x00\x00\x00x"} {
		c, err := net.Dial("tcp", s.http.Listener.Addr().String())
		require.NoError(t, err)
		_, err = c.Write([]byte(handshake + cut))
		require.NoError(t, err)
		buf := make([]byte, 12)
		_, err = c.Read(buf)
		require.NoError(t, err)
		assert.Equal(t, "HTTP/1.1 101", string(buf))
		require.NoError(t, c.Close())
		<-s.closed
	}
	// The first frame in the same write as the handshake is not lost.
	c, err := net.Dial("tcp", s.http.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte(handshake + frame))
	require.NoError(t, err)
	var got strings.Builder
	buf := make([]byte, 1024)
	for !strings.Contains(got.String(), `{"re":1,"ok":{}}`) {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
		n, err := c.Read(buf)
		require.NoError(t, err)
		got.Write(buf[:n])
	}
}

// A page offers our subprotocol or none; what somebody else's client offers is refused before the upgrade.
func TestSubprotocol(t *testing.T) {
	s := newSite(t, nil)
	for offer, ok := range map[string]bool{"": true, "holdfast.v1": true, "x,holdfast.v1": true, "x": false, "holdfast.v2": false} {
		var o websocket.DialOptions
		want := ""
		if offer != "" {
			o.Subprotocols, want = strings.Split(offer, ","), "holdfast.v1"
		}
		ws, resp, err := websocket.Dial(t.Context(), s.url(), &o)
		if !ok {
			require.Error(t, err, offer)
			assert.Equal(t, 400, resp.StatusCode)
			continue
		}
		require.NoError(t, err, offer)
		assert.Equal(t, want, ws.Subprotocol())
		require.NoError(t, ws.Close(websocket.StatusNormalClosure, ""))
	}
}

// Compression is never agreed on.
// case: FC92
func TestNoCompression(t *testing.T) {
	s := newSite(t, nil)
	ws, resp, err := websocket.Dial(t.Context(), s.url(), &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover})
	require.NoError(t, err)
	assert.Empty(t, resp.Header.Get("Sec-WebSocket-Extensions"))
	require.NoError(t, ws.Close(websocket.StatusNormalClosure, ""))
}

// Above the number of sockets a node refuses before the upgrade and says when to come back.
func TestTooManySockets(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) { c.MaxSockets = 2 })
	s.dial(nil).ask(`{"op":"ping"}`)
	s.dial(nil).ask(`{"op":"ping"}`)
	_, resp, err := websocket.Dial(t.Context(), s.url(), nil)
	require.Error(t, err)
	assert.Equal(t, 503, resp.StatusCode)
	assert.NotEmpty(t, resp.Header.Get("Retry-After"))
	status, body := s.call("GET", "/readyz", "", nil)
	assert.Equal(t, 503, status)
	assert.Contains(t, body, "full")
}

// Clients are told when the store is out of reach and when it is back, also those that come in between.
func TestDegraded(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	p.ask(`{"op":"ping"}`)
	s.server.SetDegraded(true)
	s.server.SetDegraded(true)
	p.expect(`{"event":"degraded","on":true}`)
	q := s.dial(nil)
	q.expect(`{"event":"degraded","on":true}`)
	s.server.SetDegraded(false)
	p.expect(`{"event":"degraded","on":false}`)
	q.expect(`{"event":"degraded","on":false}`)
}

// A page behind a proxy sees a sign of life in time, and a peer that has gone without a word is noticed.
// case: FC93, FC94
func TestPings(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) {
		c.PingInterval, c.PongTimeout = 100*time.Millisecond, 200*time.Millisecond
	})
	p := s.dial(nil)
	for range 6 { // far longer than the pong limit: this client answers
		assert.Equal(t, wire.EventPing, p.next().event())
	}
	// This one reads nothing, so it answers nothing.
	c, err := net.Dial("tcp", s.http.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "GET /v1/ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n", s.http.Listener.Addr())
	require.NoError(t, err)
	deadline := time.After(patience)
	for {
		select {
		case code := <-s.closed:
			assert.Zero(t, code)
			return
		case <-deadline:
			require.FailNow(t, "the half-open socket lives on")
		default:
			assert.Equal(t, wire.EventPing, p.next().event())
		}
	}
}
