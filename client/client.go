package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/coder/websocket"

	"holdfast/gateway/wire"
)

// Options tune a connection. Its zero value works.
type Options struct {
	// Token is shown in the hello; "" shows none.
	Token string
	// Header goes with the handshake.
	Header http.Header
	// HTTPClient makes the handshake; nil means http.DefaultClient.
	HTTPClient *http.Client
	// ReadLimit bounds one message in bytes; 0 means 64 MiB.
	ReadLimit int64
	// Backlog is how many bytes of events may wait for Next before reading stops; 0 means 16 MiB.
	Backlog int
	// OnFrame sees every frame that comes, answers too, before anything else does; may be nil. It must not block.
	OnFrame func(frame json.RawMessage)
	// Cursors are the cursors to begin with, by session: those of an earlier connection.
	Cursors map[string]string
}

// CloseError is how a connection ended.
type CloseError struct {
	// Code is the close code; 0 when there was none.
	Code wire.CloseCode
	// Err is the cause.
	Err error
}

// Error gives the code and the cause.
func (e *CloseError) Error() string { return fmt.Sprintf("connection closed (%d): %v", e.Code, e.Err) }

// Unwrap gives the cause.
func (e *CloseError) Unwrap() error { return e.Err }

// ComeBack says whether connecting again makes sense.
func (e *CloseError) ComeBack() bool { return e.Code.ComeBack() }

// ErrClosed is the cause when Close was called.
var ErrClosed = errors.New("closed by the client")

// Client is one connection. Its methods may be called from several goroutines; Next from one at a time.
type Client struct {
	// Hello is what the server said about itself.
	Hello wire.Hello

	ws   *websocket.Conn
	opts Options
	done chan struct{} // closed when the reader has ended
	wake chan struct{} // size 1: the queue has changed

	writing sync.Mutex // order of whole messages

	mu      sync.Mutex // guards what follows
	room    sync.Cond  // on mu: the queue has become shorter
	next    uint64     // the last command's id
	waiting map[string]chan reply
	queue   []Event
	queued  int // bytes
	cursors map[string]string
	err     error // why the connection ended
	closed  bool  // Close was called
}

// reply is what came for a command: one of both.
type reply struct {
	ok  json.RawMessage
	err *wire.Error
}

// Dial connects, says hello and waits for its answer. url is ws:// or http:// with the path, /v1/ws. A refusal is a *wire.Error
// or a *CloseError.
func Dial(ctx context.Context, url string, o Options) (*Client, error) {
	if o.ReadLimit <= 0 {
		o.ReadLimit = 64 << 20
	}
	if o.Backlog <= 0 {
		o.Backlog = 16 << 20
	}
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient: o.HTTPClient, HTTPHeader: o.Header, Subprotocols: []string{wire.Subprotocol},
	})
	if err != nil {
		return nil, refused(resp, err)
	}
	ws.SetReadLimit(o.ReadLimit)
	c := &Client{
		ws: ws, opts: o, done: make(chan struct{}), wake: make(chan struct{}, 1),
		waiting: map[string]chan reply{}, cursors: map[string]string{},
	}
	c.room.L = &c.mu
	for session, cursor := range o.Cursors {
		c.cursors[session] = cursor
	}
	go c.read() // ends with the connection; Close waits for it
	ok, err := c.Do(ctx, wire.Command{Op: wire.OpHello, Protocol: wire.Protocol, Token: o.Token})
	if err == nil {
		err = json.Unmarshal(ok, &c.Hello)
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("hello: %w", err)
	}
	return c, nil
}

// refused makes the server's own error of an answer that was no upgrade.
func refused(resp *http.Response, err error) error {
	if resp == nil || resp.Body == nil {
		return fmt.Errorf("dial: %w", err)
	}
	var body struct {
		Error *wire.Error `json:"error"`
	}
	if json.NewDecoder(resp.Body).Decode(&body) == nil && body.Error != nil {
		return fmt.Errorf("dial: %w", body.Error)
	}
	return fmt.Errorf("dial: %w", err)
}

// Do sends any command and waits for its answer, which it gives as it came. The id is made here. Errors: *wire.Error when the server
// refused; *CloseError when the connection ended and the outcome is not known; ctx's.
func (c *Client) Do(ctx context.Context, cmd wire.Command) (json.RawMessage, error) {
	got := make(chan reply, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	c.next++
	id := strconv.FormatUint(c.next, 10)
	c.waiting[id] = got
	c.mu.Unlock()
	cmd.ID = json.RawMessage(id)
	if err := c.Write(cmd.Append(nil)); err != nil {
		c.forget(id)
		return nil, err
	}
	select {
	case r := <-got:
		if r.err != nil {
			return nil, r.err
		}
		return r.ok, nil
	case <-ctx.Done():
		c.forget(id)
		return nil, context.Cause(ctx)
	case <-c.done:
	}
	select { // the answer may have come with the end
	case r := <-got:
		if r.err != nil {
			return nil, r.err
		}
		return r.ok, nil
	default:
		return nil, c.Err()
	}
}

// Write sends a message as it is, for tests and tools. Its error is a *CloseError.
func (c *Client) Write(msg []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	// A background context: one that ends would close the connection.
	if err := c.ws.Write(context.Background(), websocket.MessageText, msg); err != nil {
		if ended := c.Err(); ended != nil {
			return ended
		}
		return &CloseError{Err: err}
	}
	return nil
}

func (c *Client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is how the connection ended, a *CloseError; nil while it lasts.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and waits until it has. It gives nil: the connection is over, however it ended.
func (c *Client) Close() error {
	return c.end(func() error { return c.ws.Close(websocket.StatusNormalClosure, "") })
}

// Abort cuts the connection without a close frame, as a lost network does.
func (c *Client) Abort() error { return c.end(c.ws.CloseNow) }

func (c *Client) end(how func() error) error {
	c.mu.Lock()
	c.closed = true
	c.room.Broadcast()
	c.mu.Unlock()
	_ = how()
	<-c.done
	return nil
}
