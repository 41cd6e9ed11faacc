package openai

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"sync/atomic"

	"holdfast/stream/turn"
)

// Source calls one provider. It is safe for any number of runs at once.
type Source struct {
	cfg     Config
	address *url.URL
	client  *http.Client
	own     *http.Transport // nil when the client is the caller's
	// plain is set once the provider has refused stream_options.
	plain atomic.Bool
}

// New gives a source for a provider. It makes no connection. Every error wraps ErrConfig and names all that is wrong, without the
// values.
func New(cfg Config) (*Source, error) {
	filled, address, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	s := &Source{cfg: filled, address: address}
	s.client, s.own = filled.client()
	s.plain.Store(filled.NoStreamOptions)
	return s, nil
}

// Close drops the connections that wait for another call. Calls under way go on; further calls are allowed. A client given by the
// caller is left alone.
func (s *Source) Close() {
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
}

// Generate asks the provider and yields its answer; see turn.Source and the package's promises. When ctx ends it yields ctx's cause;
// every other failure is a *turn.SourceError.
func (s *Source) Generate(ctx context.Context, p turn.Prompt) iter.Seq2[turn.Delta, error] {
	return func(yield func(turn.Delta, error) bool) {
		c := &call{s: s, parent: ctx, prompt: p, yield: yield}
		c.run()
	}
}
