package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway"
	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// upgrade tries a handshake and gives its status; headers as "Name: value".
func (s *site) upgrade(host string, headers ...string) int {
	s.t.Helper()
	c, err := net.Dial("tcp", s.http.Listener.Addr().String())
	require.NoError(s.t, err)
	defer c.Close()
	req := "GET /v1/ws HTTP/1.1\r\nHost: " + host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
	for _, h := range headers {
		req += h + "\r\n"
	}
	_, err = c.Write([]byte(req + "\r\n"))
	require.NoError(s.t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(s.t, err)
	return resp.StatusCode
}

// No page but our own can open a socket with somebody's browser, and none can reach us by a name of its own.
// case: FC114
func TestOriginAndHost(t *testing.T) {
	for name, c := range map[string]struct {
		tune    func(*gateway.Config)
		host    string
		headers []string
		status  int
	}{
		"no origin":               {nil, "localhost:8080", nil, 101},
		"same":                    {nil, "localhost:8080", []string{"Origin: http://localhost:8080"}, 101},
		"same in capitals":        {nil, "localhost:8080", []string{"Origin: HTTP://LOCALHOST:8080"}, 101},
		"same, default port":      {nil, "localhost", []string{"Origin: http://localhost:80"}, 101},
		"same, IPv6":              {nil, "[::1]:8080", []string{"Origin: http://[::1]:8080"}, 101},
		"null":                    {nil, "localhost:8080", []string{"Origin: null"}, 403},
		"empty":                   {nil, "localhost:8080", []string{"Origin: "}, 403},
		"other":                   {nil, "localhost:8080", []string{"Origin: http://evil.example"}, 403},
		"other port":              {nil, "localhost:8080", []string{"Origin: http://localhost:8081"}, 403},
		"other scheme":            {nil, "localhost:8080", []string{"Origin: https://localhost:8080"}, 403},
		"odd scheme":              {nil, "localhost:8080", []string{"Origin: file://localhost:8080"}, 403},
		"other loopback name":     {nil, "localhost:8080", []string{"Origin: http://127.0.0.1:8080"}, 403},
		"ours as a prefix":        {nil, "localhost:8080", []string{"Origin: http://localhost:8080.evil.example"}, 403},
		"ours as a user":          {nil, "localhost:8080", []string{"Origin: http://localhost:8080@evil.example"}, 403},
		"two":                     {nil, "localhost:8080", []string{"Origin: http://localhost:8080", "Origin: http://evil.example"}, 403},
		"a list":                  {nil, "localhost:8080", []string{"Origin: http://localhost:8080, http://evil.example"}, 403},
		"rebound name":            {nil, "evil.example:8080", nil, 403},
		"rebound, same origin":    {nil, "evil.example:8080", []string{"Origin: http://evil.example:8080"}, 403},
		"loopback as a prefix":    {nil, "localhost.evil.example", nil, 403},
		"number as a prefix":      {nil, "127.0.0.1.evil.example", nil, 403},
		"private address":         {nil, "10.0.0.1:8080", nil, 403},
		"127/8":                   {nil, "127.9.9.9:1", nil, 101},
		"insecure, any host":      {insecure, "chat.example:8080", []string{"Origin: http://chat.example:8080"}, 101},
		"insecure, TLS before us": {insecure, "chat.example", []string{"Origin: https://chat.example"}, 101},
		"insecure, other origin":  {insecure, "chat.example", []string{"Origin: https://chat.example.evil.example"}, 403},
		"listed origin":           {insecure, "gw.example", []string{"Origin: https://chat.example"}, 101},
		"listed origin, port":     {insecure, "gw.example", []string{"Origin: https://chat.example:8443"}, 403},
		"with tokens, any host":   {tokens, "chat.example:8080", nil, 101},
		"with tokens, origin":     {tokens, "chat.example:8080", []string{"Origin: http://evil.example"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(cfg *gateway.Config) {
				cfg.Origins = []string{"https://chat.example"}
				if c.tune != nil {
					c.tune(cfg)
				}
			})
			assert.Equal(t, c.status, s.upgrade(c.host, c.headers...))
		})
	}
}

func insecure(c *gateway.Config) { c.Insecure = true }

// tokens knows the people a and b of two tenants; "late" is a's for a moment, "slow" cannot be checked.
func tokens(c *gateway.Config) {
	c.HelloTimeout = 500 * time.Millisecond
	c.Authenticate = func(ctx context.Context, token string) (gateway.Identity, error) {
		switch token {
		case "a", "a2":
			return gateway.Identity{Tenant: "ta", Who: "anna"}, nil
		case "b":
			return gateway.Identity{Tenant: "tb", Who: "bert"}, nil
		case "late":
			return gateway.Identity{Tenant: "ta", Who: "anna", Expires: time.Now().Add(300 * time.Millisecond)}, nil
		case "slow":
			<-ctx.Done()
			return gateway.Identity{}, ctx.Err()
		case "away":
			return gateway.Identity{}, fmt.Errorf("check: %w", draining{})
		case "panic":
			panic("in authenticate")
		}
		return gateway.Identity{}, fmt.Errorf("lookup: %w", gateway.ErrBadToken)
	}
}

// Without a token nothing is answered but a hello, and a bad one is told apart from a bad moment.
func TestTokens(t *testing.T) {
	for name, c := range map[string]struct {
		msg  string
		code string
		end  wire.CloseCode
	}{
		"no hello":       {`{"id":1,"op":"attach","session":"s1"}`, "unauthenticated", wire.CloseUnauthenticated},
		"ping":           {`{"id":1,"op":"ping"}`, "unauthenticated", wire.CloseUnauthenticated},
		"no token":       {`{"id":1,"op":"hello"}`, "unauthenticated", wire.CloseUnauthenticated},
		"bad token":      {`{"id":1,"op":"hello","token":"x"}`, "unauthenticated", wire.CloseUnauthenticated},
		"not checkable":  {`{"id":1,"op":"hello","token":"slow"}`, "timeout", wire.CloseOverloaded},
		"store away":     {`{"id":1,"op":"hello","token":"away"}`, "unavailable", wire.CloseOverloaded},
		"fault":          {`{"id":1,"op":"hello","token":"panic"}`, "internal", wire.CloseUnauthenticated},
		"what follows":   {"{\"id\":1,\"op\":\"hello\",\"token\":\"x\"}\n{\"id\":2,\"op\":\"attach\",\"session\":\"s1\"}", "unauthenticated", wire.CloseUnauthenticated},
		"nothing at all": {"", "unauthenticated", wire.CloseUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tokens)
			p := s.dial(nil)
			p.send(c.msg)
			frames, code := p.end()
			require.Len(t, frames, 1)
			assert.Equal(t, c.code, frames[0].code())
			assert.EqualValues(t, c.end, code)
		})
	}
}

// A socket without a token may not send much.
func TestUnauthenticatedFrame(t *testing.T) {
	s := newSite(t, tokens)
	p := s.dial(nil)
	p.send(fmt.Sprintf(`{"id":1,"op":"hello","token":"a","x":"%030000d"}`, 0))
	_, code := p.end()
	assert.EqualValues(t, wire.CloseTooBig, code)
	p = s.dial(nil)
	p.ask(`{"id":1,"op":"hello","token":"a"}`)
	assert.Equal(t, `{"re":1,"ok":{}}`, p.ask(fmt.Sprintf(`{"id":1,"op":"ping","x":"%030000d"}`, 0)).raw)
}

// A token opens the door of its tenant alone: another one's sessions are not there.
// case: FC112
func TestTenants(t *testing.T) {
	s := newSite(t, tokens)
	s.hub.logs[regen.Key{Tenant: "ta", Session: "x"}] = &fakeLog{subs: map[*fakeSub]struct{}{}}
	s.engine.cancel = func(_ context.Context, key regen.Key, stop stream.Stop) (stream.StopResult, error) {
		assert.Equal(t, regen.Key{Tenant: "tb", Session: "x"}, key)
		assert.Equal(t, "bert", stop.Who)
		return stream.StopResult{}, stream.ErrNotFound
	}
	a, b := s.dial(http.Header{"Authorization": {"Bearer a"}}), s.dial(nil)
	assert.Contains(t, a.ask(`{"id":1,"op":"attach","session":"x"}`).raw, `"ok"`)
	b.ask(`{"id":1,"op":"hello","token":"b"}`)
	assert.Equal(t, "not_found", b.ask(`{"id":1,"op":"attach","session":"x"}`).code())
	assert.Equal(t, "not_found", b.ask(`{"id":1,"op":"cancel","session":"x","of":"k"}`).code())
}

// A token is renewed on the same socket, by the same person only; one that ends closes it with a code that says "come back".
func TestTokenRenewal(t *testing.T) {
	s := newSite(t, tokens)
	p := s.dial(nil)
	p.ask(`{"id":1,"op":"hello","token":"late"}`)
	assert.Contains(t, p.ask(`{"id":2,"op":"hello","token":"a2"}`).raw, `"ok"`)
	assert.Contains(t, p.ask(`{"id":2,"op":"hello"}`).raw, `"ok"`)
	q := s.dial(nil)
	q.ask(`{"id":1,"op":"hello","token":"late"}`)
	_, code := q.end()
	assert.EqualValues(t, wire.CloseExpired, code)
	assert.Equal(t, `{"re":3,"ok":{}}`, p.ask(`{"id":3,"op":"ping"}`).raw)
	p.send(`{"id":4,"op":"hello","token":"b"}`)
	frames, code := p.end()
	assert.Equal(t, "forbidden", frames[0].code())
	assert.EqualValues(t, wire.CloseForbidden, code)
}

// A bad token in the header is refused before the upgrade; HTTP calls need one too.
func TestTokenHeader(t *testing.T) {
	s := newSite(t, tokens)
	assert.Equal(t, 401, s.upgrade("h", "Authorization: Bearer x"))
	assert.Equal(t, 101, s.upgrade("h", "Authorization: bearer a"))
	for _, path := range []string{"/v1/sessions", "/v1/sessions/s1"} {
		status, body := s.call("GET", path, "", nil)
		assert.Equal(t, 401, status)
		assert.Contains(t, body, `"code":"unauthenticated"`)
		status, _ = s.call("GET", path, "", http.Header{"Authorization": {"Bearer x"}})
		assert.Equal(t, 401, status)
	}
	status, _ := s.call("GET", "/v1/sessions", "", http.Header{"Authorization": {"Bearer a"}})
	assert.Equal(t, 200, status)
	status, _ = s.call("GET", "/livez", "", http.Header{"Host": {"10.1.2.3"}})
	assert.Equal(t, 200, status)
}

// The one token of a development set-up opens the door, and no other does; an empty one opens nothing.
func TestStaticToken(t *testing.T) {
	check := gateway.StaticToken("open", "main")
	id, err := check(t.Context(), "open")
	require.NoError(t, err)
	assert.Equal(t, gateway.Identity{Tenant: "main"}, id)
	for _, bad := range []string{"", "o", "openx", "OPEN"} {
		_, err = check(t.Context(), bad)
		assert.ErrorIs(t, err, gateway.ErrBadToken)
	}
	_, err = gateway.StaticToken("", "main")(t.Context(), "")
	assert.Error(t, err)
}

// A drain sends everybody away, those with a running answer after its end, and takes nobody new.
// case: FC96
func TestDrain(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) { c.DrainWindow = 50 * time.Millisecond })
	idle, busy := s.dial(nil), s.dial(nil)
	idle.ask(`{"id":1,"op":"attach","session":"s2"}`)
	busy.ask(`{"id":1,"op":"attach","session":"s1","cursor":"inc.1:0"}`)
	s.hub.add("s1", started(run1))
	busy.next()
	done := make(chan error, 1)
	go func() { done <- s.server.Drain(context.Background()) }()
	frames, code := idle.end()
	require.Len(t, frames, 1)
	assert.Equal(t, wire.EventGoAway, frames[0].event())
	assert.Positive(t, frames[0].m["reconnect_in_ms"])
	assert.EqualValues(t, wire.CloseDraining, code)
	assert.Equal(t, wire.EventGoAway, busy.next().event())
	status, body := s.call("GET", "/readyz", "", nil)
	assert.Equal(t, 503, status)
	assert.Contains(t, body, "draining")
	assert.Equal(t, 503, s.upgrade("localhost"))
	s.hub.add("s1", delta("x"))
	assert.Equal(t, "x", busy.next().m["text"])
	s.hub.add("s1", settled(run1))
	frames, code = busy.end()
	require.Len(t, frames, 1)
	assert.Equal(t, wire.EventSettled, frames[0].event())
	assert.EqualValues(t, wire.CloseDraining, code)
	require.NoError(t, <-done)
}

// A drain that may wait no longer closes the rest.
func TestDrainEnds(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	p.ask(`{"id":1,"op":"attach","session":"s1","cursor":"inc.1:0"}`)
	s.hub.add("s1", started(run1))
	p.next()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	go p.end()
	assert.ErrorIs(t, s.server.Drain(ctx), context.DeadlineExceeded)
	assert.EqualValues(t, wire.CloseDraining, <-s.closed)
}

// A shutdown closes every socket with a code and waits for the work; it ends work that does not end by itself.
func TestShutdown(t *testing.T) {
	s := newSite(t, nil)
	at := make(chan struct{})
	ended := make(chan error, 1)
	s.engine.do = func(ctx context.Context, _ regen.Key, _ regen.Command) (stream.Receipt, error) {
		close(at)
		<-ctx.Done()
		ended <- ctx.Err()
		return stream.Receipt{}, ctx.Err()
	}
	p := s.dial(nil)
	p.send(`{"id":1,"op":"send","session":"s1","content":"x"}`)
	within(t, "the command", at)
	var silent []*peer // they do not answer the close frame
	for range 20 {
		q := s.dial(nil)
		q.ask(`{"op":"ping"}`) // now the server knows it
		silent = append(silent, q)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	go func() { _, _ = p.end() }()
	assert.ErrorIs(t, s.server.Shutdown(ctx), context.DeadlineExceeded)
	assert.ErrorIs(t, <-ended, context.Canceled)
	assert.Zero(t, s.server.Sockets())
	for _, q := range silent {
		_, code := q.end()
		assert.EqualValues(t, wire.CloseDraining, code)
	}
	_, _, err := websocket.Dial(t.Context(), s.url(), nil)
	assert.Error(t, err)
}

// A missing part is a mistake of the programmer and shows at once.
func TestNewPanics(t *testing.T) {
	assert.Panics(t, func() { gateway.New(gateway.Config{}) })
}

var errNotReady = errors.New("redis is away")

// Probes say what they should: alive as long as the process is, ready only if clients should come.
func TestProbes(t *testing.T) {
	var why error
	s := newSite(t, func(c *gateway.Config) { c.Ready = func() error { return why } })
	status, body := s.call("GET", "/readyz", "", nil)
	assert.Equal(t, 200, status)
	assert.Equal(t, `{"ready":true}`, body)
	why = errNotReady
	status, body = s.call("GET", "/readyz", "", nil)
	assert.Equal(t, 503, status)
	assert.NotContains(t, body, "redis")
	status, _ = s.call("GET", "/livez", "", nil)
	assert.Equal(t, 200, status)
}
