package turn

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// Log is the store of sessions. Each method is one step at the store. Errors of writes: *stream.UnknownError when it may have been
// applied, stream.ErrUnavailable or stream.ErrFull when it was not.
type Log interface {
	stream.LogReader
	Write(ctx context.Context, key regen.Key, c *stream.Change) (stream.WriteResult, error)
	// Append puts one entry behind the log's top. done is called once, from another goroutine, and must not block.
	Append(key regen.Key, e stream.Entry, done func(stream.AppendResult))
	// Check reads the log's end over the connection that appends use.
	Check(ctx context.Context, key regen.Key) (stream.Tail, error)
	Cancel(ctx context.Context, key regen.Key, s stream.Stop) (stream.StopResult, error)
	// Touch notes the session's activity for the list; best effort.
	Touch(ctx context.Context, key regen.Key, at float64) error
}

// Readers are this node's readers of logs.
type Readers interface {
	Offer(key regen.Key, incarnation string, entries ...stream.Entry)
	Wake(key regen.Key)
}

// Keeper grants and renews leases.
type Keeper interface {
	Acquire(ctx context.Context, key string, o ownership.AcquireOptions) (*ownership.Held, error)
}

// Observer says whether a busy lease may be taken: ready when its owner was seen to be gone, else how long to wait for that.
type Observer interface {
	Observe(l ownership.Lease, now int64) (ready bool, wait time.Duration)
}

// Events are told of what happened, for logs and figures; any of them may be nil, and none may block.
type Events struct {
	Accepted  func(key regen.Key, run string, op regen.Op)
	Settled   func(key regen.Key, run, outcome string, took time.Duration)
	Recovered func(key regen.Key, run string)
	// StoreLost is told that the store lost entries which people may have seen.
	StoreLost func(key regen.Key, run string)
}

// The values of Config.OnFailure.
const (
	Show    = "show"    // a regenerate that fails leaves the failure on display
	Restore = "restore" // one that ends without visible text brings the answer before it back
)

// Config tunes an engine. Zero fields mean the defaults.
type Config struct {
	// Node is this node's id.
	Node string
	// Rows is how many rows of a document are loaded at first; 0 means 256.
	Rows int
	// System is the system text of sessions that have none of their own; "" is none.
	System string
	// ContextBytes bounds what the model is given; 0 means 256 KiB.
	ContextBytes int
	// IdleRelease is how long an idle session's lease is kept; 0 means 60 s.
	IdleRelease time.Duration
	// Buffer bounds, in bytes, the tokens that wait for the log; 0 means 256 KiB.
	Buffer int
	// OnFailure is Show or Restore; "" means Show.
	OnFailure string
	// Logger gets what people must not see; nil means slog.Default().
	Logger *slog.Logger
	Events Events
	// NewID makes ids of 32 hex digits; nil means random UUIDs.
	NewID func() string
	// Now is the time stamped on rows; nil means time.Now. No decision depends on it.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Rows <= 0 {
		c.Rows = 256
	}
	if c.ContextBytes <= 0 {
		c.ContextBytes = 256 << 10
	}
	if c.IdleRelease <= 0 {
		c.IdleRelease = time.Minute
	}
	if c.Buffer <= 0 {
		c.Buffer = 256 << 10
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.NewID == nil {
		c.NewID = func() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// ErrDraining says that this node takes no more commands: try another one, with the same key.
var ErrDraining error = drainingError{}

type drainingError struct{}

func (drainingError) Error() string   { return "node is draining" }
func (drainingError) Code() string    { return "unavailable" }
func (drainingError) Status() int     { return 503 }
func (drainingError) Retryable() bool { return true }

// Engine runs the turns of one node.
type Engine struct {
	log      Log
	keeper   Keeper
	observer Observer
	readers  Readers
	source   Source
	cfg      Config

	ctx    context.Context // ends when the engine is closed
	stop   context.CancelFunc
	wg     sync.WaitGroup
	drainC chan struct{} // closed when draining begins

	mu       sync.Mutex // guards what follows
	actors   map[regen.Key]*actor
	draining bool
}

// New makes an engine. Close ends it; the keeper and the log must outlive it. observer may be nil: then busy sessions are taken
// only by Recover.
func New(log Log, keeper Keeper, observer Observer, readers Readers, source Source, cfg Config) *Engine {
	ctx, stop := context.WithCancel(context.Background())
	return &Engine{
		log: log, keeper: keeper, observer: observer, readers: readers, source: source, cfg: cfg.withDefaults(),
		ctx: ctx, stop: stop, drainC: make(chan struct{}), actors: map[regen.Key]*actor{},
	}
}

// Owned is the number of sessions that this node owns or is about to.
func (e *Engine) Owned() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.actors)
}

// Drain stops taking commands, releases what is idle, lets runs end until ctx ends, then settles the rest as interrupted by a
// restart. It returns when no actor is left, or 5 s after ctx ended.
func (e *Engine) Drain(ctx context.Context) error {
	e.mu.Lock()
	if !e.draining {
		e.draining = true
		close(e.drainC)
	}
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	e.mu.Lock()
	for _, a := range e.actors {
		a.interrupt("restart")
	}
	e.mu.Unlock()
	t := time.NewTimer(5 * time.Second)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-t.C:
		return context.Cause(ctx)
	}
}

// Close ends all actors as they are, without settling, and waits for them. Drain first.
func (e *Engine) Close() {
	e.mu.Lock()
	if !e.draining {
		e.draining = true
		close(e.drainC)
	}
	e.mu.Unlock()
	e.stop()
	e.wg.Wait()
}

// actor gives the actor of key, or nil.
func (e *Engine) actor(key regen.Key) *actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.actors[key]
}

// start gives the actor of key, starting one that takes the lease if there is none.
func (e *Engine) start(key regen.Key, observed ownership.Epoch, brief bool) (*actor, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return nil, ErrDraining
	}
	if a := e.actors[key]; a != nil {
		return a, nil
	}
	a := newActor(e, key, observed, brief)
	e.actors[key] = a
	e.wg.Go(a.live)
	return a, nil
}

// forget takes an actor off the list; its requests are then answered by errRetry.
func (e *Engine) forget(a *actor) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.actors[a.key] == a {
		delete(e.actors, a.key)
	}
}
