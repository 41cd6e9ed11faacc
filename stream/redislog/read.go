package redislog

import (
	"context"
	"fmt"
	"strconv"

	"holdfast/regen"
	"holdfast/stream"
)

// defaultRows is how many rows a read brings when the query does not say.
const defaultRows = 200

// Read reads a session in one step: head, lease, the last rows, the log's top and, if asked, the record of a command. A session
// that does not exist is no error: its Head.Exists is false. With Query.Before the document is a page to show: its rows end before
// that index, and its context is empty, so nothing can be planned on it.
//
// Errors: stream.ErrUnavailable. Any other error means that the stored session is damaged.
func (s *Store) Read(ctx context.Context, key regen.Key, q stream.Query) (stream.Snapshot, error) {
	const what = "read session"
	if err := begun(ctx, what); err != nil {
		return stream.Snapshot{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	if q.Rows <= 0 {
		q.Rows = defaultRows
	}
	headOnly := ""
	if q.HeadOnly {
		headOnly = "1"
	}
	k := keysOf(key)
	args := []any{strconv.Itoa(q.Rows), strconv.Itoa(max(q.Before, 0)), q.CommandKey, headOnly}
	for _, id := range q.Variants {
		args = append(args, id)
	}
	a, err := run(ctx, s.calls, readScript,
		[]string{k.head, k.doc, k.rows, k.ctx, k.log, k.keys, k.keys2, k.lease, k.vars}, args, 17)
	if err != nil {
		return stream.Snapshot{}, readError(what, err)
	}
	snap, err := decodeSnapshot(key, q, a)
	if err != nil {
		return stream.Snapshot{}, fmt.Errorf("%s %s: %w", what, key, err)
	}
	return snap, nil
}

func decodeSnapshot(key regen.Key, q stream.Query, a answer) (stream.Snapshot, error) {
	var snap stream.Snapshot
	var err error
	if snap.Head, err = decodeHead(a.fields(1)); err != nil {
		return snap, err
	}
	if snap.Lease, err = decodeLease(key, snap.Head.Run, a.fields(14)); err != nil {
		return snap, err
	}
	if snap.Top, err = parseID(a.text(11)); err != nil {
		return snap, err
	}
	if v := a.text(13); v != "" {
		if snap.Known, err = ParseKnown(v); err != nil {
			return snap, err
		}
	}
	if snap.Now, err = strconv.ParseInt(a.text(15), 10, 64); err != nil {
		return snap, err
	}
	snap.Total = a.number(3)
	if snap.Variants, err = decodeVariants(q.Variants, a.texts(16)); err != nil {
		return snap, err
	}
	if q.HeadOnly || !snap.Head.Exists() {
		return snap, nil
	}
	snap.Document, err = decodeDocument(key, snap.Head, a)
	if err == nil && q.Before <= 0 {
		snap.Document = snap.Document.Normalise()
	}
	return snap, err
}

func decodeDocument(key regen.Key, h stream.Head, a answer) (*regen.Document, error) {
	d := &regen.Document{
		Session: key.Session, Version: h.Version, RowsVersion: h.RowsVersion, Active: h.Active,
		Fields:    regen.FieldsFromMap(a.fields(2)),
		RowsBelow: a.number(4), RowsBase: chain(a.text(5)),
		ContextBelow: a.number(8), ContextBase: chain(a.text(9)),
	}
	rows, context := a.texts(6), a.texts(10)
	d.Rows = make([]regen.Link, len(rows))
	for i, v := range rows {
		l, err := regen.DecodeLink(v)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", d.RowsBelow+i, err)
		}
		d.Rows[i] = l
	}
	d.Context = make([]regen.ContextLink, len(context))
	for i, v := range context {
		l, err := regen.DecodeContextLink(v)
		if err != nil {
			return nil, fmt.Errorf("context row %d: %w", d.ContextBelow+i, err)
		}
		d.Context[i] = l
	}
	return d, nil
}

func chain(s string) regen.Chain {
	if s == "" {
		return regen.EmptyChain
	}
	return regen.Chain(s)
}

func decodeVariants(ids, stored []string) (map[string]regen.VariantRecord, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out := make(map[string]regen.VariantRecord, len(ids))
	for i, v := range stored {
		if v == "" {
			continue // gone, or never there
		}
		rec, err := regen.DecodeVariant(v)
		if err != nil {
			return nil, err
		}
		out[ids[i]] = rec
	}
	return out, nil
}
