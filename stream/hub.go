package stream

import (
	"context"
	"sync"
	"time"

	"holdfast/regen"
)

// LogReader is what the hub reads of the store.
type LogReader interface {
	// Read gives a session as one script saw it.
	Read(ctx context.Context, key regen.Key, q Query) (Snapshot, error)
	// Page gives the entries after a position.
	Page(ctx context.Context, key regen.Key, after EntryID, limit int) (Page, error)
}

// Wakes tells of changes. Follow calls fn for every message on the session's channel, and with Confirmed each time the
// subscription begins; fn must not block.
type Wakes interface {
	Follow(key regen.Key, fn func(Wake)) (stop func())
}

// HubConfig tunes a hub. Its zero value means the defaults.
type HubConfig struct {
	// Poll is how often a followed log is read without a wake; 0 means 5 s. Wakes may be lost.
	Poll time.Duration
	// Confirm is how long a new feed waits for its subscription before it goes on with polling alone; 0 means 2 s.
	Confirm time.Duration
	// PageSize is how many entries one read takes; 0 means 1 000.
	PageSize int
}

// Hub serves the readers of one node: one feed per followed session, however many readers it has.
type Hub struct {
	log   LogReader
	wakes Wakes
	cfg   HubConfig
	ctx   context.Context
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.Mutex // guards feeds and closed
	feeds  map[regen.Key]*feed
	closed bool
}

// NewHub makes a hub. Close ends it.
func NewHub(log LogReader, wakes Wakes, cfg HubConfig) *Hub {
	if cfg.Poll <= 0 {
		cfg.Poll = 5 * time.Second
	}
	if cfg.Confirm <= 0 {
		cfg.Confirm = 2 * time.Second
	}
	if cfg.PageSize <= 0 {
		cfg.PageSize = 1000
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Hub{log: log, wakes: wakes, cfg: cfg, ctx: ctx, stop: stop, feeds: map[regen.Key]*feed{}}
}

// Close ends every feed and waits for them. Subscriptions get nothing more.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.wg.Wait()
}

// Offer hands over entries that this node has just written: they are in the log. It is the owner's short way to local readers.
func (h *Hub) Offer(key regen.Key, incarnation string, entries ...Entry) {
	if f := h.feed(key); f != nil {
		f.offer(incarnation, entries)
	}
}

// Wake makes the feed of key, if there is one, read the log.
func (h *Hub) Wake(key regen.Key) {
	if f := h.feed(key); f != nil {
		f.wakeUp()
	}
}

// Followed is the number of feeds.
func (h *Hub) Followed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.feeds)
}

func (h *Hub) feed(key regen.Key) *feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.feeds[key]
}

// acquire gives the feed of key with one more reference, starting it if need be.
func (h *Hub) acquire(key regen.Key) (*feed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrUnavailable
	}
	f := h.feeds[key]
	if f == nil {
		f = newFeed(h, key)
		h.feeds[key] = f
		h.wg.Go(f.run)
	}
	f.refs++
	return f, nil
}

// release drops one reference; the last one ends the feed.
func (h *Hub) release(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.refs--; f.refs == 0 {
		delete(h.feeds, f.key)
		f.end()
	}
}

// Attach subscribes to a session. With a cursor that the log still covers the view has no document and the events after the
// cursor follow; otherwise the view has the document, and the events after it follow. notify is called, from any goroutine and
// never twice at once per entry, when Pull has something; it must not block and must not call Pull itself.
//
// Errors: ErrNotFound when the session does not exist; ErrUnavailable when the store cannot be read.
func (h *Hub) Attach(ctx context.Context, key regen.Key, cursor string, notify func()) (*Subscription, View, error) {
	f, err := h.acquire(key)
	if err != nil {
		return nil, View{}, err
	}
	s, view, err := f.attach(ctx, cursor, notify)
	if err != nil {
		h.release(f)
		return nil, View{}, err
	}
	return s, view, nil
}
