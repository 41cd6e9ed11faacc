package redislog

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"holdfast/regen"
	"holdfast/stream"
)

// Follow has fn called with every wake of a session, and with a Confirmed one whenever the subscription begins, or begins again:
// what came before it may have been missed. It does not wait. fn is called from one goroutine for all followers, must not block,
// and may be called once more while stop returns. Without Run it is not called.
func (s *Store) Follow(key regen.Key, fn func(stream.Wake)) (stop func()) {
	return s.feeds.follow(wakeChannel(key), func(payload string, confirmed bool) {
		if confirmed {
			fn(stream.Wake{Confirmed: true})
			return
		}
		fn(decodeWake(payload))
	})
}

// FollowNode has fn called with every stop that is recorded for a run whose owner is node. A lost one is told by the renewals.
// The rules of Follow apply.
func (s *Store) FollowNode(node string, fn func(key regen.Key, run string)) (stop func()) {
	return s.feeds.follow(nodeChannel(node), func(payload string, confirmed bool) {
		rest, ok := strings.CutPrefix(payload, "stop ")
		if confirmed || !ok {
			return
		}
		name, run, _ := strings.Cut(rest, " ")
		if key, err := regen.ParseKey(name); err == nil && run != "" {
			fn(key, run)
		}
	})
}

// feeds is the one subscription connection and who listens to what.
type feeds struct {
	opt    Options
	client redis.UniversalClient
	wake   chan struct{} // size 1: steps wait

	// mu guards what follows.
	mu     sync.Mutex
	topics map[string][]*follower
	// steps are subscriptions to begin and end, in the order they were asked for.
	steps []step
}

type follower struct {
	fn func(payload string, confirmed bool)
}

type step struct {
	topic string
	leave bool
}

func newFeeds(o Options, c redis.UniversalClient) *feeds {
	return &feeds{opt: o, client: c, wake: make(chan struct{}, 1), topics: map[string][]*follower{}}
}

func (f *feeds) follow(topic string, fn func(string, bool)) (stop func()) {
	me := &follower{fn: fn}
	f.mu.Lock()
	// Lists are replaced, never changed: the pump calls them without the lock.
	f.topics[topic] = append(slices.Clip(f.topics[topic]), me)
	f.step(step{topic: topic}) // for a second follower too: its confirmation comes with the repeat
	f.mu.Unlock()
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		left := slices.DeleteFunc(slices.Clone(f.topics[topic]), func(x *follower) bool { return x == me })
		if len(left) > 0 {
			f.topics[topic] = left
			return
		}
		delete(f.topics, topic)
		f.step(step{topic: topic, leave: true})
	})
}

// step is called with the lock held.
func (f *feeds) step(s step) {
	f.steps = append(f.steps, s)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *feeds) takeSteps() []step {
	f.mu.Lock()
	defer f.mu.Unlock()
	steps := f.steps
	f.steps = nil
	return steps
}

// allTopics gives what a new connection begins with; steps that wait are in it.
func (f *feeds) allTopics() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = nil
	return slices.Collect(maps.Keys(f.topics))
}

func (f *feeds) tell(topic, payload string, confirmed bool) {
	f.mu.Lock()
	list := f.topics[topic]
	f.mu.Unlock()
	for _, x := range list {
		x.fn(payload, confirmed)
	}
}
