package redislease

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"holdfast/ownership"
)

// Renew prolongs leases in one pipeline; see ownership.Store.
func (s *Store) Renew(ctx context.Context, rs []ownership.Renewal) ([]ownership.Renewed, error) {
	out := make([]ownership.Renewed, 0, len(rs))
	var chunks [][]ownership.Renewal
	for len(rs) > 0 {
		n := min(s.chunk, len(rs))
		chunks = append(chunks, rs[:n])
		rs = rs[n:]
	}
	cmds := s.pipeline(ctx, chunks, func(p redis.Pipeliner, keys []string, args []any) *redis.Cmd {
		return renewScript.EvalSha(ctx, p, keys, args...)
	})
	// A pipeline is not healed by the client: after a restart or a fail-over the scripts are sent whole.
	var again []int
	var missed [][]ownership.Renewal
	for i, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			again, missed = append(again, i), append(missed, chunks[i])
		}
	}
	for i, cmd := range s.pipeline(ctx, missed, func(p redis.Pipeliner, keys []string, args []any) *redis.Cmd {
		return renewScript.Eval(ctx, p, keys, args...)
	}) {
		cmds[again[i]] = cmd
	}
	for i, chunk := range chunks {
		out = append(out, readRenewed(cmds[i], len(chunk))...)
	}
	return out, nil
}

func (s *Store) pipeline(
	ctx context.Context, chunks [][]ownership.Renewal, add func(redis.Pipeliner, []string, []any) *redis.Cmd,
) []*redis.Cmd {
	if len(chunks) == 0 {
		return nil
	}
	cmds := make([]*redis.Cmd, len(chunks))
	p := s.client.Pipeline()
	for i, chunk := range chunks {
		keys, args := make([]string, 0, 2*len(chunk)), make([]any, 0, 5*len(chunk))
		for _, r := range chunk {
			keys = append(keys, sessionKey(r.Key, "lease"), sessionKey(r.Key, "cancel"))
			args = append(args, r.Node, r.Proc, epoch(r.Epoch), millis(r.TTL), r.Run)
		}
		cmds[i] = add(p, keys, args)
	}
	_, _ = p.Exec(ctx) // each command has its own error
	return cmds
}

func readRenewed(cmd *redis.Cmd, n int) []ownership.Renewed {
	out := make([]ownership.Renewed, n)
	a := readAnswer("renew", cmd)
	if status := a.status(); status != "renewed" {
		a.malformed("status " + strconv.Quote(status))
	}
	for i := range out {
		r := &out[i]
		status, number, stop := a.text(), a.number(), a.text()
		if a.err != nil {
			r.Err = a.err
			continue
		}
		r.Stop = stop == "1"
		switch status {
		case "ok":
			r.Status, r.Until = ownership.RenewOK, int64(number)
		case "lost":
			r.Status, r.Higher = ownership.RenewLost, ownership.Epoch(number)
		case "gone":
			r.Status = ownership.RenewGone
		default:
			a.malformed("status " + strconv.Quote(status))
			r.Err = a.err
		}
	}
	return out
}
