package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/coder/websocket"

	"holdfast/gateway/wire"
)

// read takes every frame until the connection ends.
func (c *Client) read() {
	defer close(c.done)
	var err error
	for err == nil {
		var msg []byte
		if _, msg, err = c.ws.Read(context.Background()); err == nil {
			err = c.message(msg)
		}
	}
	_ = c.ws.CloseNow()
	c.mu.Lock()
	defer c.mu.Unlock()
	end := &CloseError{Err: err}
	if code := websocket.CloseStatus(err); code > 0 {
		end.Code = wire.CloseCode(code)
	}
	if c.closed {
		end.Err = ErrClosed
	}
	c.err = end
	c.signal()
}

func (c *Client) message(msg []byte) error {
	for {
		frame, rest, err := wire.NextObject(msg)
		if err != nil {
			return fmt.Errorf("read frame: %w", err)
		}
		if frame == nil {
			return nil
		}
		if err := c.frame(bytes.Clone(frame)); err != nil {
			return err
		}
		msg = rest
	}
}

func (c *Client) frame(raw json.RawMessage) error {
	if f := c.opts.OnFrame; f != nil {
		f(raw)
	}
	var head struct {
		Re    json.RawMessage `json:"re"`
		OK    json.RawMessage `json:"ok"`
		Error *wire.Error     `json:"error"`
		Event string          `json:"event"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	if head.Event == "" {
		c.answer(string(head.Re), reply{ok: head.OK, err: head.Error})
		return nil
	}
	ev, err := parseEvent(raw)
	if err != nil {
		return err
	}
	return c.enqueue(ev)
}

// answer hands an answer to who waits for it, and takes the cursor that stands in it.
func (c *Client) answer(re string, r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.waiting[re]
	delete(c.waiting, re)
	if r.err == nil {
		c.note(r.ok)
	}
	if got != nil {
		got <- r
	}
}

// note keeps the cursor of an attach answer, and of a receipt where the session is not followed yet.
func (c *Client) note(ok json.RawMessage) {
	var head struct {
		Session string `json:"session"`
		Cursor  string `json:"cursor"`
		Repeat  *bool  `json:"repeat"` // receipts have it
	}
	if json.Unmarshal(ok, &head) != nil || head.Session == "" || head.Cursor == "" {
		return
	}
	if head.Repeat != nil && c.cursors[head.Session] != "" {
		return
	}
	c.cursors[head.Session] = head.Cursor
}

func (c *Client) enqueue(ev Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.queued > c.opts.Backlog && !c.closed {
		c.room.Wait()
	}
	if c.closed {
		return ErrClosed
	}
	if ev.Session != "" {
		c.cursors[ev.Session] = moveCursor(c.cursors[ev.Session], &ev)
	}
	c.queue = append(c.queue, ev)
	c.queued += len(ev.Raw)
	c.signal()
	return nil
}

func (c *Client) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Next gives the next event, waiting for it. After the last one it gives the *CloseError of the connection.
func (c *Client) Next(ctx context.Context) (Event, error) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			ev := c.queue[0]
			c.queue[0] = Event{}
			c.queue = c.queue[1:]
			c.queued -= len(ev.Raw)
			c.room.Broadcast()
			c.mu.Unlock()
			return ev, nil
		}
		err := c.err
		c.mu.Unlock()
		if err != nil {
			return Event{}, err
		}
		select {
		case <-c.wake:
		case <-c.done:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// Cursor names the last event received of a session; "" when none is known.
func (c *Client) Cursor(session string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cursors[session]
}

// Cursors are all cursors, for the Options of the next connection.
func (c *Client) Cursors() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]string, len(c.cursors))
	for session, cursor := range c.cursors {
		all[session] = cursor
	}
	return all
}

// IsEnd says whether err means that the connection is over.
func IsEnd(err error) bool {
	var end *CloseError
	return errors.As(err, &end) || errors.Is(err, io.EOF)
}
