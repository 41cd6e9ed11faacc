package redislog

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"holdfast/regen"
)

// Store keeps sessions in Redis. Make one with New and let Run run; it is safe for use by any number of goroutines.
type Store struct {
	opt    Options
	calls  redis.UniversalClient
	writer *writer
	checks checks
	feeds  *feeds
	incs   *incarnations

	// mu guards what follows.
	mu     sync.Mutex
	closed bool
	cancel context.CancelFunc // ends Run; nil while it does not run
	ran    chan struct{}      // closed when Run has returned
}

// New makes a store. It connects to nothing and starts nothing. The caller closes it.
func New(connect Connector, o Options) *Store {
	o = o.withDefaults()
	s := &Store{opt: o, incs: &incarnations{of: map[regen.Key]string{}}}
	s.calls = connect(o.tune)
	s.writer = newWriter(o, s.incs)
	s.writer.client = connect(func(c *redis.Options) { o.tuneWriter(c, s.writer.connected) })
	_, s.writer.unsure = s.writer.client.(*redis.ClusterClient) // it follows redirections, and repeats where a node was lost
	s.feeds = newFeeds(o, s.calls)
	return s
}

// errRun says that Run was called where it cannot run.
var errRun = errors.New("redislog: store runs already or is closed")

// Run serves appends and subscriptions until ctx ends or Close is called; then it writes what waits and returns nil. Other methods
// work without it. It runs once.
func (s *Store) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if s.closed || s.ran != nil {
		s.mu.Unlock()
		return errRun
	}
	s.cancel, s.ran = cancel, make(chan struct{})
	s.mu.Unlock()
	defer close(s.ran)

	var wg sync.WaitGroup
	wg.Go(func() { s.feeds.run(ctx) })
	wg.Go(func() { s.writer.run(ctx) })
	wg.Wait()
	return nil
}

// Close ends Run, waits for it, and closes the connections. Followers are told nothing more. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	cancel, ran := s.cancel, s.ran
	s.mu.Unlock()
	if ran != nil {
		cancel()
		<-ran
	}
	s.writer.shut()
	return errors.Join(s.writer.client.Close(), s.calls.Close())
}

// incarnations remembers which incarnation a session's log is in, for the copies of appended entries. It is a hint: without it a
// copy goes out with no incarnation.
type incarnations struct {
	// mu guards of.
	mu sync.Mutex
	of map[regen.Key]string
}

// incarnationsMost bounds the map; it is emptied when full, and fills again with the next writes and checks.
const incarnationsMost = 1 << 16

func (m *incarnations) learn(k regen.Key, inc string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[k] == inc {
		return
	}
	if len(m.of) >= incarnationsMost {
		clear(m.of)
	}
	m.of[k] = inc
}

func (m *incarnations) get(k regen.Key) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[k]
}
