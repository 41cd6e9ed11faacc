package history

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/regen"
	"holdfast/stream"
)

// Store is what Redis holds of one session, as it stands there. A session that does not exist has an empty one.
type Store struct {
	Key regen.Key
	// At is when it was read, by the test's clock.
	At                                 time.Time
	Head, Lease, Doc, Variants, Cancel map[string]string
	// Keys are the accepted commands, both generations.
	Keys map[string]string
	// Rows and Context are the stored elements: a chain and a row, or a reference.
	Rows, Context []string
	// Log is the whole log, markers included.
	Log []stream.Entry
}

// Dump reads a session in one transaction. It writes nothing.
func Dump(ctx context.Context, c redis.UniversalClient, key regen.Key) (Store, error) {
	key.Tenant = tenantOr(key.Tenant)
	tag := "hf1:{" + key.String() + "}"
	s := Store{Key: key}
	hashes := []struct {
		name string
		to   *map[string]string
	}{
		{":head", &s.Head}, {":lease", &s.Lease}, {":doc", &s.Doc}, {":var", &s.Variants}, {":cancel", &s.Cancel}, {":keys", &s.Keys},
	}
	var hash []*redis.MapStringStringCmd
	var older *redis.MapStringStringCmd
	var rows, context *redis.StringSliceCmd
	var log *redis.XMessageSliceCmd
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, h := range hashes {
			hash = append(hash, p.HGetAll(ctx, tag+h.name))
		}
		older = p.HGetAll(ctx, tag+":keys2")
		rows, context = p.LRange(ctx, tag+":rows", 0, -1), p.LRange(ctx, tag+":ctx", 0, -1)
		log = p.XRange(ctx, tag+":log", "-", "+")
		return nil
	})
	if err != nil {
		return Store{}, fmt.Errorf("dump %s: %w", key, err)
	}
	s.At = time.Now()
	for i, h := range hashes {
		*h.to = hash[i].Val()
	}
	all := older.Val()
	maps.Copy(all, s.Keys)
	s.Keys = all
	s.Rows, s.Context = rows.Val(), context.Val()
	for _, m := range log.Val() {
		id, err := stream.ParseEntryID(m.ID)
		if err != nil || len(m.Values) != 1 {
			return Store{}, fmt.Errorf("dump %s: entry %s has %d fields: %w", key, m.ID, len(m.Values), stream.ErrBadID)
		}
		for kind, data := range m.Values {
			s.Log = append(s.Log, stream.Entry{ID: id, Kind: stream.Kind(kind), Data: fmt.Sprint(data)})
		}
	}
	return s, nil
}

// Active is the run that the store says is active; "" when idle.
func (s *Store) Active() string { return s.Head["run"] }

// Exists says whether the session exists for people.
func (s *Store) Exists() bool { return s.Head["ver"] != "" && s.Head["ver"] != "0" }

// top is the position of the last entry; zero where nothing names one.
func (s *Store) top() stream.Cursor {
	for i := len(s.Log) - 1; i >= 0; i-- {
		if s.Log[i].Kind != stream.KindMarker {
			return stream.Cursor{Incarnation: s.Head["inc"], ID: s.Log[i].ID}
		}
	}
	return s.before()
}

// before is the position just before the first kept entry.
func (s *Store) before() stream.Cursor {
	id, err := stream.ParseEntryID(s.Head["before"])
	if err != nil {
		return stream.Cursor{}
	}
	return stream.Cursor{Incarnation: s.Head["inc"], ID: id}
}

// document is the whole stored document. An error says which element cannot be read.
func (s *Store) document() (*regen.Document, error) {
	d := &regen.Document{Session: s.Key.Session, Fields: regen.FieldsFromMap(s.Doc)}
	if _, err := fmt.Sscan(s.Head["ver"]+" "+s.Head["rver"], &d.Version, &d.RowsVersion); err != nil {
		return nil, fmt.Errorf("versions %q and %q: %w", s.Head["ver"], s.Head["rver"], err)
	}
	if s.Head["active"] != "" {
		d.Active = new(regen.Active)
		if err := json.Unmarshal([]byte(s.Head["active"]), d.Active); err != nil {
			return nil, fmt.Errorf("active run: %w", err)
		}
	}
	for i, e := range s.Rows {
		l, err := regen.DecodeLink(e)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		d.Rows = append(d.Rows, l)
	}
	for i, e := range s.Context {
		l, err := regen.DecodeContextLink(e)
		if err != nil {
			return nil, fmt.Errorf("context row %d: %w", i, err)
		}
		d.Context = append(d.Context, l)
	}
	return d, nil
}
