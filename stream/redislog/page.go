package redislog

import (
	"context"
	"fmt"
	"strconv"

	"holdfast/regen"
	"holdfast/stream"
)

// Page reads the entries after an id, which it leaves out, and the head in the same step. limit is the most entries; below 1 it is
// 512. Whether entries between after and the first one are gone is the caller's to see, by their ids and the head.
//
// Errors: stream.ErrUnavailable. Any other error means that the stored session is damaged.
func (s *Store) Page(ctx context.Context, key regen.Key, after stream.EntryID, limit int) (stream.Page, error) {
	const what = "read log"
	if err := begun(ctx, what); err != nil {
		return stream.Page{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	if limit < 1 {
		limit = 512
	}
	from := "-"
	if !after.IsZero() {
		from = "(" + after.String()
	}
	k := keysOf(key)
	a, err := run(ctx, s.calls, pageScript, []string{k.head, k.log}, []any{from, strconv.Itoa(limit)}, 4)
	if err != nil {
		return stream.Page{}, readError(what, err)
	}
	p, err := decodePage(a, limit)
	if err != nil {
		return stream.Page{}, fmt.Errorf("%s %s: %w", what, key, err)
	}
	return p, nil
}

func decodePage(a answer, limit int) (stream.Page, error) {
	var p stream.Page
	var err error
	if p.Head, err = decodeHead(a.fields(1)); err != nil {
		return p, err
	}
	if p.Top, err = parseID(a.text(2)); err != nil {
		return p, err
	}
	items := a.list(3)
	if len(items) > limit {
		items, p.More = items[:limit], true
	}
	p.Entries = make([]stream.Entry, len(items))
	for i, item := range items {
		if p.Entries[i], err = decodeEntry(item); err != nil {
			return p, err
		}
	}
	return p, nil
}
