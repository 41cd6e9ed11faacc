package history

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Baseline is what a node and its store hold at rest, for I10.
type Baseline struct {
	// Goroutines and Sockets are counts of the node's process; both are the test's to fill where the node is another process.
	Goroutines, Sockets int
	// Untimed are the keys without a time to live that no session needs: what recovery and stops leave behind.
	Untimed map[string]bool
	// Channels are the subscribed channels and the number of their subscribers, summed over a cluster's nodes.
	Channels map[string]int64
}

// TakeBaseline counts this process' goroutines and reads the store. It writes nothing. Several calls see a moving target: take it
// again until Returned is content or patience ends.
func TakeBaseline(ctx context.Context, c redis.UniversalClient) (Baseline, error) {
	b := Baseline{Goroutines: runtime.NumGoroutine(), Untimed: map[string]bool{}, Channels: map[string]int64{}}
	err := each(ctx, c, func(ctx context.Context, one redis.Cmdable) error {
		if err := b.keys(ctx, one); err != nil {
			return err
		}
		names, err := one.PubSubChannels(ctx, "hf1:*").Result()
		if err != nil || len(names) == 0 {
			return err
		}
		counts, err := one.PubSubNumSub(ctx, names...).Result()
		for name, n := range counts {
			b.Channels[name] += n
		}
		return err
	})
	if err != nil {
		return Baseline{}, fmt.Errorf("take baseline: %w", err)
	}
	return b, nil
}

func each(ctx context.Context, c redis.UniversalClient, f func(context.Context, redis.Cmdable) error) error {
	if cluster, ok := c.(*redis.ClusterClient); ok {
		var one = make(chan struct{}, 1) // masters are visited at once
		return cluster.ForEachMaster(ctx, func(ctx context.Context, n *redis.Client) error {
			one <- struct{}{}
			defer func() { <-one }()
			return f(ctx, n)
		})
	}
	return f(ctx, c)
}

func (b *Baseline) keys(ctx context.Context, one redis.Cmdable) error {
	for cursor := uint64(0); ; {
		names, next, err := one.Scan(ctx, cursor, "hf1:*", 1000).Result()
		if err != nil {
			return err
		}
		for _, name := range names {
			if lasting(name) {
				continue
			}
			ttl, err := one.TTL(ctx, name).Result()
			if err != nil {
				return err
			}
			if ttl == -1 {
				b.Untimed[name] = true
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// lasting says whether a key lives as long as its session, or as the installation.
func lasting(name string) bool {
	for _, suffix := range []string{":lease", ":head", ":doc", ":rows", ":ctx", ":var", ":log", "}:sessions"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return name == "hf1:{nodes}"
}

// Returned says what did not return to the baseline. slack is how many goroutines more are no leak: runtime and pools keep a few.
func Returned(before, after Baseline, slack int) []Violation {
	var out []Violation
	bad := func(format string, args ...any) {
		out = append(out, Violation{Name: I10, What: fmt.Sprintf(format, args...)})
	}
	if after.Goroutines > before.Goroutines+slack {
		bad("%d goroutines, %d before", after.Goroutines, before.Goroutines)
	}
	if after.Sockets > before.Sockets {
		bad("%d sockets, %d before", after.Sockets, before.Sockets)
	}
	for _, name := range slices.Sorted(maps.Keys(after.Untimed)) {
		if !before.Untimed[name] {
			bad("the key %s stays, without a time to live", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.Channels)) {
		if n := after.Channels[name]; n > before.Channels[name] {
			bad("%d subscribers of %s, %d before", n, name, before.Channels[name])
		}
	}
	return out
}
