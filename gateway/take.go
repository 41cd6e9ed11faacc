package gateway

import (
	"context"
	"time"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// do takes a send, regenerate or edit of any kind to the engine.
func (s *Server) do(ctx context.Context, key regen.Key, c *wire.Command) (wire.Receipt, *wire.Error) {
	cmd := regen.Command{
		Op: regen.Op(c.Op), Key: c.Key, Attachments: c.Attachments, Model: c.Model, Revision: c.Revision, Busy: c.Busy,
		Row: c.Row, Turn: c.Turn, Variant: c.Variant, Title: c.Title,
	}
	if c.Keep != nil {
		cmd.Keep = *c.Keep
	}
	if c.Op == wire.OpRegenerate && c.Forbidden != "" {
		return wire.Receipt{}, s.forbiddenField(ctx, key, c.Forbidden)
	}
	if c.Content != nil {
		content, err := regen.ParseContent(c.Content)
		if err != nil {
			return wire.Receipt{}, s.problem(c.Op, err)
		}
		cmd.Content = content
	}
	got, err := s.cfg.Engine.Do(ctx, key, cmd)
	if err != nil {
		return wire.Receipt{}, s.problem(c.Op, err)
	}
	return wire.Receipt{
		Session: got.Session, Turn: got.Turn, Run: got.Run, Revision: got.Revision, Cursor: got.Cursor, Repeat: got.Repeat,
	}, nil
}

// forbiddenField answers a regenerate with a field that may not stand there. The contract looks for the session first.
func (s *Server) forbiddenField(ctx context.Context, key regen.Key, field string) *wire.Error {
	snap, err := s.cfg.Reader.Read(ctx, key, stream.Query{HeadOnly: true})
	if err == nil && !snap.Head.Exists() {
		err = stream.ErrNotFound
	}
	if err != nil {
		return s.problem(wire.OpRegenerate, err)
	}
	return wire.NewError(wire.InvalidRegeneration, "a regenerate takes no "+field)
}

// stop takes a cancel to the engine.
func (s *Server) stop(ctx context.Context, key regen.Key, c *wire.Command, who string) (wire.Cancelled, *wire.Error) {
	got, err := s.cfg.Engine.Cancel(ctx, key, stream.Stop{Run: c.Run, Of: c.Of, Who: who})
	if err != nil {
		return wire.Cancelled{}, s.problem(c.Op, err)
	}
	return wire.Cancelled{Run: got.Run, Cancel: string(got.Answer), Seq: got.Seq}, nil
}

// take does a send, regenerate or edit of any kind and answers it. Where a run began it attaches the socket from just before the run's
// started event, unless it is attached already.
func (k *socket) take(ctx context.Context, l *lane, key regen.Key, c *wire.Command) *wire.Error {
	k.mu.Lock()
	l.sending = true
	full := k.fullLocked(c.Session)
	k.mu.Unlock()
	if full != nil && c.Op.Runs() {
		return full // before anything is accepted that could not be shown
	}
	receipt, problem := k.srv.do(ctx, key, c)
	if problem != nil {
		return problem
	}
	k.answerSend(l, c.Session, wire.AppendReceipt(nil, c.ID, &receipt))
	k.mu.Lock()
	attached := k.attached[c.Session] != nil || k.dead || k.closing != nil
	k.mu.Unlock()
	if !attached && receipt.Run != "" {
		k.follow(key, receipt.Cursor)
	}
	return nil
}

// follow attaches the socket to a run that it has started. The command is answered, so it has time of its own.
func (k *socket) follow(key regen.Key, cursor string) {
	ctx, cancel := context.WithTimeout(k.srv.ctx, k.srv.cfg.CommandTimeout)
	defer cancel()
	for try := time.Duration(1); ; try++ {
		a := &attachment{k: k, session: key.Session}
		sub, view, err := k.srv.cfg.Hub.Attach(ctx, key, cursor, a.notify)
		if err == nil {
			a.sub = sub
			var frame []byte
			if view.Document != nil { // an old receipt: its place in the log is gone
				v := viewOf(&view)
				frame = wire.AppendReset(nil, &v)
			}
			k.waitRoom()
			k.open(a, runOf(&view), frame)
			return
		}
		if try == 3 || ctx.Err() != nil {
			k.srv.cfg.Logger.Warn("cannot attach a socket to its own run", "session", key.String(), "err", err)
			k.shut(wire.CloseOverloaded, "cannot follow the run")
			return
		}
		pause(ctx, try*100*time.Millisecond)
	}
}
