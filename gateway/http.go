package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

const (
	defaultSessions = 50
	maxSessions     = 1000
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/ws", methods(http.MethodGet, s.accept))
	mux.Handle("/v1/sessions", methods(http.MethodGet, s.private(s.listSessions)))
	mux.Handle("POST /v1/sessions", s.private(s.createSession))
	mux.Handle("/v1/sessions/{id}", methods(http.MethodGet, s.private(s.readSession)))
	mux.Handle("/v1/sessions/{id}/commands", methods(http.MethodPost, s.private(s.postCommand)))
	mux.Handle("/v1/sessions/{id}/variants/{turn}", methods(http.MethodGet, s.private(s.readVariants)))
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, wire.NewError(wire.NotFound, "no such path"))
	})
	if s.cfg.Pages != nil {
		mux.Handle("/", s.cfg.Pages)
	}
	guarded := s.guard(mux)
	outer := http.NewServeMux()
	// Probes come with any Host, and learn nothing.
	outer.Handle("/livez", methods(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, []byte(`{"ok":true}`))
	}))
	outer.Handle("/readyz", methods(http.MethodGet, s.ready))
	outer.Handle("/", guarded)
	return outer
}

// methods lets one method through; HEAD goes where GET goes.
func methods(method string, h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
			w.Header().Set("Allow", method)
			writeError(w, wire.NewError(wire.MethodNotAllowed, "use "+method))
			return
		}
		h(w, r)
	})
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	why := s.full()
	if why == "" && s.cfg.Ready != nil {
		if err := s.cfg.Ready(); err != nil {
			s.cfg.Logger.Info("not ready", "err", err)
			why = "not ready"
		}
	}
	if why != "" {
		writeError(w, wire.NewError(wire.Unavailable, why))
		return
	}
	writeJSON(w, http.StatusOK, []byte(`{"ready":true}`))
}

// private wraps a call that needs an identity. Its work has a limit of its own and outlives a client that hangs up.
func (s *Server) private(h func(ctx context.Context, w http.ResponseWriter, r *http.Request, who Identity) *wire.Error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(v)
				}
				s.logPanic("http", v)
				writeError(w, wire.NewError(wire.Internal, internalText))
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.cfg.CommandTimeout)
		defer cancel()
		who, problem := s.identify(ctx, bearer(r))
		if problem == nil {
			problem = h(ctx, w, r, who)
		}
		if problem != nil {
			writeError(w, problem)
		}
	}
}

func (s *Server) listSessions(ctx context.Context, w http.ResponseWriter, r *http.Request, who Identity) *wire.Error {
	limit := defaultSessions
	if q := r.URL.Query().Get("limit"); q != "" {
		n, err := strconv.Atoi(q)
		if err != nil || n < 1 {
			return wire.NewError(wire.BadRequest, "limit must be a positive number")
		}
		limit = min(n, maxSessions)
	}
	found, err := s.cfg.Reader.Sessions(ctx, who.Tenant, limit)
	if err != nil {
		return s.problem("", err)
	}
	list := make([]wire.SessionInfo, len(found))
	for i, f := range found {
		list[i] = wire.SessionInfo{Session: f.Session, Title: f.Title, UpdatedAt: f.UpdatedAt, Run: f.Run}
	}
	writeJSON(w, http.StatusOK, wire.AppendSessions(nil, list))
	return nil
}

func (s *Server) readSession(ctx context.Context, w http.ResponseWriter, r *http.Request, who Identity) *wire.Error {
	key := regen.Key{Tenant: who.Tenant, Session: r.PathValue("id")}
	if err := key.Validate(); err != nil {
		return s.problem("", err)
	}
	var q stream.Query
	if b := r.URL.Query().Get("before"); b != "" {
		n, err := strconv.Atoi(b)
		if err != nil || n < 1 {
			return wire.NewError(wire.BadRequest, "before must be one that a document named")
		}
		q.Before = n
	}
	snap, err := s.cfg.Reader.Read(ctx, key, q)
	if err == nil && !snap.Head.Exists() {
		err = stream.ErrNotFound
	}
	if err != nil {
		return s.problem("", err)
	}
	var v wire.View
	if q.Before > 0 {
		// Older rows: no revision, since the last exchange is not among them, and nothing that an event could follow.
		v = wire.View{Session: key.Session, Document: documentOf(snap.Document, snap.Total, "")}
	} else {
		seen := stream.NewView(key.Session, snap)
		v = viewOf(&seen)
	}
	writeJSON(w, http.StatusOK, v.Append(nil))
	return nil
}

func (s *Server) postCommand(ctx context.Context, w http.ResponseWriter, r *http.Request, who Identity) *wire.Error {
	began := time.Now()
	session := r.PathValue("id")
	if !wire.ValidSession(session) {
		return wire.NewError(wire.BadRequest, "session is not a valid id")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxFrame)))
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return wire.NewError(wire.TooLarge, "the body is too large")
	case err != nil:
		return wire.NewError(wire.BadRequest, "the body cannot be read")
	}
	c, err := wire.DecodeIn(session, body)
	var problem *wire.Error
	var answer []byte
	if err != nil {
		problem = s.problem(c.Op, err)
	} else {
		answer, problem = s.command(ctx, &c, who)
	}
	if problem != nil {
		s.answered(c.Op, problem, began)
		writeJSON(w, problem.Status, wire.AppendError(nil, c.ID, problem))
		return nil
	}
	s.answered(c.Op, nil, began)
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// command does a command that came by HTTP.
func (s *Server) command(ctx context.Context, c *wire.Command, who Identity) ([]byte, *wire.Error) {
	key := regen.Key{Tenant: who.Tenant, Session: c.Session}
	switch {
	case c.Op.Takes():
		receipt, problem := s.do(ctx, key, c)
		if problem != nil {
			return nil, problem
		}
		return wire.AppendReceipt(nil, c.ID, &receipt), nil
	case c.Op == wire.OpCancel:
		done, problem := s.stop(ctx, key, c, who.Who)
		if problem != nil {
			return nil, problem
		}
		return wire.AppendCancelled(nil, c.ID, &done), nil
	}
	return nil, wire.NewError(wire.BadRequest, "this op needs a socket")
}

// writeError answers a request without a command: {"error":{…}} in the form that a socket's answer has.
func writeError(w http.ResponseWriter, e *wire.Error) {
	writeJSON(w, e.Status, wire.AppendError(nil, nil, e))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone needs no answer
}
