package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Message is one message of a request.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  json.RawMessage `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

// Request is what a client asked.
type Request struct {
	// N counts requests from 1.
	N            int
	Method       string
	Path, Query  string
	Header       http.Header
	Body         []byte
	Model        string
	Messages     []Message
	Stream       bool
	IncludeUsage bool
	// Prompt is the text of the last user message.
	Prompt string
	// Text is the whole text that the answer has if nothing goes wrong.
	Text string
	// Gone is closed when the handler notices that the client left before the answer's end. Done is closed when the handler has
	// returned.
	Gone, Done <-chan struct{}
}

// read parses the body of a chat-completions request.
func (r *Request) read() error {
	var body struct {
		Model         string    `json:"model"`
		Messages      []Message `json:"messages"`
		Stream        bool      `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return fmt.Errorf("request body: %w", err)
	}
	r.Model, r.Messages, r.Stream, r.IncludeUsage = body.Model, body.Messages, body.Stream, body.StreamOptions.IncludeUsage
	for _, m := range r.Messages {
		if m.Role == "user" {
			r.Prompt = contentText(m.Content)
		}
	}
	return nil
}

// contentText is the text of a message's content: a string, or the text parts of a list.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// add records a request and wakes those who wait for it.
func (s *Server) add(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	r.N = s.count
	s.requests = append(s.requests, r)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Requests gives all requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Wait gives the n-th request, counted from 1, once it is there; ctx's cause if that ends first.
func (s *Server) Wait(ctx context.Context, n int) (Request, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		if len(s.requests) >= n {
			r := *s.requests[n-1]
			s.mu.Unlock()
			return r, nil
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, context.Cause(ctx)
		}
	}
}
