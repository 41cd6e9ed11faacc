package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
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

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// An attach brings the document and the active run, and then what happens; with a cursor only what is missing.
func TestAttach(t *testing.T) {
	s := newSite(t, nil)
	s.hub.add("s1", delta("a"), delta("b"))
	s.hub.setRun("s1", run1)
	p := s.dial(nil)
	p.send(`{"id":2,"op":"attach","session":"s1"}`)
	p.expect(`{"re":2,"ok":{"session":"s1","document":{"rows":[],"total":0},"run":{"run":"` + run1 + `","turn":"` + turn + `","phase":"streaming","started_at":1},"cursor":"inc.1:2"}}`)
	s.hub.add("s1", delta("c"))
	assert.Equal(t, "c", p.next().m["text"])
	q := s.dial(nil)
	q.send(`{"id":3,"op":"attach","session":"s1","cursor":"inc.1:1"}`)
	f := q.next()
	assert.NotContains(t, f.raw, "document")
	assert.Contains(t, f.raw, `"cursor":"inc.1:1"`)
	f = q.next()
	assert.Equal(t, "bc", f.m["text"])
	assert.EqualValues(t, 2, f.m["from"])
	assert.EqualValues(t, 3, f.m["seq"])
}

// A cursor that cannot be one is like none; one that is no text is a mistake; an unknown session is unknown, and nothing starts.
// case: FC44
func TestAttachCursors(t *testing.T) {
	s := newSite(t, nil)
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		t.Error("an attach started a turn")
		return stream.Receipt{}, nil
	}
	p := s.dial(nil)
	for _, cursor := range []string{"", "x", "inc.1:99", "../..", strings.Repeat("9", 5000), "inc.1:-1"} {
		f := p.ask(fmt.Sprintf(`{"id":2,"op":"attach","session":"s1","cursor":%q}`, cursor))
		assert.Contains(t, f.raw, `"document"`, cursor)
	}
	for _, cursor := range []string{"0", "true", "{}", "[]", "-1"} {
		assert.Equal(t, "bad_request", p.ask(`{"id":2,"op":"attach","session":"s1","cursor":`+cursor+`}`).code())
	}
	assert.Equal(t, "not_found", p.ask(`{"id":2,"op":"attach","session":"nope"}`).code())
	assert.Equal(t, 1, s.hub.readers())
}

// Attaching again begins anew where the client says; the old subscription ends and nothing comes twice after the answer.
// case: FC36
func TestAttachAgain(t *testing.T) {
	s := newSite(t, nil)
	s.hub.add("s1", delta("a"), delta("b"))
	p := s.dial(nil)
	for id := range 3 {
		p.send(fmt.Sprintf(`{"id":%d,"op":"attach","session":"s1","cursor":"inc.1:0"}`, id))
	}
	p.send(`{"id":9,"op":"cancel","session":"s1","of":"k"}`)
	last, answers := uint64(0), 0
	for answers < 3 || last < 2 {
		switch f := p.next(); {
		case f.event() == wire.EventDelta:
			from := f.m["seq"].(float64)
			if v, ok := f.m["from"].(float64); ok {
				from = v
			}
			require.EqualValues(t, last+1, from)
			last = uint64(f.m["seq"].(float64))
		case f.m["re"].(float64) != 9:
			require.EqualValues(t, answers, f.m["re"])
			answers++
			last = 0
		}
	}
	s.hub.add("s1", delta("c"))
	for f := p.next(); f.event() != wire.EventDelta; f = p.next() {
	}
	assert.Equal(t, 1, s.hub.readers())
}

// After the answer to a detach nothing of that session comes any more; other sessions go on.
func TestDetach(t *testing.T) {
	s := newSite(t, nil)
	p := s.dial(nil)
	p.ask(`{"id":1,"op":"attach","session":"s1"}`)
	p.ask(`{"id":1,"op":"attach","session":"s2"}`)
	assert.Equal(t, `{"re":2,"ok":{"session":"s1"}}`, p.ask(`{"id":2,"op":"detach","session":"s1"}`).raw)
	s.hub.add("s1", delta("x"))
	s.hub.add("s2", delta("y"))
	assert.Equal(t, "y", p.next().m["text"])
	assert.Equal(t, `{"re":3,"ok":{"session":"s1"}}`, p.ask(`{"id":3,"op":"detach","session":"s1"}`).raw)
	assert.Equal(t, 1, s.hub.readers())
}

// A socket follows many sessions, up to its limit; a send beyond it is refused before anything is accepted.
func TestTooManySessions(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) { c.MaxSessions = 2 })
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		t.Error("accepted")
		return stream.Receipt{}, nil
	}
	p := s.dial(nil)
	p.ask(`{"id":1,"op":"attach","session":"s1"}`)
	p.ask(`{"id":1,"op":"attach","session":"s2"}`)
	assert.Equal(t, "rate_limited", p.ask(`{"id":1,"op":"attach","session":"s3"}`).code())
	assert.Equal(t, "rate_limited", p.ask(`{"id":1,"op":"send","session":"s3","content":"x"}`).code())
	assert.Contains(t, p.ask(`{"id":1,"op":"attach","session":"s2"}`).raw, `"ok"`)
}

// Several readers each get everything, whichever way they came.
// case: FC42
func TestEveryReaderGetsAll(t *testing.T) {
	s := newSite(t, nil)
	var peers []*peer
	for i := range 5 {
		p := s.dial(nil)
		p.ask(fmt.Sprintf(`{"id":1,"op":"attach","session":"s1","cursor":"inc.1:%d"}`, min(i, 1)))
		peers = append(peers, p)
		if i == 0 {
			s.hub.add("s1", delta("-"))
		}
	}
	var want strings.Builder
	for i := range 300 {
		word := fmt.Sprintf("word_%d ", i)
		want.WriteString(word)
		s.hub.add("s1", delta(word))
	}
	s.hub.add("s1", settled(run1))
	for i, p := range peers {
		text, seq := "", uint64(min(i, 1))
		for {
			f := p.next()
			if f.event() == wire.EventSettled {
				break
			}
			from := f.m["seq"].(float64)
			if v, ok := f.m["from"].(float64); ok {
				from = v
			}
			require.EqualValues(t, seq+1, from)
			seq = uint64(f.m["seq"].(float64))
			text += f.m["text"].(string)
		}
		assert.Equal(t, want.String(), strings.TrimPrefix(text, "-"))
	}
}

// A reader that stops reading holds nothing up; when it reads again it has lost nothing, and gets it in few large pieces.
func TestSlowReader(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) { c.WriteTimeout = patience })
	slow, quick := s.dial(nil), s.dial(nil)
	slow.ask(`{"id":1,"op":"attach","session":"s1"}`)
	quick.ask(`{"id":1,"op":"attach","session":"s1"}`)
	const n = 4_000
	word := strings.Repeat("w", 1000)
	go func() {
		for range n {
			s.hub.add("s1", delta(word))
		}
		s.hub.add("s1", settled(run1))
	}()
	read := func(p *peer) (bytes, frames int) {
		for {
			f := p.next()
			if f.event() == wire.EventSettled {
				return bytes, frames
			}
			bytes += len(f.m["text"].(string))
			frames++
		}
	}
	got, _ := read(quick) // while the other one stands still
	assert.Equal(t, n*len(word), got)
	got, frames := read(slow)
	assert.Equal(t, n*len(word), got)
	assert.Less(t, frames, n/4, "deltas were merged")
}

// A reader that never reads is cut after the write limit, and so is one that lets its answers pile up.
func TestStalledReader(t *testing.T) {
	dial := func(t *testing.T, s *site) net.Conn {
		c, err := net.Dial("tcp", s.http.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_, err = fmt.Fprintf(c, "GET /v1/ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n", s.http.Listener.Addr())
		require.NoError(t, err)
		return c
	}
	frame := func(s string) []byte {
		return append([]byte{0x81, 0x80 | byte(len(s)), 0, 0, 0, 0}, s...)
	}
	t.Run("events", func(t *testing.T) {
		s := newSite(t, func(c *gateway.Config) { c.SendBuffer = 4096; c.WriteTimeout = 300 * time.Millisecond })
		c := dial(t, s)
		_, err := c.Write(frame(`{"id":1,"op":"attach","session":"s1"}`))
		require.NoError(t, err)
		for len(s.closed) == 0 {
			s.hub.add("s1", delta(strings.Repeat("x", 100_000)))
			time.Sleep(time.Millisecond) // paces the flood; nothing waits for it
		}
		assert.Zero(t, <-s.closed)
	})
	t.Run("answers", func(t *testing.T) {
		s := newSite(t, func(c *gateway.Config) {
			c.SendBuffer = 4096
			c.MaxControl = 8192
			c.WriteTimeout = 300 * time.Millisecond
		})
		c := dial(t, s)
		one := frame(`{"id":"` + strings.Repeat("i", 60) + `","op":"ping"}`)
		flood := []byte(strings.Repeat(string(one), 1000))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := c.Write(flood); err != nil {
					return // cut, or closed below: a full receive buffer may swallow the reset
				}
			}
		}()
		assert.EqualValues(t, wire.CloseSlow, <-s.closed)
		require.NoError(t, c.Close())
		<-done
	})
}

// Documents larger than the limit of control frames reach a reader that reads, many at once too.
func TestLargeDocuments(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) { c.MaxControl = 2048 })
	p := s.dial(nil)
	msg := ""
	for i := range 30 {
		msg += fmt.Sprintf("{\"id\":\"%s%d\",\"op\":\"attach\",\"session\":\"s%d\"}\n", strings.Repeat("i", 100), i, i%3+1)
	}
	p.send(msg)
	for range 30 {
		assert.Contains(t, p.next().raw, `"document"`)
	}
}

// The end of one connection takes away nothing of another's.
// case: FC46
func TestTeardownIsItsOwn(t *testing.T) {
	s := newSite(t, nil)
	p, q := s.dial(nil), s.dial(nil)
	p.ask(`{"id":1,"op":"attach","session":"s1"}`)
	q.ask(`{"id":1,"op":"attach","session":"s1"}`)
	require.NoError(t, p.ws.CloseNow())
	<-s.closed
	assert.Equal(t, 1, s.hub.readers())
	s.hub.add("s1", delta("x"))
	assert.Equal(t, "x", q.next().m["text"])
}

// A client that hangs up in the middle of a command leaves no subscription behind.
func TestHangUpWhileAttaching(t *testing.T) {
	s := newSite(t, nil)
	at, release := make(chan struct{}), make(chan struct{})
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		close(at)
		<-release
		return stream.Receipt{Session: "s1", Cursor: "inc.1:0"}, nil
	}
	p := s.dial(nil)
	p.send("{\"id\":1,\"op\":\"send\",\"session\":\"s1\",\"content\":\"x\"}\n{\"id\":2,\"op\":\"attach\",\"session\":\"s1\"}")
	within(t, "the command", at)
	require.NoError(t, p.ws.Close(websocket.StatusNormalClosure, ""))
	<-s.closed
	close(release) // the site's clean-up sees that nothing is left
}

// A client that stops in the middle of a frame cannot keep a connection that is being closed.
func TestCloseInMidFrame(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) { c.WriteTimeout = 300 * time.Millisecond })
	c, err := net.Dial("tcp", s.http.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "GET /v1/ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n", s.http.Listener.Addr())
	require.NoError(t, err)
	// A binary message, which closes the socket, and the beginning of another one.
	_, err = c.Write([]byte("\x82\x80\x00\x00\x00\x00\x81\x85\x00\x00\x00\x00ab"))
	require.NoError(t, err)
	assert.EqualValues(t, wire.CloseProtocol, <-s.closed)
}
