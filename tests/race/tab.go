package race

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"holdfast/client"
	"holdfast/gateway/wire"
	"holdfast/tests/history"
)

// callLimit bounds one command of a tab; what is not answered by then is unknown to it.
const callLimit = 10 * time.Second

// tab is a person's page on one session: it follows the session, knows what it last saw, and connects again when its node is gone.
type tab struct {
	name, session string
	w             *world

	conn *client.Client
	node int

	mu       sync.Mutex // guards what follows
	revision string
	run      string // the last run that was seen, active or not
	settled  chan struct{}
}

// press is one command, so that it can be sent again.
type press struct {
	tab            *tab
	op             wire.Op
	key, text, rev string
	busy           string
	definite       bool
}

func (t *tab) note(frame json.RawMessage) {
	var f struct {
		Event    string `json:"event"`
		Run      string `json:"run"`
		Revision string `json:"revision"`
		OK       struct {
			Run      json.RawMessage `json:"run"`
			Document *wire.Document  `json:"document"`
		} `json:"ok"`
	}
	if json.Unmarshal(frame, &f) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case f.Event == wire.EventStarted:
		t.run = f.Run
	case f.Event == wire.EventSettled:
		t.revision = f.Revision
		select {
		case t.settled <- struct{}{}:
		default:
		}
	case f.OK.Document != nil:
		t.revision = f.OK.Document.Revision
	}
}

func (t *tab) seen() (revision, run string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.revision, t.run
}

// connect goes to the tab's node, or to the next one that is there, and follows the session from where the tab was.
func (t *tab) connect(ctx context.Context) error {
	var cursors map[string]string
	if t.conn != nil {
		cursors = t.conn.Cursors()
		_ = t.conn.Abort()
	}
	for ctx.Err() == nil {
		n := t.w.node(t.node)
		reader := t.w.rec.Reader("", t.name, n.Name)
		conn, err := client.Dial(ctx, n.WS(), client.Options{Cursors: cursors, OnFrame: func(f json.RawMessage) { reader.Saw(f); t.note(f) }})
		if err != nil {
			t.node++
			if !sleep(ctx, time.Millisecond) {
				return ctx.Err()
			}
			continue
		}
		t.conn = conn
		return t.attach(ctx)
	}
	return ctx.Err()
}

func (t *tab) attach(ctx context.Context) error {
	for {
		_, err := t.conn.Attach(ctx, t.session)
		var refused *wire.Error
		if errors.As(err, &refused) && refused.Retryable && sleep(ctx, 5*time.Millisecond) {
			continue
		}
		if errors.As(err, &refused) && refused.Code == wire.NotFound {
			return nil // its first send follows it
		}
		return err
	}
}

// live connects again if the connection has ended.
func (t *tab) live(ctx context.Context) error {
	select {
	case <-t.conn.Done():
		return t.connect(ctx)
	default:
		return nil
	}
}

// do sends a command once and records what became of it.
func (t *tab) do(ctx context.Context, p *press) {
	if t.live(ctx) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	c := history.Command{Session: t.session, Op: p.op, Key: p.key, Content: p.text, Revision: p.rev, Sent: time.Now()}
	o := client.SendOptions{Key: p.key, Busy: p.busy}
	var r client.Receipt
	var err error
	if p.op == wire.OpSend {
		r, err = t.conn.Send(ctx, t.session, p.text, o)
	} else {
		r, err = t.conn.Regenerate(ctx, t.session, p.rev, o)
	}
	if err == nil {
		c.Receipt = &r.Receipt
		p.definite = true
	}
	p.definite = t.sent(c, err) || p.definite
}

// sent records a command; false: its outcome is open.
func (t *tab) sent(c history.Command, err error) bool {
	c.Reader, c.Node, c.Answered = t.name, t.conn.Hello.Node, time.Now()
	var refused *wire.Error
	switch {
	case errors.As(err, &refused):
		c.Code = refused.Code
	case err != nil:
		c.Unknown = true
	}
	t.w.rec.Sent(c)
	switch c.Code {
	case wire.Unavailable, wire.Timeout, wire.Internal:
		return false
	}
	return !c.Unknown
}

// cancel stops a run, or the command with the key of.
func (t *tab) cancel(ctx context.Context, run, of string) {
	if t.live(ctx) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	c := history.Command{Session: t.session, Op: wire.OpCancel, Run: run, Of: of, Sent: time.Now()}
	var done wire.Cancelled
	var err error
	if of != "" {
		done, err = t.conn.CancelOf(ctx, t.session, of)
	} else {
		done, err = t.conn.Cancel(ctx, t.session, run)
	}
	c.Cancel = done.Cancel
	if run == "" {
		c.Run = done.Run
	}
	t.sent(c, err)
}
