package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/regen"
	"holdfast/stream"
)

// draft is a change in the making: it gives the entries their ids.
type draft struct {
	stream.Change
	next stream.EntryID
}

// change begins the next batch of this epoch.
func (a *actor) change(edit regen.Edit) *draft {
	return &draft{
		Change: stream.Change{
			Batch:  stream.Batch{Incarnation: a.head.Incarnation, Epoch: a.held.Epoch(), N: a.batch + 1, At: a.pos},
			Expect: stream.Expect{Version: a.doc.Version, Rows: edit.Rows.Before, Context: edit.Context.Before},
			Edit:   edit,
		},
		next: stream.EntryID{Epoch: a.held.Epoch(), Seq: a.pos.Seq + 1},
	}
}

// add appends an entry with a JSON payload and gives its id.
func (d *draft) add(k stream.Kind, payload any) stream.EntryID {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic(fmt.Sprintf("payload of a %s entry: %v", k, err)) // our own types: cannot fail
	}
	return d.put(k, string(raw))
}

func (d *draft) put(k stream.Kind, data string) stream.EntryID {
	id := d.next
	d.Entries = append(d.Entries, stream.Entry{ID: id, Kind: k, Data: data})
	d.next = id.Next()
	return id
}

// write sends a change until its outcome is definite or the lease is gone. A change whose outcome was never open and that the
// store refused for now is given up if it is an acceptance alone; an end of a run is tried again.
func (a *actor) write(c *stream.Change) (stream.WriteResult, error) {
	open := false
	for try := 0; ; try++ {
		a.busy()
		res, err := a.writeOnce(c)
		var unknown *stream.UnknownError
		switch {
		case err == nil:
			mine := res.Status == stream.StatusKnown && c.Accept != nil &&
				res.Known.Run == c.Accept.Run && res.Known.Edit == c.Accept.Edit
			if res.Status == stream.StatusRepeat || mine {
				res = stream.WriteResult{Status: stream.StatusDone, Stopped: res.Stopped}
			}
			return res, nil
		case errors.As(err, &unknown):
			open = true
		case !open && c.Accept != nil && c.Settle == nil:
			return stream.WriteResult{}, err
		}
		if !pause(a.ctx, try) {
			why := context.Cause(a.ctx)
			return stream.WriteResult{}, &endError{why: why, answer: fmt.Errorf("%w: %w", stream.ErrUnavailable, why)}
		}
	}
}

func (a *actor) writeOnce(c *stream.Change) (stream.WriteResult, error) {
	ctx, cancel := context.WithTimeout(a.ctx, callLimit)
	defer cancel()
	return a.e.log.Write(ctx, a.key, c)
}

// applied takes over what a change made true, and hands its entries to this node's readers.
func (a *actor) applied(c *stream.Change, doc *regen.Document) {
	a.batch = c.N
	a.doc = doc
	if n := len(c.Entries); n > 0 {
		a.pos = c.Entries[n-1].ID
	}
	if !c.Trim.IsZero() {
		a.head.Before, a.head.Fences = c.Before, c.Fences
	}
	a.e.readers.Offer(a.key, a.head.Incarnation, c.Entries...)
}

// unexpected ends the actor after an answer that its own state does not explain: another owner came, or the store lost something.
func (a *actor) unexpected(what string, res stream.WriteResult) error {
	if res.Status == stream.StatusFenced {
		return a.fenced(res.Epoch)
	}
	return latch(fmt.Errorf("%s: store says %s %s", what, res.Status, res.Reason))
}
