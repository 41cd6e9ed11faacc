package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Clocks bound the waits of one call. A zero field is its default; a field below zero switches that clock off.
type Clocks struct {
	// Connect bounds name look-up and connection (5 s), TLS the handshake (10 s). Both count only with the package's own HTTP client.
	Connect, TLS time.Duration
	// FirstByte bounds the time from the request to the response's headers (120 s).
	FirstByte time.Duration
	// FirstToken bounds the time from the request to the first text, reasoning or tool piece (120 s). A server that loads its
	// model first wants more.
	FirstToken time.Duration
	// Idle bounds the time between two reads of bytes; comments and pings count as life (60 s).
	Idle time.Duration
	// Progress bounds the time between two pieces of the answer, whatever else comes (300 s).
	Progress time.Duration
	// Tail bounds what may follow the finish reason: usage and the end mark (5 s). When it runs out the answer is complete.
	Tail time.Duration
	// Total bounds a call with all its retries (15 min).
	Total time.Duration
}

// Retry says how often and how long to try again before the first piece. A zero field is its default.
type Retry struct {
	// Max is the number of further attempts (2); below zero: none.
	Max int
	// Base is the first delay's upper bound; it doubles with each attempt up to Cap (500 ms, 8 s). The delay is drawn between
	// zero and the bound.
	Base, Cap time.Duration
	// MaxWait is the longest wait that a provider may ask for (20 s). Beyond it the run fails and says how long it would have been.
	MaxWait time.Duration
}

// Observer is told what happens inside a call. Any field may be nil. Its functions are called from Generate and must not block.
type Observer struct {
	// Attempt is called before each request, counted from 1.
	Attempt func(attempt int)
	// Waiting is called before a wait between two attempts; code is that of the failure.
	Waiting func(wait time.Duration, code string)
	// Quirk is called when a provider does something odd that could be mended, with one word for it.
	Quirk func(name string)
}

// Config says which provider to call and how.
type Config struct {
	// URL is the provider's address: its base with or without /v1, or the whole address up to /chat/completions. Query
	// parameters in it are sent.
	URL string
	// Key is sent as a bearer token; the zero Secret sends none, as local servers want it.
	Key Secret
	// KeyHeader, if not "", is the name of a header that takes the key as it is (such as "api-key").
	KeyHeader string
	// Model is asked for when the prompt names none.
	Model string
	// SystemRole is the role of the system text; "" means "system".
	SystemRole string
	// Header is added to each request; Extra is added to each request's JSON body. Extra may not hold n, stream, messages or model.
	Header http.Header
	Extra  map[string]json.RawMessage
	// NoStreamOptions leaves out stream_options, for servers that refuse it. It is found out by itself where the server says so.
	NoStreamOptions bool
	// ThinkTags takes <think>…</think> at the start of the text for reasoning.
	ThinkTags bool
	// Client makes the requests; nil means one of the package's own. Its Timeout is ignored and redirects are not followed.
	Client *http.Client
	Clocks Clocks
	Retry  Retry
	// MaxEvent bounds one event of a stream, and all tool calls of an answer together, in bytes (4 MiB).
	MaxEvent int
	// MaxBody bounds a complete JSON answer in bytes (16 MiB).
	MaxBody int
	// Log gets what people must not see; nil means nowhere.
	Log *slog.Logger
	// Observer is told what happens.
	Observer Observer
	// Jitter draws from [0, 1); nil means at random.
	Jitter func() float64
}

// ErrConfig is wrapped by every error of New.
var ErrConfig = errors.New("openai: configuration")

// reserved are the request fields that Extra may not hold.
var reserved = []string{"messages", "model", "n", "stream"}

// filled gives the configuration with its defaults, and the address to call. All errors wrap ErrConfig.
func (c Config) filled() (Config, *url.URL, error) {
	var errs []error
	address, err := endpoint(c.URL)
	if err != nil {
		errs = append(errs, err)
	}
	for _, name := range reserved {
		if _, ok := c.Extra[name]; ok {
			errs = append(errs, fmt.Errorf("extra body field %q is the gateway's own", name))
		}
	}
	for name, v := range c.Extra {
		if !json.Valid(v) {
			errs = append(errs, fmt.Errorf("extra body field %q is not JSON", name))
		}
	}
	if len(errs) > 0 {
		return Config{}, nil, fmt.Errorf("%w: %w", ErrConfig, errors.Join(errs...))
	}
	k := &c.Clocks
	fill(&k.Connect, 5*time.Second)
	fill(&k.TLS, 10*time.Second)
	fill(&k.FirstByte, 120*time.Second)
	fill(&k.FirstToken, 120*time.Second)
	fill(&k.Idle, 60*time.Second)
	fill(&k.Progress, 300*time.Second)
	fill(&k.Tail, 5*time.Second)
	fill(&k.Total, 15*time.Minute)
	fill(&c.Retry.Max, 2)
	fill(&c.Retry.Base, 500*time.Millisecond)
	fill(&c.Retry.Cap, 8*time.Second)
	fill(&c.Retry.MaxWait, 20*time.Second)
	fill(&c.MaxEvent, 4<<20)
	fill(&c.MaxBody, 16<<20)
	if c.SystemRole == "" {
		c.SystemRole = "system"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	return c, address, nil
}

// fill sets what is zero.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// client gives the HTTP client for the configuration. own is the transport to close; nil when it is the caller's.
func (c Config) client() (client *http.Client, own *http.Transport) {
	if c.Client != nil {
		copied := *c.Client
		client = &copied
	} else {
		own = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: max(c.Clocks.Connect, 0), KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:   max(c.Clocks.TLS, 0),
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          256,
			MaxIdleConnsPerHost:   64, // the default of 2 throws connections away under load
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,
			DisableCompression:    true, // a compressed stream arrives in lumps
			HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		}
		client = &http.Client{Transport: own}
	}
	client.Timeout = 0 // it would cut long answers
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, own
}
