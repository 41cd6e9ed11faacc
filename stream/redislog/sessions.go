package redislog

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"holdfast/regen"
	"holdfast/stream"
)

// Touch puts a session into its tenant's list, or moves it up; at is in seconds since 1970, and an older time moves nothing. The
// list is a best effort. Errors: stream.ErrUnavailable and stream.ErrFull: nothing was written; *stream.UnknownError.
func (s *Store) Touch(ctx context.Context, key regen.Key, at float64) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	err := s.calls.ZAddGT(ctx, sessionsKey(key.Tenant), redis.Z{Score: at * 1000, Member: key.Session}).Err()
	if err != nil {
		return writeError("list session", err)
	}
	return nil
}

// Sessions lists a tenant's sessions, the most recently active first; limit below 1 is 100. What the list names but does not exist
// is left out. Errors: stream.ErrUnavailable.
func (s *Store) Sessions(ctx context.Context, tenant string, limit int) ([]stream.SessionInfo, error) {
	const what = "list sessions"
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	if limit < 1 {
		limit = 100
	}
	found, err := s.calls.ZRevRangeWithScores(ctx, sessionsKey(tenant), 0, int64(limit)-1).Result()
	if err != nil {
		return nil, readError(what, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	heads, titles := make([]*redis.SliceCmd, len(found)), make([]*redis.SliceCmd, len(found))
	_, err = s.calls.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, z := range found {
			k := keysOf(regen.Key{Tenant: tenant, Session: member(z)})
			heads[i] = p.HMGet(ctx, k.head, "ver", "run")
			titles[i] = p.HMGet(ctx, k.doc, "title")
		}
		return nil
	})
	if err != nil {
		return nil, readError(what, err)
	}
	var out []stream.SessionInfo
	for i, z := range found {
		head, title := answer(heads[i].Val()), answer(titles[i].Val())
		if ver, _ := strconv.ParseUint(head.text(0), 10, 64); ver == 0 {
			continue
		}
		out = append(out, stream.SessionInfo{
			Session: member(z), UpdatedAt: z.Score / 1000, Run: head.text(1),
			Title: regen.FieldsFromMap(map[string]string{"title": title.text(0)}).Title,
		})
	}
	return out, nil
}

func member(z redis.Z) string {
	s, _ := z.Member.(string)
	return s
}
