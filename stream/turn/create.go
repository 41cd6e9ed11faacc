package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// Filler is a Log that can take the rows of a session in pieces before the session exists.
type Filler interface {
	Fill(ctx context.Context, key regen.Key, incarnation string, epoch ownership.Epoch, rows, contexts []string) error
}

// ErrExists says that there is a session of this id already.
var ErrExists error = existsError{}

type existsError struct{}

func (existsError) Error() string   { return "session exists" }
func (existsError) Code() string    { return "session_exists" }
func (existsError) Status() int     { return 409 }
func (existsError) Retryable() bool { return false }

// createLimit bounds the whole of a creation: its pieces and its retries.
const createLimit = 20 * time.Second

// Create brings a session into being with rows, context and fields: an import. It is one step for everybody else: before it the session
// does not exist, after it all of it does. A client that lost the answer reads the session.
//
// Errors: those of regen.NewDocument; ErrExists; stream.ErrFull; stream.ErrUnavailable: try again; ErrDraining.
func (e *Engine) Create(ctx context.Context, key regen.Key, f regen.Fields, rows, contexts []regen.Row) error {
	if err := key.Validate(); err != nil {
		return err
	}
	fill, ok := e.log.(Filler)
	if !ok {
		return fmt.Errorf("%w: this store takes no imports", stream.ErrUnavailable)
	}
	doc, edit, err := regen.NewDocument(key.Session, f, rows, contexts)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	for try := range tries {
		if try > 0 && !pause(ctx, try) {
			break
		}
		if err = e.create(ctx, key, doc, edit, fill); err == nil {
			return nil
		}
		var unknown *stream.UnknownError
		var fenced *stream.FencedError
		if !errors.As(err, &unknown) && !errors.As(err, &fenced) && !errors.Is(err, errRetry) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
}

// create is one attempt, under a lease of its own that is given back at the end.
func (e *Engine) create(ctx context.Context, key regen.Key, doc *regen.Document, edit regen.Edit, fill Filler) error {
	snap, err := e.log.Read(ctx, key, stream.Query{HeadOnly: true})
	switch {
	case err != nil:
		return err
	case snap.Head.Exists() && snap.Head.Version == doc.Version && snap.Head.Revision == doc.Revision():
		return nil // this very import, by an earlier attempt or call
	case snap.Head.Exists():
		return ErrExists
	case e.isDraining():
		return ErrDraining
	}
	held, err := e.keeper.Acquire(ctx, key.String(), ownership.AcquireOptions{})
	if err != nil {
		return fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
		defer cancel()
		_ = held.Release(end)
	}()
	g := held.Grant()
	if err := fill.Fill(ctx, key, g.Incarnation, g.Epoch, edit.Rows.Append, edit.Context.Append); err != nil {
		return exists(err)
	}
	edit.Rows, edit.Context = unchanged(len(edit.Rows.Append)), unchanged(len(edit.Context.Append))
	res, err := e.log.Write(ctx, key, &stream.Change{
		Batch:  stream.Batch{Incarnation: g.Incarnation, Epoch: g.Epoch, N: 1, At: stream.EntryID{Epoch: g.Epoch, Seq: g.Seq}},
		Expect: stream.Expect{Rows: edit.Rows.Before, Context: edit.Context.Before},
		Edit:   edit,
	})
	switch {
	case err != nil:
		return err
	case res.Status == stream.StatusDone || res.Status == stream.StatusRepeat:
		_ = e.log.Touch(ctx, key, doc.Fields.UpdatedAt) // the list is best effort
		return nil
	}
	return fmt.Errorf("%w: %s %s", errRetry, res.Status, res.Reason)
}

func exists(err error) error {
	var conflict *stream.ConflictError
	if errors.As(err, &conflict) {
		return ErrExists
	}
	return err
}

func (e *Engine) isDraining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}
