package redislog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// fieldReader reads typed values out of a stored hash and keeps the first error.
type fieldReader struct {
	m   map[string]string
	err error
}

func (r *fieldReader) number(name string) uint64 {
	s := r.m[name]
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	r.fail(name, err)
	return n
}

func (r *fieldReader) id(name string) stream.EntryID {
	id, err := parseID(r.m[name])
	r.fail(name, err)
	return id
}

func (r *fieldReader) fail(name string, err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("%w: field %s: %w", errAnswer, name, err)
	}
}

// parseID reads an entry id; "" is the zero id.
func parseID(s string) (stream.EntryID, error) {
	if s == "" {
		return stream.EntryID{}, nil
	}
	return stream.ParseEntryID(s)
}

func decodeHead(m map[string]string) (stream.Head, error) {
	r := &fieldReader{m: m}
	h := stream.Head{
		Incarnation: m["inc"],
		Epoch:       ownership.Epoch(r.number("epoch")),
		Seq:         r.number("seq"),
		Version:     r.number("ver"),
		RowsVersion: r.number("rver"),
		Revision:    m["rev"],
		Batch:       r.number("batch"),
		Run:         m["run"],
		Start:       r.id("start"),
		Last:        m["last"],
		Before:      r.id("before"),
	}
	fences, err := stream.ParseFences(m["fences"])
	r.fail("fences", err)
	h.Fences = fences
	if a := m["active"]; a != "" {
		h.Active = new(regen.Active)
		r.fail("active", json.Unmarshal([]byte(a), h.Active))
	}
	return h, r.err
}

func decodeLease(key regen.Key, run string, m map[string]string) (ownership.Lease, error) {
	r := &fieldReader{m: m}
	l := ownership.Lease{
		Key:   key.String(),
		Node:  m["node"],
		Proc:  m["proc"],
		Epoch: ownership.Epoch(r.number("epoch")),
		Until: int64(r.number("until")),
		TTL:   time.Duration(r.number("ttl")) * time.Millisecond,
		Run:   run,
	}
	return l, r.err
}

// noRun stands for the run of an edit that begins none; anytime does so in a change that passes while a run is active.
const noRun, anytime = "-", "+"

// encodeKnown is the record of an accepted command: "<run> <hash> <receipt json>"; an edit without a run has "-<edit>" for the run.
func encodeKnown(a *stream.Accept) (string, error) {
	receipt, err := json.Marshal(a.Receipt)
	if err != nil {
		return "", err
	}
	return cmp.Or(a.Run, noRun+a.Edit) + " " + a.Hash + " " + string(receipt), nil
}

// ParseKnown reads the record of an accepted command, as acquire and the scripts give it.
func ParseKnown(s string) (*stream.Known, error) {
	run, rest, ok1 := strings.Cut(s, " ")
	hash, receipt, ok2 := strings.Cut(rest, " ")
	k := &stream.Known{Run: run, Hash: hash}
	if edit, ok := strings.CutPrefix(run, noRun); ok {
		k.Run, k.Edit = "", edit
	}
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%w: record of a command", errAnswer)
	}
	if err := json.Unmarshal([]byte(receipt), &k.Receipt); err != nil {
		return nil, fmt.Errorf("%w: receipt: %w", errAnswer, err)
	}
	return k, nil
}

// decodeEntry reads one element of XRANGE's answer.
func decodeEntry(v any) (stream.Entry, error) {
	item, _ := v.([]any)
	if len(item) != 2 {
		return stream.Entry{}, fmt.Errorf("%w: entry", errAnswer)
	}
	pair, _ := item[1].([]any)
	if len(pair) != 2 {
		return stream.Entry{}, fmt.Errorf("%w: entry without its one field", errAnswer)
	}
	id, err := stream.ParseEntryID(answer(item).text(0))
	if err != nil {
		return stream.Entry{}, fmt.Errorf("%w: %w", errAnswer, err)
	}
	return stream.Entry{ID: id, Kind: stream.Kind(answer(pair).text(0)), Data: answer(pair).text(1)}, nil
}
