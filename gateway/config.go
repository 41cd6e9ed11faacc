package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// Engine takes commands. Its errors become answers: those with methods Code() string, Status() int and Retryable() bool say it
// themselves, those of regen, stream and ownership are known, every other one is "internal".
type Engine interface {
	Do(ctx context.Context, key regen.Key, cmd regen.Command) (stream.Receipt, error)
	Cancel(ctx context.Context, key regen.Key, s stream.Stop) (stream.StopResult, error)
}

// Subscription is one reader of one session; *stream.Subscription is one. Pull is called by one goroutine at a time; Close may be
// called twice and beside Pull.
type Subscription interface {
	Pull(maxBytes int) (events []stream.Event, more bool)
	Close()
}

// Hub serves readers. notify may be called from any goroutine, also before Attach returned.
type Hub interface {
	Attach(ctx context.Context, key regen.Key, cursor string, notify func()) (Subscription, stream.View, error)
}

// Reader reads sessions for the HTTP calls.
type Reader interface {
	Read(ctx context.Context, key regen.Key, q stream.Query) (stream.Snapshot, error)
	Sessions(ctx context.Context, tenant string, limit int) ([]stream.SessionInfo, error)
}

// FromHub makes a Hub of a *stream.Hub.
func FromHub(h *stream.Hub) Hub { return streamHub{h} }

type streamHub struct{ hub *stream.Hub }

func (h streamHub) Attach(ctx context.Context, key regen.Key, cursor string, notify func()) (Subscription, stream.View, error) {
	sub, view, err := h.hub.Attach(ctx, key, cursor, notify)
	if err != nil {
		return nil, view, err // a nil *stream.Subscription must not become a Subscription
	}
	return sub, view, nil
}

// Identity is who a token belongs to.
type Identity struct {
	// Tenant is what the client sees; nothing of another one.
	Tenant string
	// Who names the person in stop records and logs; may be "".
	Who string
	// Expires is when the token ends; zero means never.
	Expires time.Time
}

// ErrBadToken is what an Authenticate function returns for a token that it does not accept.
var ErrBadToken = errors.New("token not accepted")

// StaticToken makes an Authenticate function that accepts one token, for development.
func StaticToken(token, tenant string) func(context.Context, string) (Identity, error) {
	want := sha256.Sum256([]byte(token)) // of equal length, so that the comparison tells nothing
	return func(_ context.Context, got string) (Identity, error) {
		sum := sha256.Sum256([]byte(got))
		if token == "" || subtle.ConstantTimeCompare(sum[:], want[:]) != 1 {
			return Identity{}, ErrBadToken
		}
		return Identity{Tenant: tenant}, nil
	}
}

// Events are told of what happened, for figures; any of them may be nil, and none may block.
type Events struct {
	Opened func()
	// Closed gets the close code that was sent; 0 when the peer or the network ended the socket.
	Closed func(code int)
	// Answered gets the command's op ("" when it could not be read) and the code of the error, "" for none.
	Answered func(op, code string, took time.Duration)
}

// Config is what a Server is made of. Engine, Hub and Reader must be there; other zero fields mean the defaults.
type Config struct {
	Engine Engine
	Hub    Hub
	Reader Reader
	// Logger gets what clients must not see; nil means slog.Default().
	Logger *slog.Logger
	Events Events

	// Tenant is everybody's without Authenticate; "" means "main".
	Tenant string
	// Authenticate tells whose token it is. nil means that nobody needs a token. Errors are "unauthenticated", except those that
	// say otherwise like an Engine's.
	Authenticate func(ctx context.Context, token string) (Identity, error)
	// Insecure lets in any Host name without Authenticate.
	Insecure bool
	// Origins are further origins that may connect, as "https://chat.example.com"; the same host always may.
	Origins []string
	// Node and Version are told to clients.
	Node, Version string
	// Pages serves everything that is not ours; nil means 404.
	Pages http.Handler
	// Ready says why this node should get no new clients; nil, or an answer of nil, means that it should.
	Ready func() error

	// MaxFrame is the greatest message or body in bytes; 0 means 4 MiB.
	MaxFrame int
	// MaxSockets is the number of sockets; 0 means 20 000.
	MaxSockets int
	// MaxSessions is the number of sessions attached per socket; 0 means 256.
	MaxSessions int
	// MaxInflight is the number of commands per socket that wait for an answer; 0 means 64.
	MaxInflight int
	// MaxControl is the number of bytes of control frames that may wait for one socket; 0 means 256 KiB.
	MaxControl int
	// SendBuffer is the kernel's send buffer per socket in bytes; 0 means 128 KiB, negative leaves the system's.
	SendBuffer int

	// PingInterval is the time without traffic after which a ping goes out; 0 means 20 s.
	PingInterval time.Duration
	// PongTimeout is how long an answer to a ping may take; 0 means 10 s.
	PongTimeout time.Duration
	// WriteTimeout is how long a write may stand still, and a peer keep a close frame unanswered (never longer than 5 s); 0 means 10 s.
	WriteTimeout time.Duration
	// HelloTimeout is how long a client may take to show a token, and twice as long as Authenticate may; 0 means 10 s.
	HelloTimeout time.Duration
	// CommandTimeout bounds the work on one command; 0 means 30 s.
	CommandTimeout time.Duration
	// DrainWindow is the time over which Drain spreads its goaways; 0 means 5 s.
	DrainWindow time.Duration
}

func (c Config) withDefaults() Config {
	if c.Engine == nil || c.Hub == nil || c.Reader == nil {
		panic("gateway: Config needs Engine, Hub and Reader") // misuse at construction
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Tenant == "" {
		c.Tenant = "main"
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	number := func(n *int, def int) {
		if *n <= 0 {
			*n = def
		}
	}
	number(&c.MaxFrame, 4<<20)
	number(&c.MaxSockets, 20_000)
	number(&c.MaxSessions, 256)
	number(&c.MaxInflight, 64)
	number(&c.MaxControl, 256<<10)
	if c.SendBuffer == 0 {
		c.SendBuffer = 128 << 10
	}
	span := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	span(&c.PingInterval, 20*time.Second)
	span(&c.PongTimeout, 10*time.Second)
	span(&c.WriteTimeout, 10*time.Second)
	span(&c.HelloTimeout, 10*time.Second)
	span(&c.CommandTimeout, 30*time.Second)
	span(&c.DrainWindow, 5*time.Second)
	return c
}

func (c *Config) hello() wire.Hello {
	return wire.Hello{
		Protocol: wire.Protocol,
		Server:   "holdfast/" + c.Version,
		Node:     c.Node,
		PingMS:   int(c.PingInterval.Milliseconds()),
		Limits: wire.Limits{
			MaxFrame: c.MaxFrame, MaxSessions: c.MaxSessions, MaxInflight: c.MaxInflight, MaxKey: wire.MaxKey, MaxID: wire.MaxID,
		},
		Ops: wire.Ops(),
	}
}
