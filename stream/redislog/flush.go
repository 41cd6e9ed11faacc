package redislog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/regen"
	"holdfast/stream"
)

// flush writes one batch, and before it the copies of the one before. Copies go out only of what is in the log.
func (w *writer) flush(batch []pending, copies map[regen.Key][]stream.Entry) {
	ctx, cancel := context.WithTimeout(context.Background(), w.opt.Timeout)
	defer cancel()
	pipe := w.client.Pipeline()
	for key, entries := range copies { // one message per session; what becomes of it is not looked at
		pipe.Publish(ctx, wakeChannel(key), encodeWake(w.incs.get(key), entries, w.opt.CopyBytes))
	}
	cmds := make([]*redis.StringCmd, len(batch))
	for i, p := range batch {
		if p.full {
			continue
		}
		cmds[i] = pipe.XAdd(ctx, &redis.XAddArgs{
			Stream: logKey(p.key), NoMkStream: true, ID: p.entry.ID.String(), Values: []string{string(p.entry.Kind), p.entry.Data},
		})
	}
	took, err := w.exec(ctx, pipe)
	conn := w.conns.Load()
	w.published(copies)
	for i, p := range batch {
		switch {
		case p.full:
			p.done(w.failed(errQueueFull))
			continue
		case err != nil: // nothing was sent
			p.done(w.failed(err))
			continue
		}
		r := w.judge(cmds[i])
		r.Conn = conn
		if r.Status == stream.AppendDone && !w.opt.Solo {
			w.copy(p)
		}
		p.done(r)
	}
	if w.opt.Events.Flushed != nil && len(batch) > 0 {
		if err == nil {
			err = firstError(cmds)
		}
		w.opt.Events.Flushed(len(batch), took, err)
	}
}

// exec sends a pipeline. It gives an error only where nothing was sent; otherwise each command has its own.
func (w *writer) exec(ctx context.Context, pipe redis.Pipeliner) (time.Duration, error) {
	if pipe.Len() == 0 {
		return 0, nil
	}
	if err := w.take(ctx); err != nil {
		pipe.Discard()
		return 0, err
	}
	defer w.give()
	start := time.Now()
	_, _ = pipe.Exec(ctx)
	return time.Since(start), nil
}

// judge makes the result of one append out of its reply.
func (w *writer) judge(cmd *redis.StringCmd) stream.AppendResult {
	err := cmd.Err()
	switch {
	case err == nil:
		return stream.AppendResult{Status: stream.AppendDone}
	case errors.Is(err, redis.Nil):
		return stream.AppendResult{Status: stream.AppendRefused, Err: errors.New("append: log is missing")}
	case strings.Contains(err.Error(), "equal or smaller than the target stream top item"):
		if w.unsure {
			return stream.AppendResult{Err: fmt.Errorf("append: %w", &stream.UnknownError{Err: err})}
		}
		return stream.AppendResult{Status: stream.AppendRefused, Err: fmt.Errorf("append: %w", err)}
	}
	r := stream.AppendResult{Status: stream.AppendFailed, Err: writeError("append", err)}
	if classify(err) == fateUnknown {
		r.Status = stream.AppendUnknown
	}
	return r
}

// copy keeps an acknowledged entry for publishing.
func (w *writer) copy(p pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.copies[p.key] = append(w.copies[p.key], p.entry)
}

// copied gives what is to be published.
func (w *writer) copied() map[regen.Key][]stream.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.copies) == 0 {
		return nil
	}
	return maps.Clone(w.copies)
}

// published forgets copies that have been sent; lists only grew at their end meanwhile.
func (w *writer) published(copies map[regen.Key][]stream.Entry) {
	if len(copies) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, sent := range copies {
		if rest := w.copies[key][len(sent):]; len(rest) > 0 {
			w.copies[key] = rest
		} else {
			delete(w.copies, key)
		}
	}
}

// unpublished gives a session's entries that are in the log and may not have been published.
func (w *writer) unpublished(key regen.Key) []stream.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.copies[key]
}

func firstError(cmds []*redis.StringCmd) error {
	for _, c := range cmds {
		if c != nil && c.Err() != nil {
			return c.Err()
		}
	}
	return nil
}
