package gateway

import (
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"holdfast/gateway/wire"
)

// unauthenticatedFrame is the read limit of a socket that has not shown a token: enough for a hello.
const unauthenticatedFrame = wire.MaxToken + 4<<10

// accept turns a request into a socket and returns; the socket lives on its own goroutines.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) {
	if why := s.full(); why != "" {
		w.Header().Set("Retry-After", "1")
		writeError(w, wire.NewError(wire.Unavailable, "this node takes no connections: "+why))
		return
	}
	if !offersOurs(r) {
		writeError(w, wire.NewError(wire.BadRequest, "the subprotocol is "+wire.Subprotocol))
		return
	}
	var who *Identity
	if token := bearer(r); token != "" || s.cfg.Authenticate == nil {
		id, problem := s.identify(r.Context(), token)
		if problem != nil {
			writeError(w, problem)
			return
		}
		who = &id
	}
	k := newSocket(s, who)
	hj := &hijacker{ResponseWriter: w, wrap: func(raw net.Conn) *conn {
		setSendBuffer(raw, s.cfg.SendBuffer)
		return &conn{Conn: raw, clock: s.now, timeout: s.cfg.WriteTimeout}
	}}
	ws, err := websocket.Accept(hj, r, &websocket.AcceptOptions{
		Subprotocols:       []string{wire.Subprotocol},
		InsecureSkipVerify: true, // guard has looked at the origin
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return // the library has answered
	}
	k.ws, k.conn = ws, hj.conn
	k.conn.in.Store(int64(s.now()))
	k.setReadLimit()
	if !s.add(k) {
		_ = ws.CloseNow()
		return
	}
	if f := s.cfg.Events.Opened; f != nil {
		f()
	}
	s.mu.Lock()
	degraded := s.degraded
	s.mu.Unlock()
	if degraded {
		k.degraded(true)
	}
}

// offersOurs says whether the client offers our subprotocol, or none at all.
func offersOurs(r *http.Request) bool {
	offered := r.Header.Values("Sec-WebSocket-Protocol")
	for _, line := range offered {
		for p := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(p) == wire.Subprotocol {
				return true
			}
		}
	}
	return len(offered) == 0
}
