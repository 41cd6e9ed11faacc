package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"holdfast/client"
	"holdfast/gateway/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	run  = "11111111111111111111111111111111"
	turn = "33333333333333333333333333333333"
)

// script is a server that answers as the test says: fn gets every command and writes frames with say.
type script struct {
	t    *testing.T
	url  string
	http *httptest.Server
}

func serve(t *testing.T, fn func(ws *websocket.Conn, c wire.Command)) *script {
	t.Helper()
	s := &script{t: t}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{wire.Subprotocol}})
		if err != nil {
			return
		}
		defer ws.CloseNow()
		ws.SetReadLimit(-1)
		for {
			_, msg, err := ws.Read(context.Background())
			if err != nil {
				return
			}
			c, err := wire.Decode(msg)
			if err != nil {
				t.Errorf("client sent %s: %v", msg, err)
				return
			}
			if c.Op == wire.OpHello {
				say(ws, string(wire.AppendHello(nil, c.ID, &wire.Hello{Protocol: 1, Node: "n1", PingMS: 20000})))
				continue
			}
			fn(ws, c)
		}
	}))
	t.Cleanup(s.http.Close)
	s.url = s.http.URL + "/v1/ws"
	return s
}

func say(ws *websocket.Conn, frames ...string) {
	_ = ws.Write(context.Background(), websocket.MessageText, []byte(strings.Join(frames, "\n")))
}

func (s *script) dial(o client.Options) *client.Client {
	s.t.Helper()
	c, err := client.Dial(s.t.Context(), s.url, o)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, c.Close()) })
	return c
}

func (s *script) next(c *client.Client) client.Event {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	ev, err := c.Next(ctx)
	require.NoError(s.t, err)
	return ev
}

// A person's commands get the answers that the server gave, typed, and each command has a key of its own.
func TestCommands(t *testing.T) {
	keys := map[string]bool{}
	s := serve(t, func(ws *websocket.Conn, c wire.Command) {
		switch c.Op {
		case wire.OpSend, wire.OpRegenerate:
			assert.False(t, keys[c.Key])
			keys[c.Key] = true
			say(ws, string(wire.AppendReceipt(nil, c.ID, &wire.Receipt{Session: c.Session, Turn: turn, Run: run, Cursor: "i.1:7", Repeat: c.Key == "mine"})))
		case wire.OpCancel:
			say(ws, string(wire.AppendCancelled(nil, c.ID, &wire.Cancelled{Run: c.Run, Cancel: "accepted", Seq: 5})))
		default:
			say(ws, string(wire.AppendOK(nil, c.ID, c.Session)))
		}
	})
	c := s.dial(client.Options{})
	ctx := t.Context()
	assert.Equal(t, "n1", c.Hello.Node)
	assert.Equal(t, 20000, c.Hello.PingMS)
	r, err := c.Send(ctx, "s1", "hi \"x\"", client.SendOptions{Model: "m", Busy: wire.BusyReplace})
	require.NoError(t, err)
	assert.Equal(t, wire.Receipt{Session: "s1", Turn: turn, Run: run, Cursor: "i.1:7"}, r.Receipt)
	assert.Len(t, r.Key, 36)
	r, err = c.Send(ctx, "s1", "hi", client.SendOptions{Key: "mine"})
	require.NoError(t, err)
	assert.True(t, r.Repeat)
	_, err = c.Regenerate(ctx, "s1", "rev", client.SendOptions{})
	require.NoError(t, err)
	assert.Len(t, keys, 3)
	done, err := c.Cancel(ctx, "s1", run)
	require.NoError(t, err)
	assert.Equal(t, wire.Cancelled{Run: run, Cancel: "accepted", Seq: 5}, done)
	done, err = c.CancelOf(ctx, "s1", "k")
	require.NoError(t, err)
	assert.Empty(t, done.Run)
	require.NoError(t, c.Detach(ctx, "s1"))
	require.NoError(t, c.Ping(ctx))
}

// A refusal is an error with the server's code, and the connection goes on.
func TestRefusal(t *testing.T) {
	s := serve(t, func(ws *websocket.Conn, c wire.Command) {
		say(ws, string(wire.AppendError(nil, c.ID, &wire.Error{Code: wire.SessionActive, Status: 409, Message: "busy", Run: run})))
	})
	c := s.dial(client.Options{})
	for range 2 {
		_, err := c.Send(t.Context(), "s1", "hi", client.SendOptions{})
		var e *wire.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, wire.SessionActive, e.Code)
		assert.Equal(t, run, e.Run)
	}
}

// The cursor moves with every event, and takes the whole of one that the server gives.
func TestCursor(t *testing.T) {
	delta := func(from, seq uint64, cursor string) string {
		d := wire.Delta{Session: "s1", Run: run, From: from, Seq: seq, Kind: "text", Text: "x", Cursor: cursor}
		return string(d.Append(nil))
	}
	s := serve(t, func(ws *websocket.Conn, c wire.Command) {
		switch c.Op {
		case wire.OpAttach:
			say(ws, string(wire.AppendAttached(nil, c.ID, &wire.View{Session: "s1", Cursor: "i.1:4", Document: &wire.Document{Total: 2}})),
				delta(5, 5, ""), delta(6, 8, ""))
		case wire.OpSend:
			reset := wire.View{Session: "s1", Cursor: "j.9:1", Document: &wire.Document{}, Run: &wire.Run{Run: run}}
			say(ws, string(wire.AppendReceipt(nil, c.ID, &wire.Receipt{Session: "s1", Turn: turn, Run: run, Cursor: "i.1:3"})),
				delta(9, 9, "i.2:9"), delta(10, 10, ""), string(wire.AppendPing(nil)), string(wire.AppendReset(nil, &reset)))
		}
	})
	var frames []string
	c := s.dial(client.Options{OnFrame: func(f json.RawMessage) { frames = append(frames, string(f)) }})
	v, err := c.Attach(t.Context(), "s1")
	require.NoError(t, err)
	assert.Equal(t, 2, v.Document.Total)
	first := s.next(c)
	assert.EqualValues(t, 5, first.From)
	assert.JSONEq(t, delta(5, 5, ""), string(first.Raw))
	ev := s.next(c)
	assert.EqualValues(t, 6, ev.From)
	assert.EqualValues(t, 8, ev.Seq)
	assert.Equal(t, "i.1:8", c.Cursor("s1"))
	_, err = c.Send(t.Context(), "s1", "hi", client.SendOptions{})
	require.NoError(t, err)
	s.next(c)
	s.next(c)
	assert.Equal(t, wire.EventPing, s.next(c).Event)
	ev = s.next(c)
	assert.Equal(t, wire.EventReset, ev.Event)
	assert.Equal(t, run, ev.View.Run.Run)
	assert.Equal(t, map[string]string{"s1": "j.9:1"}, c.Cursors())
	assert.Len(t, frames, 9, "hello, attach, two deltas, receipt, two deltas, ping, reset")
	// The next connection goes on there.
	d := s.dial(client.Options{Cursors: c.Cursors()})
	assert.Equal(t, "j.9:1", d.Cursor("s1"))
}

// What came before the end is still given, then why it ended; a command under way learns that its outcome is not known.
func TestEnd(t *testing.T) {
	s := serve(t, func(ws *websocket.Conn, c wire.Command) {
		say(ws, string(wire.AppendGoAway(nil, 1200)))
		_ = ws.Close(websocket.StatusCode(wire.CloseDraining), "draining")
	})
	c := s.dial(client.Options{})
	_, err := c.Send(t.Context(), "s1", "hi", client.SendOptions{})
	var end *client.CloseError
	require.ErrorAs(t, err, &end)
	assert.Equal(t, wire.CloseDraining, end.Code)
	assert.True(t, end.ComeBack())
	assert.Equal(t, 1200, s.next(c).ReconnectInMS)
	_, err = c.Next(t.Context())
	assert.True(t, client.IsEnd(err))
	assert.Error(t, c.Ping(t.Context()))
	<-c.Done()
}

// A command that is given up does not disturb the next one.
func TestGivenUp(t *testing.T) {
	var late json.RawMessage
	s := serve(t, func(ws *websocket.Conn, c wire.Command) {
		if late == nil {
			late = c.ID
			return
		}
		say(ws, string(wire.AppendOK(nil, late, "")), string(wire.AppendOK(nil, c.ID, "")))
	})
	c := s.dial(client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, c.Ping(ctx), context.DeadlineExceeded)
	require.NoError(t, c.Ping(t.Context()))
}

// A client that does not call Next stops reading at its limit, and goes on when it does; closing does not hang on it.
func TestBacklog(t *testing.T) {
	const n = 2000
	s := serve(t, func(ws *websocket.Conn, c wire.Command) {
		say(ws, string(wire.AppendOK(nil, c.ID, "")))
		for i := range uint64(n) {
			d := wire.Delta{Session: "s1", From: i + 1, Seq: i + 1, Kind: "text", Text: strings.Repeat("x", 500)}
			say(ws, string(d.Append(nil)))
		}
	})
	c := s.dial(client.Options{Backlog: 2000})
	require.NoError(t, c.Ping(t.Context()))
	for i := range uint64(n) {
		require.Equal(t, i+1, s.next(c).Seq)
	}
	d := s.dial(client.Options{Backlog: 2000})
	require.NoError(t, d.Ping(t.Context()))
	require.NoError(t, d.Close())
	_, err := d.Do(t.Context(), wire.Command{Op: wire.OpPing})
	assert.ErrorIs(t, err, client.ErrClosed)
}

// A server that refuses the handshake says why.
func TestDialRefused(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(wire.AppendError(nil, nil, wire.NewError(wire.Unavailable, "draining")))
	}))
	defer s.Close()
	_, err := client.Dial(t.Context(), s.URL, client.Options{})
	var e *wire.Error
	require.ErrorAs(t, err, &e)
	assert.True(t, e.Retryable)
	_, err = client.Dial(t.Context(), "http://127.0.0.1:1/", client.Options{})
	require.Error(t, err)
}

// A frame that nobody can read ends the connection; an event that this version does not know is passed on.
func TestOddFrames(t *testing.T) {
	s := serve(t, func(ws *websocket.Conn, c wire.Command) {
		say(ws, `{"event":"tomorrow","session":"s1","x":[1]}`, `{"re":null,"error":{"code":"bad_request"}}`, `{"event":5}`)
	})
	c := s.dial(client.Options{})
	require.NoError(t, c.Write([]byte(`{"op":"ping"}`)))
	ev := s.next(c)
	assert.Equal(t, "tomorrow", ev.Event)
	assert.JSONEq(t, `{"event":"tomorrow","session":"s1","x":[1]}`, string(ev.Raw))
	_, err := c.Next(t.Context())
	assert.True(t, client.IsEnd(err))
}

// A lost network ends a client without a word to the server.
func TestAbort(t *testing.T) {
	s := serve(t, func(*websocket.Conn, wire.Command) {})
	c := s.dial(client.Options{})
	require.NoError(t, c.Abort())
	_, err := c.Next(t.Context())
	assert.ErrorIs(t, err, client.ErrClosed)
}

func ExampleClient_Send() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "ws://127.0.0.1:8080/v1/ws", client.Options{})
	if err != nil {
		return // start holdfast first
	}
	defer c.Close()
	receipt, err := c.Send(ctx, "s1", "What is a hold fast?", client.SendOptions{})
	if err != nil {
		return
	}
	for {
		ev, err := c.Next(ctx)
		if err != nil {
			return
		}
		fmt.Print(ev.Text)
		if ev.Event == wire.EventSettled && ev.Run == receipt.Run {
			return
		}
	}
}
