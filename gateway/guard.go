package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdfast/gateway/wire"
)

// guard refuses requests that a browser was tricked into: without authentication a Host that is no loopback name (a name of somebody
// else that resolves to us), and everywhere an Origin that is neither our host nor on the list.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Authenticate == nil && !s.cfg.Insecure && !loopbackHost(r.Host) {
			writeError(w, wire.NewError(wire.Forbidden, "host is not a loopback name"))
			return
		}
		if strings.HasPrefix(r.URL.Path, "/v1/") && !s.originAllowed(r) {
			writeError(w, wire.NewError(wire.Forbidden, "origin is not allowed"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackHost says whether a Host header names this machine itself.
func loopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// originAllowed lets a request without Origin pass: no browser sent it from another page's script.
func (s *Server) originAllowed(r *http.Request) bool {
	given := r.Header.Values("Origin")
	if len(given) == 0 {
		return true
	}
	if len(given) > 1 {
		return false
	}
	if slices.ContainsFunc(s.cfg.Origins, func(o string) bool { return strings.EqualFold(o, given[0]) }) {
		return true
	}
	u, err := url.Parse(given[0])
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	var port string
	switch strings.ToLower(u.Scheme) {
	case "http":
		port = "80"
		if r.TLS != nil {
			return false
		}
	case "https":
		port = "443"
		// A proxy may speak TLS for us, but not to a loopback name that nobody authenticates for.
		if r.TLS == nil && s.cfg.Authenticate == nil && !s.cfg.Insecure {
			return false
		}
	default:
		return false
	}
	return strings.EqualFold(withPort(u.Host, port), withPort(r.Host, port))
}

// withPort adds the scheme's port where none is named.
func withPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), port)
}

// bearer gives the token of an Authorization header, "" when there is none.
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// identify finds out who a token belongs to. Without Authenticate everybody is the one tenant.
func (s *Server) identify(ctx context.Context, token string) (id Identity, problem *wire.Error) {
	if s.cfg.Authenticate == nil {
		return Identity{Tenant: s.cfg.Tenant}, nil
	}
	if token == "" {
		return Identity{}, wire.NewError(wire.Unauthenticated, "a token is needed")
	}
	defer func() {
		if v := recover(); v != nil {
			s.logPanic("authenticate", v)
			problem = wire.NewError(wire.Internal, internalText)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.HelloTimeout/2)
	defer cancel()
	id, err := s.cfg.Authenticate(ctx, token)
	var said sayer
	switch {
	case err == nil:
		return id, nil
	case errors.As(err, &said):
		return id, spoken(said)
	case errors.Is(err, context.DeadlineExceeded):
		return id, wire.NewError(wire.Timeout, "the token could not be checked in time")
	}
	return id, wire.NewError(wire.Unauthenticated, "the token is not accepted")
}
