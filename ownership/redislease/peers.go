package redislease

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"holdfast/ownership"
)

// Look reads a lease; see ownership.Looker.
func (s *Store) Look(ctx context.Context, key string) (ownership.Lease, int64, error) {
	return s.look(ctx, key, "")
}

// Cut reads a lease and cuts a far deadline; see ownership.Looker.
func (s *Store) Cut(ctx context.Context, key string) (ownership.Lease, int64, error) {
	return s.look(ctx, key, "1")
}

func (s *Store) look(ctx context.Context, key, cut string) (ownership.Lease, int64, error) {
	keys := []string{sessionKey(key, "lease"), sessionKey(key, "head")}
	a := readAnswer("look", lookScript.Run(ctx, s.client, keys, cut))
	if status := a.status(); status != "lease" {
		a.malformed("status " + strconv.Quote(status))
	}
	l := ownership.Lease{
		Key: key, Node: a.text(), Proc: a.text(), Epoch: ownership.Epoch(a.number()), Until: int64(a.number()),
		TTL: time.Duration(a.number()) * time.Millisecond, Run: a.text(),
	}
	now := int64(a.number())
	if a.err != nil {
		return ownership.Lease{}, 0, a.err
	}
	return l, now, nil
}

// Beat counts a heartbeat; see ownership.Peers.
func (s *Store) Beat(ctx context.Context, node string) (ownership.Pulse, error) {
	a := readAnswer("beat", beatScript.Run(ctx, s.client, []string{nodesKey}, node))
	if status := a.status(); status != "beat" {
		a.malformed("status " + strconv.Quote(status))
	}
	p := ownership.Pulse{Now: int64(a.number()), Counters: map[string]int64{}}
	for a.err == nil && len(a.fields) > 0 {
		id := a.text()
		p.Counters[id] = int64(a.number())
	}
	return p, a.err
}

// Leave takes a node without an index off the list; see ownership.Peers.
func (s *Store) Leave(ctx context.Context, node string) error {
	n, err := s.client.Exists(ctx, indexKey(node)).Result()
	if err == nil && n == 0 {
		err = s.client.HDel(ctx, nodesKey, node).Err()
	}
	return wrap("leave", err)
}

// IndexAdd adds sessions to a node's index; see ownership.Index.
func (s *Store) IndexAdd(ctx context.Context, node string, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	a := readAnswer("index", indexScript.Run(ctx, s.client, []string{indexKey(node)}, anys(keys)...))
	if status := a.status(); status != "added" {
		a.malformed("status " + strconv.Quote(status))
	}
	return a.err
}

// IndexRemove removes sessions from a node's index; see ownership.Index.
func (s *Store) IndexRemove(ctx context.Context, node string, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	return wrap("index", s.client.SRem(ctx, indexKey(node), anys(keys)...).Err())
}

// IndexScan reads a page of a node's index; see ownership.Peers.
func (s *Store) IndexScan(ctx context.Context, node string, cursor uint64, count int) ([]string, uint64, error) {
	keys, next, err := s.client.SScan(ctx, indexKey(node), cursor, "", int64(count)).Result()
	return keys, next, wrap("index", err)
}

func anys(keys []string) []any {
	out := make([]any, len(keys))
	for i, k := range keys {
		out[i] = k
	}
	return out
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, classify(err))
}
