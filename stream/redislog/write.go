package redislog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

const (
	// stopVoidMS is after how long a stop for a command key that did not come is void.
	stopVoidMS = "60000"
	// stopsMost bounds the stops for command keys that a session holds at a time.
	stopsMost = "64"
)

// ErrChange says that a change contradicts itself; nothing was sent. It is a fault of the caller.
var ErrChange = errors.New("malformed change")

// Write applies a change in one step, whole or not at all. An Edit with version 0 leaves the document and the active run as they
// are: entries alone are written. A change that settles and nothing more passes while memory is full.
//
// The result is definite. With StatusKnown, WriteResult.Stopped says whether the known run is stopped. Errors:
// stream.ErrUnavailable and stream.ErrFull: nothing was written. *stream.UnknownError: it may have been; write the same change
// again. ErrChange: nothing was sent.
func (s *Store) Write(ctx context.Context, key regen.Key, c *stream.Change) (stream.WriteResult, error) {
	const what = "write change"
	args, err := s.writeArgs(key, c)
	if err != nil {
		return stream.WriteResult{}, fmt.Errorf("%s: %w", what, err)
	}
	if err := begun(ctx, what); err != nil {
		return stream.WriteResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	k := keysOf(key)
	a, err := run(ctx, s.calls, writeScript,
		[]string{k.head, k.log, k.rows, k.ctx, k.doc, k.vars, k.cancel, k.keys, k.keys2}, args, 1)
	if err != nil {
		return stream.WriteResult{}, writeError(what, err)
	}
	r, err := decodeWrite(a)
	if r.Status == stream.StatusDone || r.Status == stream.StatusRepeat {
		s.incs.learn(key, c.Incarnation)
	}
	return r, err
}

func decodeWrite(a answer) (stream.WriteResult, error) {
	r := stream.WriteResult{Status: stream.Status(a.text(0))}
	switch r.Status {
	case stream.StatusDone:
		r.Stopped = a.text(1) == "1"
	case stream.StatusKnown:
		known, err := ParseKnown(a.text(1))
		if err != nil {
			return stream.WriteResult{}, err
		}
		r.Known, r.Stopped = known, a.text(2) == "1"
	case stream.StatusFenced:
		e, _ := strconv.ParseUint(a.text(1), 10, 64)
		r.Epoch = ownership.Epoch(e)
	case stream.StatusConflict:
		r.Reason = a.text(1)
	case stream.StatusBusy, stream.StatusNotOwner:
		r.Run = a.text(1)
	case stream.StatusRepeat, stream.StatusStopped:
	default:
		return stream.WriteResult{}, &stream.UnknownError{Err: fmt.Errorf("%w: status %q", errAnswer, r.Status)}
	}
	return r, nil
}

// checkChange finds what no store could apply.
func checkChange(c *stream.Change) error {
	last := c.At
	for _, e := range c.Entries {
		want := last.Next()
		want.Epoch = c.Epoch
		if e.ID != want || e.Kind == "" || e.Kind == stream.KindMarker {
			return fmt.Errorf("%w: entry %s after %s", ErrChange, e.ID, last)
		}
		last = e.ID
	}
	edit := &c.Edit
	switch {
	case c.Incarnation == "" || c.Epoch == 0 || c.N == 0 || c.At.Epoch != c.Epoch:
		return fmt.Errorf("%w: batch", ErrChange)
	case c.Trim.Compare(last) > 0:
		return fmt.Errorf("%w: trim would empty the log", ErrChange)
	case c.Settle != nil && (c.Settle.Run == "" || edit.Version == 0):
		return fmt.Errorf("%w: settle", ErrChange)
	case c.Accept != nil && (c.Accept.Key == "" || edit.Version == 0 || edit.Run != c.Accept.Run && !c.Accept.Anytime):
		return fmt.Errorf("%w: accept", ErrChange)
	case c.Accept != nil && c.Accept.Anytime && (c.Accept.Run != "" || c.Settle != nil):
		return fmt.Errorf("%w: accept", ErrChange)
	case edit.Version != 0 && (edit.Active == nil) != (edit.Run == ""):
		return fmt.Errorf("%w: active run", ErrChange)
	}
	if err := checkList(edit.Rows, c.Expect.Rows, edit.Version); err != nil {
		return fmt.Errorf("%w: rows", err)
	}
	if err := checkList(edit.Context, c.Expect.Context, edit.Version); err != nil {
		return fmt.Errorf("%w: context", err)
	}
	return nil
}

func checkList(l regen.ListEdit, length int, version uint64) error {
	switch {
	case !l.Changes():
		return nil
	case version == 0, l.Before != length, l.Keep < 0, l.Keep > l.Before, l.Patch != "" && l.Keep == 0:
		return ErrChange
	}
	return nil
}

// writeArgs lays a change out for the script, see the header of write.lua.
func (s *Store) writeArgs(key regen.Key, c *stream.Change) ([]any, error) {
	if err := checkChange(c); err != nil {
		return nil, err
	}
	edit := &c.Edit
	a := make([]any, 0, 48+3*len(c.Entries)+len(edit.Rows.Append)+len(edit.Context.Append)+2*len(edit.Set)+2*len(edit.VariantSet))
	a = append(a, c.Incarnation, number(uint64(c.Epoch)), number(c.N), c.At.String(),
		number(c.Expect.Version), strconv.Itoa(c.Expect.Rows), strconv.Itoa(c.Expect.Context))
	a, err := appendGuards(a, c)
	if err != nil {
		return nil, err
	}
	seq := c.At.Seq + uint64(len(c.Entries))
	a = append(a, number(seq))
	if a, err = appendDocument(a, c); err != nil {
		return nil, err
	}
	if c.Trim.IsZero() {
		a = append(a, "", "", "")
	} else {
		a = append(a, c.Trim.String(), c.Before.String(), c.Fences.String())
	}
	channel, lead := "", ""
	if !s.opt.Solo {
		// The copy of the last append may still be on its way over the other connection: without it here, readers would find a
		// hole before nearly every settlement and go to the log.
		channel, lead = wakeChannel(key), encodeEntries(s.writer.unpublished(key), s.opt.CopyBytes)
	}
	a = append(a, channel, strconv.Itoa(s.opt.CopyBytes), stopVoidMS)
	return appendValues(a, c, lead), nil
}

func appendGuards(a []any, c *stream.Change) ([]any, error) {
	settle, cancelled := "", ""
	if c.Settle != nil {
		settle = c.Settle.Run
		if c.Settle.Cancelled {
			cancelled = "1"
		}
	}
	a = append(a, settle, cancelled)
	if c.Accept == nil {
		return append(a, "", "", ""), nil
	}
	known, err := encodeKnown(c.Accept)
	if err != nil {
		return nil, fmt.Errorf("%w: receipt: %w", ErrChange, err)
	}
	run := c.Accept.Run
	switch {
	case c.Accept.Anytime:
		run = anytime
	case run == "":
		run = noRun
	}
	return append(a, run, c.Accept.Key, known), nil
}

func appendDocument(a []any, c *stream.Change) ([]any, error) {
	edit := &c.Edit
	if edit.Version == 0 {
		return append(a, "", "", "", "", "", ""), nil
	}
	active, start := "", ""
	if edit.Active != nil {
		b, err := json.Marshal(edit.Active)
		if err != nil {
			return nil, fmt.Errorf("%w: active run: %w", ErrChange, err)
		}
		active = string(b)
		if !c.Start.IsZero() {
			start = c.Start.String()
		}
	}
	return append(a, number(edit.Version), number(edit.RowsVersion), edit.Revision, edit.Run, active, start), nil
}

// appendValues writes the counts, the copies that lead the wake, and then what was counted.
func appendValues(a []any, c *stream.Change, lead string) []any {
	edit := &c.Edit
	a = append(a, strconv.Itoa(len(c.Entries)))
	for _, l := range []*regen.ListEdit{&edit.Rows, &edit.Context} {
		keep := l.Keep
		if keep == l.Before {
			keep = -1
		}
		a = append(a, strconv.Itoa(keep), l.Patch, strconv.Itoa(len(l.Append)))
	}
	a = append(a, strconv.Itoa(len(edit.Set)), strconv.Itoa(len(edit.Unset)),
		strconv.Itoa(len(edit.VariantSet)), strconv.Itoa(len(edit.VariantUnset)), lead)
	for _, e := range c.Entries {
		a = append(a, e.ID.String(), string(e.Kind), e.Data)
	}
	for _, l := range [][]string{edit.Rows.Append, edit.Context.Append} {
		for _, v := range l {
			a = append(a, v)
		}
	}
	a = appendFields(a, edit.Set, edit.Unset)
	return appendFields(a, edit.VariantSet, edit.VariantUnset)
}

func appendFields(a []any, set map[string]string, unset []string) []any {
	for _, k := range slices.Sorted(maps.Keys(set)) { // one order, so that a batch sent again has the same bytes
		a = append(a, k, set[k])
	}
	for _, k := range unset {
		a = append(a, k)
	}
	return a
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }
