package gateway

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coder/websocket"

	"holdfast/gateway/wire"
)

// socket is one client's connection.
type socket struct {
	srv  *Server
	ws   *websocket.Conn
	conn *conn
	born time.Duration

	mu   sync.Mutex // guards what follows
	room sync.Cond  // on mu: control was taken, or the socket died
	who  *Identity  // nil until a token was shown
	// control are whole frames joined by newlines: answers and what is not of a session's log.
	control  []byte
	attached map[string]*attachment
	dirty    []*attachment // may have something to pull
	spare    []*attachment // the writer's last list, for reuse
	lanes    map[laneKey]*lane
	inflight int           // commands without an answer
	told     time.Duration // when the last data message was made
	writing  bool          // the writer runs
	probing  bool          // a protocol ping is under way
	greeting bool          // a token is being checked
	leaving  bool          // close when the last run that is followed has settled
	dead     bool          // the reader has ended
	closing  *closing
	strikes  int // unreadable messages; the reader's alone
}

type closing struct {
	code   wire.CloseCode
	reason string
}

func newSocket(s *Server, who *Identity) *socket {
	k := &socket{srv: s, who: who, born: s.now()}
	k.room.L = &k.mu
	// The first ping comes somewhere in the second half of the interval, so that mass reconnects do not tick together.
	k.told = k.born - rand.N(s.cfg.PingInterval/2+1)
	return k
}

// push queues one frame or several joined by newlines. frame is copied.
func (k *socket) push(frame []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pushLocked(frame)
}

func (k *socket) pushLocked(frame []byte) {
	if k.dead || k.closing != nil {
		return
	}
	// One frame always fits: a document may be larger than the limit, a queue of them may not.
	if len(k.control) > 0 && len(k.control)+len(frame) > k.srv.cfg.MaxControl {
		k.control = nil
		k.shutLocked(wire.CloseSlow, "not reading")
		return
	}
	k.control = appendFrame(k.control, frame)
	k.kickLocked()
}

// waitRoom waits until a document may be queued without overflow: until nothing large waits before it.
func (k *socket) waitRoom() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.control) > k.srv.cfg.MaxControl/4 && !k.dead && k.closing == nil {
		k.room.Wait()
	}
}

// fail answers a command with an error.
func (k *socket) fail(id []byte, e *wire.Error) {
	var tmp [512]byte
	k.push(wire.AppendError(tmp[:0], id, e))
}

// shut closes the socket with a code after what is queued. The first call decides.
func (k *socket) shut(code wire.CloseCode, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.shutLocked(code, reason)
}

func (k *socket) shutLocked(code wire.CloseCode, reason string) {
	if k.dead || k.closing != nil {
		return
	}
	k.closing = &closing{code: code, reason: reason}
	k.room.Broadcast()
	k.kickLocked()
}

// kill cuts the connection. The reader notices and tears down.
func (k *socket) kill() { _ = k.conn.Close() }

func (k *socket) kickLocked() {
	if !k.writing && !k.dead {
		k.writing = true
		k.srv.wg.Go(k.write) // the reader's goroutine is still counted: it sets dead before it ends
	}
}

func (k *socket) isClosing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closing != nil
}

func (k *socket) degraded(on bool) {
	var tmp [64]byte
	k.push(wire.AppendDegraded(tmp[:0], on))
}

// sendAway asks the client to come back elsewhere, and closes when no run is followed any more.
func (k *socket) sendAway(reconnectMS int) {
	var tmp [64]byte
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pushLocked(wire.AppendGoAway(tmp[:0], reconnectMS))
	k.leaving = true
	k.leaveLocked()
}

// leaveLocked closes a socket that was sent away once nothing keeps it.
func (k *socket) leaveLocked() {
	if !k.leaving || k.inflight > 0 {
		return
	}
	for _, a := range k.attached {
		if a.run != "" {
			return
		}
	}
	k.shutLocked(wire.CloseDraining, "draining")
}

func (k *socket) setReadLimit() {
	k.mu.Lock()
	known := k.who != nil
	k.mu.Unlock()
	limit := k.srv.cfg.MaxFrame
	if !known {
		limit = min(limit, unauthenticatedFrame)
	}
	k.ws.SetReadLimit(int64(limit))
}

// teardown ends everything of this connection and nothing of another one: first the transport, then what may wait for a store.
func (k *socket) teardown() {
	k.kill()
	_ = k.ws.CloseNow()
	k.mu.Lock()
	k.dead = true
	var subs []Subscription
	for _, a := range k.attached {
		a.closed = true
		subs = append(subs, a.sub)
	}
	k.attached, k.dirty, k.control = nil, nil, nil
	for _, l := range k.lanes {
		l.queue = nil
	}
	code := 0
	if k.closing != nil {
		code = int(k.closing.code)
	}
	k.room.Broadcast()
	k.mu.Unlock()
	for _, sub := range subs {
		sub.Close()
	}
	k.srv.remove(k)
	if f := k.srv.cfg.Events.Closed; f != nil {
		f(code)
	}
}

// appendFrame joins frames by newlines.
func appendFrame(b, frame []byte) []byte {
	if len(b) > 0 {
		b = append(b, '\n')
	}
	return append(b, frame...)
}
