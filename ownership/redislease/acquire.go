package redislease

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"holdfast/ownership"
)

// Acquire grants the lease; see ownership.Store.
func (s *Store) Acquire(ctx context.Context, r ownership.Request) (ownership.Grant, error) {
	observed := ""
	if r.Observed > 0 {
		observed = epoch(r.Observed)
	}
	keys := []string{
		sessionKey(r.Key, "lease"), sessionKey(r.Key, "head"), sessionKey(r.Key, "log"),
		sessionKey(r.Key, "keys"), sessionKey(r.Key, "keys2"),
	}
	a := readAnswer("acquire", acquireScript.Run(ctx, s.client, keys, r.Node, r.Proc, millis(r.TTL), r.Req, epoch(r.Seen),
		r.Incarnation, observed, r.CommandKey, sessionKey(r.Key, "wake")))
	switch status := a.status(); status {
	case "granted":
		g := ownership.Grant{
			Epoch: ownership.Epoch(a.number()), Incarnation: a.text(), Seq: a.number(), Fresh: a.text() == "1", Run: a.text(),
			PrevEpoch: ownership.Epoch(a.number()), PrevNode: a.text(), Now: int64(a.number()),
		}
		return g, a.err
	case "held":
		h := &ownership.HeldError{
			Key: r.Key, Owner: a.text(), Proc: a.text(), Epoch: ownership.Epoch(a.number()), Until: int64(a.number()),
			Run: a.text(), Now: int64(a.number()),
		}
		if a.err != nil {
			return ownership.Grant{}, a.err
		}
		return ownership.Grant{}, h
	case "key":
		return ownership.Grant{}, &ownership.KnownError{Value: a.text()}
	case "corrupt":
		return ownership.Grant{}, &ownership.RefusedError{Err: fmt.Errorf("acquire %s: epoch %s is out of range", r.Key, a.text())}
	default:
		a.malformed("status " + strconv.Quote(status))
		return ownership.Grant{}, a.err
	}
}

// Release gives a lease back; see ownership.Store.
func (s *Store) Release(ctx context.Context, l ownership.Lease) error {
	keys := []string{sessionKey(l.Key, "lease"), sessionKey(l.Key, "head"), sessionKey(l.Key, "log")}
	a := readAnswer("release", releaseScript.Run(ctx, s.client, keys, l.Node, l.Proc, epoch(l.Epoch),
		strconv.FormatInt(int64(ghostLife/time.Second), 10)))
	if status := a.status(); status != "released" && status != "stale" {
		a.malformed("status " + strconv.Quote(status))
	}
	return a.err
}

func epoch(e ownership.Epoch) string { return strconv.FormatUint(uint64(e), 10) }

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
