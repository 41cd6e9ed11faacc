package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// maxBody bounds a request's body.
const maxBody = 64 << 20

// Server is the fake provider. It is an http.Handler, safe for any number of requests at once.
type Server struct {
	mu       sync.Mutex // guards what follows
	script   Script
	queue    []Script
	requests []*Request
	count    int
	changed  chan struct{} // closed and replaced when a request is added
}

// New gives a provider that follows the script.
func New(s Script) *Server { return &Server{script: s, changed: make(chan struct{})} }

// Handler gives a provider for those who do not look at its requests.
func Handler(s Script) http.Handler { return New(s) }

// Set changes the script for the requests to come.
func (s *Server) Set(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Queue gives scripts to the next requests, one each; afterwards the server's own script counts again.
func (s *Server) Queue(scripts ...Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, scripts...)
}

// next is the script for a request that has come.
func (s *Server) next() Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return s.script
	}
	script := s.queue[0]
	s.queue = s.queue[1:]
	return script
}

// ServeHTTP answers POST …/chat/completions and GET …/models on any prefix.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusBadRequest, `{"error":{"message":"unreadable body","type":"invalid_request_error"}}`, nil)
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/models") && r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"fake","object":"model","owned_by":"fake"}]}`)
	case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		refuse(w, http.StatusNotFound, `{"error":{"message":"Not Found"}}`, nil)
	case r.Method != http.MethodPost:
		refuse(w, http.StatusMethodNotAllowed, `{"error":{"message":"Method Not Allowed"}}`, nil)
	default:
		s.chat(w, r, body)
	}
}

// chat records a request and answers it.
func (s *Server) chat(w http.ResponseWriter, r *http.Request, body []byte) {
	gone, done := make(chan struct{}), make(chan struct{})
	req := &Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body, Gone: gone, Done: done,
	}
	broken := req.read()
	script := s.next().directed(req.Prompt)
	a := &answer{w: w, r: r, script: script, req: req}
	s.mu.Lock()
	a.seed = script.Seed
	if script.Vary {
		a.seed = fmt.Sprintf("%s/%d", script.Seed, s.count+1)
	}
	s.mu.Unlock()
	if req.Text = script.Text; req.Text == "" {
		req.Text = Text(req.Prompt, a.seed)
	}
	s.add(req)
	defer func() {
		if r.Context().Err() != nil {
			close(gone)
		}
		close(done)
	}()
	if broken != nil {
		refuse(w, http.StatusBadRequest, `{"error":{"message":"not JSON","type":"invalid_request_error"}}`, nil)
		return
	}
	a.give()
}

// give answers in the form that the script asks for.
func (a *answer) give() {
	s := a.script
	if !a.wait(s.HeaderDelay) {
		return
	}
	errBody := s.ErrorBody
	if errBody == "" {
		errBody = defaultError
	}
	switch {
	case s.Key != "" && a.r.Header.Get("Authorization") != "Bearer "+s.Key:
		a.refuseKey()
	case s.Status != 0:
		refuse(a.w, s.Status, s.Body, s.Header)
	case s.Form == FormHTML:
		a.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(a.w, "<!doctype html><html><title>Sign in</title><body>Please sign in to portal.example.</body></html>")
	case s.Form == FormJSONError:
		refuse(a.w, http.StatusOK, errBody, s.Header)
	case s.Form == FormWhole || (!a.req.Stream && s.Raw == nil):
		refuse(a.w, http.StatusOK, a.whole(), s.Header)
	default:
		a.stream(errBody)
	}
}

// refuseKey says what providers say, part of the key included.
func (a *answer) refuseKey() {
	key := strings.TrimPrefix(a.r.Header.Get("Authorization"), "Bearer ")
	msg, _ := json.Marshal("Incorrect API key provided: " + key) // strings always encode
	refuse(a.w, http.StatusUnauthorized, `{"error":{"message":`+string(msg)+`,"type":"invalid_request_error","code":"invalid_api_key"}}`, nil)
}

// refuse sends one body with a status. A body that does not look like JSON goes as HTML if it begins like that, else as text.
func refuse(w http.ResponseWriter, status int, body string, header http.Header) {
	for k, v := range header {
		w.Header()[http.CanonicalHeaderKey(k)] = v
	}
	if w.Header().Get("Content-Type") == "" {
		switch {
		case strings.HasPrefix(body, "{"):
			w.Header().Set("Content-Type", "application/json")
		case strings.HasPrefix(body, "<"):
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		default:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
