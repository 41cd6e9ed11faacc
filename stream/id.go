package stream

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"holdfast/ownership"
)

// EntryID is the position of one entry in a session's log. Redis keeps it as the stream id "<epoch>-<seq>".
// The zero value is before every entry.
type EntryID struct {
	// Epoch is the lease epoch under which the entry was written.
	Epoch ownership.Epoch
	// Seq counts the session's entries from 1. A marker carries the seq of the entry it follows.
	Seq uint64
}

// ErrBadID is returned for text that is not an entry id, a cursor or a list of fences.
var ErrBadID = errors.New("malformed position")

// ParseEntryID reads "<epoch>-<seq>".
func ParseEntryID(s string) (EntryID, error) {
	e, q, ok := strings.Cut(s, "-")
	if !ok {
		return EntryID{}, fmt.Errorf("%w: entry id", ErrBadID)
	}
	return parsePair(e, q)
}

func parsePair(e, q string) (EntryID, error) {
	epoch, err1 := parseNumber(e)
	seq, err2 := parseNumber(q)
	if err1 != nil || err2 != nil {
		return EntryID{}, fmt.Errorf("%w: numbers", ErrBadID)
	}
	return EntryID{Epoch: ownership.Epoch(epoch), Seq: seq}, nil
}

// parseNumber takes digits alone: no sign, no blank, no leading zero beside "0" itself.
func parseNumber(s string) (uint64, error) {
	if s == "" || len(s) > 1 && s[0] == '0' {
		return 0, ErrBadID
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, ErrBadID
		}
	}
	return strconv.ParseUint(s, 10, 63)
}

// String gives "<epoch>-<seq>".
func (id EntryID) String() string {
	return strconv.FormatUint(uint64(id.Epoch), 10) + "-" + strconv.FormatUint(id.Seq, 10)
}

// Compare orders by epoch, then by seq, as Redis does.
func (id EntryID) Compare(o EntryID) int {
	if c := cmp.Compare(id.Epoch, o.Epoch); c != 0 {
		return c
	}
	return cmp.Compare(id.Seq, o.Seq)
}

// IsZero says whether id is the position before everything.
func (id EntryID) IsZero() bool { return id == EntryID{} }

// Next is the id after id under the same epoch.
func (id EntryID) Next() EntryID { return EntryID{Epoch: id.Epoch, Seq: id.Seq + 1} }

// Cursor names the last entry that a reader has, and the life of the log it belongs to. Its zero value means "from nothing".
type Cursor struct {
	// Incarnation is random per life of the log.
	Incarnation string
	// ID is the last entry the reader has.
	ID EntryID
}

// ParseCursor reads "<incarnation>.<epoch>:<seq>". A client changes only the number after the colon.
func ParseCursor(s string) (Cursor, error) {
	inc, rest, ok := strings.Cut(s, ".")
	if !ok || inc == "" || len(s) > 128 {
		return Cursor{}, fmt.Errorf("%w: cursor", ErrBadID)
	}
	e, q, ok := strings.Cut(rest, ":")
	if !ok {
		return Cursor{}, fmt.Errorf("%w: cursor", ErrBadID)
	}
	id, err := parsePair(e, q)
	return Cursor{Incarnation: inc, ID: id}, err
}

// String gives "<incarnation>.<epoch>:<seq>".
func (c Cursor) String() string {
	return c.Incarnation + "." + strconv.FormatUint(uint64(c.ID.Epoch), 10) + ":" + strconv.FormatUint(c.ID.Seq, 10)
}

// Fence says that entries from First on were written under Epoch, until the next fence.
type Fence struct {
	Epoch ownership.Epoch
	First uint64
}

// Fences are the epochs of the entries still in a log, oldest first. They say which epoch a seq belongs to.
type Fences []Fence

// ParseFences reads "epoch:first,epoch:first"; "" is none.
func ParseFences(s string) (Fences, error) {
	if s == "" {
		return nil, nil
	}
	var f Fences
	for part := range strings.SplitSeq(s, ",") {
		e, q, _ := strings.Cut(part, ":")
		id, err := parsePair(e, q)
		if err != nil {
			return nil, err
		}
		f = append(f, Fence{Epoch: id.Epoch, First: id.Seq})
	}
	return f, nil
}

// String is the form that ParseFences reads.
func (f Fences) String() string {
	var b strings.Builder
	for i, x := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(uint64(x.Epoch), 10))
		b.WriteByte(':')
		b.WriteString(strconv.FormatUint(x.First, 10))
	}
	return b.String()
}

// At is the epoch of seq; false when seq lies before the first fence.
func (f Fences) At(seq uint64) (ownership.Epoch, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].First <= seq {
			return f[i].Epoch, true
		}
	}
	return 0, false
}

// Prune drops the fences that no entry from first on needs.
func (f Fences) Prune(first uint64) Fences {
	for len(f) > 1 && f[1].First <= first {
		f = f[1:]
	}
	return f
}
