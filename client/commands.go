package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"holdfast/gateway/wire"
)

// SendOptions are what a send or regenerate may say beside its content. The zero value says nothing.
type SendOptions struct {
	// Key names the command in its session; "" means a new UUID. Repeat a command with the key of its Receipt.
	Key string
	// Attachments are JSON values; a regenerate takes none.
	Attachments []json.RawMessage
	Model       string
	// Revision makes a send fail where the session has changed since.
	Revision string
	// Busy is "" or wire.BusyReject, or wire.BusyReplace.
	Busy string
}

// Receipt is the answer to a command that was accepted.
type Receipt struct {
	wire.Receipt
	// Key is the command's.
	Key string `json:"-"`
}

// NewKey makes a command key.
func NewKey() string { return uuid.NewString() }

// Send sends a text. Its error is a *wire.Error when the server refused.
func (c *Client) Send(ctx context.Context, session, text string, o SendOptions) (Receipt, error) {
	return c.SendContent(ctx, session, wire.AppendString(nil, text), o)
}

// SendContent sends content as JSON: a string or an array of parts.
func (c *Client) SendContent(ctx context.Context, session string, content json.RawMessage, o SendOptions) (Receipt, error) {
	return c.take(ctx, wire.Command{Op: wire.OpSend, Session: session, Content: content, Attachments: o.Attachments}, o)
}

// Regenerate asks for the last answer again, in the state that revision names.
func (c *Client) Regenerate(ctx context.Context, session, revision string, o SendOptions) (Receipt, error) {
	o.Revision = revision
	return c.take(ctx, wire.Command{Op: wire.OpRegenerate, Session: session}, o)
}

// Edit replaces a prompt and asks again: the row and everything after it go. Without o.Attachments the row's own stay.
func (c *Client) Edit(ctx context.Context, session, row, text, revision string, o SendOptions) (Receipt, error) {
	o.Revision = revision
	cmd := wire.Command{Op: wire.OpEdit, Session: session, Row: row, Content: wire.AppendString(nil, text), Attachments: o.Attachments}
	return c.take(ctx, cmd, o)
}

// Undo drops the last turn, its prompt included. key names the command; "" means a new one, for all edits.
func (c *Client) Undo(ctx context.Context, session, revision, key string) (Receipt, error) {
	return c.take(ctx, wire.Command{Op: wire.OpUndo, Session: session}, SendOptions{Revision: revision, Key: key})
}

// Truncate keeps the rows up to and including row.
func (c *Client) Truncate(ctx context.Context, session, row, revision, key string) (Receipt, error) {
	return c.take(ctx, wire.Command{Op: wire.OpTruncate, Session: session, Row: row}, SendOptions{Revision: revision, Key: key})
}

// TruncateTo keeps the first keep rows of the session; 0 keeps none.
func (c *Client) TruncateTo(ctx context.Context, session string, keep int, revision, key string) (Receipt, error) {
	return c.take(ctx, wire.Command{Op: wire.OpTruncate, Session: session, Keep: &keep}, SendOptions{Revision: revision, Key: key})
}

// Clear drops all rows of the session.
func (c *Client) Clear(ctx context.Context, session, revision, key string) (Receipt, error) {
	return c.take(ctx, wire.Command{Op: wire.OpClear, Session: session}, SendOptions{Revision: revision, Key: key})
}

// Select makes a variant of the last turn its answer; the present one becomes a variant.
func (c *Client) Select(ctx context.Context, session, turn, variant, revision, key string) (Receipt, error) {
	cmd := wire.Command{Op: wire.OpSelect, Session: session, Turn: turn, Variant: variant}
	return c.take(ctx, cmd, SendOptions{Revision: revision, Key: key})
}

// Rename fixes the session's title, also while a run is active.
func (c *Client) Rename(ctx context.Context, session, title, key string) (Receipt, error) {
	return c.take(ctx, wire.Command{Op: wire.OpRename, Session: session, Title: title}, SendOptions{Key: key})
}

func (c *Client) take(ctx context.Context, cmd wire.Command, o SendOptions) (Receipt, error) {
	cmd.Key, cmd.Model, cmd.Revision, cmd.Busy = o.Key, o.Model, o.Revision, o.Busy
	if cmd.Key == "" {
		cmd.Key = NewKey()
	}
	r := Receipt{Key: cmd.Key}
	err := c.decode(ctx, cmd, &r.Receipt)
	return r, err
}

// Cancel stops a run.
func (c *Client) Cancel(ctx context.Context, session, run string) (wire.Cancelled, error) {
	var done wire.Cancelled
	err := c.decode(ctx, wire.Command{Op: wire.OpCancel, Session: session, Run: run}, &done)
	return done, err
}

// CancelOf stops the run of a command whose receipt has not come yet.
func (c *Client) CancelOf(ctx context.Context, session, key string) (wire.Cancelled, error) {
	var done wire.Cancelled
	err := c.decode(ctx, wire.Command{Op: wire.OpCancel, Session: session, Of: key}, &done)
	return done, err
}

// Attach follows a session from the cursor that is known of it. The view has no document where that cursor was accepted.
func (c *Client) Attach(ctx context.Context, session string) (wire.View, error) {
	return c.AttachAt(ctx, session, c.Cursor(session))
}

// AttachAt follows a session from a cursor; "" asks for the document.
func (c *Client) AttachAt(ctx context.Context, session, cursor string) (wire.View, error) {
	var v wire.View
	err := c.decode(ctx, wire.Command{Op: wire.OpAttach, Session: session, Cursor: cursor}, &v)
	return v, err
}

// Detach stops following a session. Its cursor is kept.
func (c *Client) Detach(ctx context.Context, session string) error {
	return c.decode(ctx, wire.Command{Op: wire.OpDetach, Session: session}, nil)
}

// Ping asks for a sign of life.
func (c *Client) Ping(ctx context.Context) error {
	return c.decode(ctx, wire.Command{Op: wire.OpPing}, nil)
}

func (c *Client) decode(ctx context.Context, cmd wire.Command, to any) error {
	ok, err := c.Do(ctx, cmd)
	if err != nil {
		return fmt.Errorf("%s: %w", cmd.Op, err)
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(ok, to); err != nil {
		return fmt.Errorf("%s: read answer: %w", cmd.Op, err)
	}
	return nil
}
