package history

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"holdfast/gateway/wire"
	"holdfast/regen"
)

// Command is one command that a client sent, with what became of it.
type Command struct {
	// Reader is the client that sent it, Node the node it was sent to.
	Reader, Node string
	// Tenant is "" for "main".
	Tenant, Session string
	// Op is a wire.Op; Key the command's key, "" where it has none.
	Op  wire.Op
	Key string
	// Content is the text of a send, as its row shows it.
	Content string
	// Revision is what a regenerate named. Run or Of is what a cancel named.
	Revision, Run, Of string

	// Receipt is the answer to an accepted command; else nil.
	Receipt *wire.Receipt
	// Cancel is the answer to a cancel: "accepted", "late" or "unknown".
	Cancel string
	// Code is the refusal; "" when there was none.
	Code wire.Code
	// Unknown says that no answer came: the command may have been accepted.
	Unknown bool
	// Sent and Answered are the client's times; Sent fills them where they are zero.
	Sent, Answered time.Time
}

// Recorder collects a history. Its zero value is ready; all methods may be called from any goroutine.
type Recorder struct {
	mu       sync.Mutex // guards what follows, and the frames of every reader
	readers  []*Reader
	commands []Command
	dumps    []Store
	refusals []refusal
	marks    []mark
}

type refusal struct {
	command       Command
	before, after Store
}

type mark struct {
	key  regen.Key
	text []byte
}

// Reader is one tab: what it saw, over all its connections.
type Reader struct {
	// Name is unique in the history, Tenant is the reader's.
	Name, Tenant string

	rec   *Recorder
	node  string // the present connection's
	seen  []sight
	conns int
}

// sight is one frame, or with a nil frame the beginning of a connection.
type sight struct {
	node  string
	at    time.Time
	frame json.RawMessage
}

// Reader gives the reader of that name and begins a connection of it to node: a new one follows nothing yet. Tenant "" is "main".
func (r *Recorder) Reader(tenant, name, node string) *Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.readers, func(x *Reader) bool { return x.Name == name })
	if i < 0 {
		i = len(r.readers)
		r.readers = append(r.readers, &Reader{Name: name, Tenant: tenantOr(tenant), rec: r})
	}
	x := r.readers[i]
	x.node = node
	x.conns++
	x.seen = append(x.seen, sight{node: node, at: time.Now()})
	return x
}

// Saw records a frame that came, answers too. Frames must be recorded in the order in which they came; client.Options.OnFrame does.
func (x *Reader) Saw(frame json.RawMessage) { x.SawAt(frame, time.Now()) }

// SawAt is Saw with the time of arrival.
func (x *Reader) SawAt(frame json.RawMessage, at time.Time) {
	x.rec.mu.Lock()
	defer x.rec.mu.Unlock()
	x.seen = append(x.seen, sight{node: x.node, at: at, frame: bytes.Clone(frame)})
}

// Sent records a command and what became of it.
func (r *Recorder) Sent(c Command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Tenant = tenantOr(c.Tenant)
	if c.Answered.IsZero() {
		c.Answered = time.Now()
	}
	if c.Sent.IsZero() {
		c.Sent = c.Answered
	}
	r.commands = append(r.commands, c)
}

// Dumped records what the store held of a session. The last dump of a session is taken for its end.
func (r *Recorder) Dumped(s Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.At.IsZero() {
		s.At = time.Now()
	}
	r.dumps = append(r.dumps, s)
}

// Refused records a refused command with dumps from just before and just after it, for I8. Nothing else may have happened to the
// session meanwhile. The command itself is recorded with Sent, as every other.
func (r *Recorder) Refused(c Command, before, after Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Tenant = tenantOr(c.Tenant)
	r.refusals = append(r.refusals, refusal{command: c, before: before, after: after})
}

// Mark says that a text belongs to one session alone, for I9. The text should be of letters and digits, so that every encoding shows it.
func (r *Recorder) Mark(key regen.Key, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key.Tenant = tenantOr(key.Tenant)
	r.marks = append(r.marks, mark{key: key, text: []byte(text)})
}

// Sessions are the sessions that commands were sent to, in the order of the first command.
func (r *Recorder) Sessions() []regen.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []regen.Key
	for _, c := range r.commands {
		if k := c.key(); c.Session != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func (c *Command) key() regen.Key { return regen.Key{Tenant: tenantOr(c.Tenant), Session: c.Session} }

func tenantOr(tenant string) string {
	if tenant == "" {
		return "main"
	}
	return tenant
}
