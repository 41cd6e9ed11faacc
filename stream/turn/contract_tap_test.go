package turn_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog/embedded"
	"holdfast/stream/turn"
)

// tap stands between one node and the store. It counts the commands that the node sends and breaks the ones that a test chooses.
// The list of sessions, which is best effort and beside every turn, and the connection's own commands do not count.
type tap struct {
	mu     sync.Mutex // guards what follows
	seen   []string   // the commands since arm
	how    fault
	from   int               // the first command that is broken, counted from 1; 0: none
	until  int               // the last one
	broken int               // how many were
	before map[int]func()    // called before the n-th command goes out, once
	only   func(string) bool // breaks these alone, in place of from and until
}

// fault is what happens to a command.
type fault string

const (
	refused   fault = "refused"      // the store answers that it cannot now
	lostAsk   fault = "request lost" // the connection ends before the command arrives
	lostReply fault = "reply lost"   // the command is done, and the connection ends before its answer arrives
)

// arm begins to count, and breaks the commands from the n-th to the last-th.
func (p *tap) arm(how fault, n, last int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.how, p.from, p.until, p.broken, p.before, p.only = nil, how, n, last, 0, nil, nil
}

// breaks makes every command that has this text fail.
func (p *tap) breaks(how fault, text string) {
	p.arm(how, 0, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.only = func(c string) bool { return strings.Contains(c, text) }
}

// beforeNth has f called before the n-th command of the node goes out.
func (p *tap) beforeNth(n int, f func()) {
	p.arm("", 0, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = map[int]func(){n: f}
}

func (p *tap) commands() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func (p *tap) breaksCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// judge takes note of the commands of one write and says what happens to it.
func (p *tap) judge(b []byte) (how fault, commands int) {
	p.mu.Lock()
	var calls []func()
	for _, c := range parse(b) {
		commands++
		name, _, _ := strings.Cut(c, " ")
		switch strings.ToUpper(name) {
		case "HELLO", "CLIENT", "PING", "AUTH", "SUBSCRIBE", "UNSUBSCRIBE":
			continue
		}
		if p.only != nil {
			if p.only(c) {
				how, p.broken = p.how, p.broken+1
			}
			continue
		}
		if strings.EqualFold(name, "ZADD") {
			continue
		}
		p.seen = append(p.seen, c)
		n := len(p.seen)
		if f := p.before[n]; f != nil {
			delete(p.before, n)
			calls = append(calls, f)
		}
		if p.from > 0 && n >= p.from && n <= p.until {
			how, p.broken = p.how, p.broken+1
		}
	}
	p.mu.Unlock()
	for _, f := range calls {
		f()
	}
	return how, commands
}

// parse gives the commands that b holds, their words joined by blanks.
func parse(b []byte) (commands []string) {
	line := func() (string, bool) {
		l, rest, ok := bytes.Cut(b, []byte("\r\n"))
		b = rest
		return string(l), ok
	}
	for len(b) > 0 {
		head, ok := line()
		n, err := strconv.Atoi(strings.TrimPrefix(head, "*"))
		if !ok || err != nil {
			return commands
		}
		words := make([]string, 0, n)
		for range n {
			size, _ := line()
			k, err := strconv.Atoi(strings.TrimPrefix(size, "$"))
			if err != nil || k+2 > len(b) {
				return commands
			}
			words, b = append(words, string(b[:k])), b[k+2:]
		}
		commands = append(commands, strings.Join(words, " "))
	}
	return commands
}

func (p *tap) wrap(o *redis.Options) *redis.Options {
	own := *o
	dial := o.Dialer
	own.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &tapConn{Conn: conn, tap: p}, nil
	}
	return &own
}

type tapConn struct {
	net.Conn
	tap *tap

	mu     sync.Mutex // guards what follows
	answer []byte     // in place of the store's
	deaf   bool       // the next answer does not arrive
}

func (c *tapConn) Write(b []byte) (int, error) {
	how, n := c.tap.judge(b)
	switch how {
	case refused:
		c.mu.Lock()
		c.answer = append(c.answer, strings.Repeat("-LOADING the store is not ready\r\n", n)...)
		c.mu.Unlock()
		return len(b), nil
	case lostAsk:
		_ = c.Close()
		return 0, io.ErrClosedPipe
	case lostReply:
		c.mu.Lock()
		c.deaf = true
		c.mu.Unlock()
	}
	return c.Conn.Write(b)
}

func (c *tapConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	if len(c.answer) > 0 {
		n := copy(b, c.answer)
		c.answer = c.answer[n:]
		c.mu.Unlock()
		return n, nil
	}
	deaf := c.deaf
	c.mu.Unlock()
	n, err := c.Conn.Read(b)
	if deaf && n > 0 { // an answer came, so the command is done; nobody hears it
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// shop is a store that tests look into.
type shop struct {
	t      *testing.T
	server *embedded.Server
	rdb    *redis.Client
	mu     sync.Mutex // guards writes
	writes []string   // what was written, scripts' own commands too, without the list of sessions
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, server: embedded.New(embedded.Config{})}
	t.Cleanup(s.server.Close)
	s.rdb = redis.NewClient(s.server.Options())
	t.Cleanup(func() { _ = s.rdb.Close() })
	s.server.SetHook(func(_ *server.Peer, name string, args ...string) bool {
		switch name {
		case "HSET", "HDEL", "HINCRBY", "DEL", "XADD", "XTRIM", "XDEL", "RPUSH", "LSET", "LTRIM", "SADD", "SREM", "SET", "PUBLISH", "EXPIRE", "PEXPIRE", "RENAME", "UNLINK":
			s.mu.Lock()
			s.writes = append(s.writes, name+" "+strings.Join(args, " "))
			s.mu.Unlock()
		}
		return false
	})
	return s
}

func (s *shop) opts() *redis.Options { return s.server.Options() }

// written gives what was written since the last call.
func (s *shop) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.writes
	s.writes = nil
	return w
}

// state is every key of the session, byte for byte.
type state struct {
	hashes map[string]map[string]string
	lists  map[string][]string
	log    []redis.XMessage
}

func (s *shop) state() state {
	s.t.Helper()
	ctx := s.t.Context()
	st := state{hashes: map[string]map[string]string{}, lists: map[string][]string{}}
	for _, name := range []string{"lease", "head", "doc", "var", "cancel", "keys", "keys2"} {
		m, err := s.rdb.HGetAll(ctx, sessionKey(name)).Result()
		require.NoError(s.t, err)
		st.hashes[name] = m
	}
	for _, name := range []string{"rows", "ctx"} {
		l, err := s.rdb.LRange(ctx, sessionKey(name), 0, -1).Result()
		require.NoError(s.t, err)
		st.lists[name] = l
	}
	var err error
	st.log, err = s.rdb.XRange(ctx, sessionKey("log"), "-", "+").Result()
	require.NoError(s.t, err)
	return st
}

// unowned is the state without what a change of owner alone may change: lease, epoch, fences and markers.
func (st state) unowned() state {
	out := state{hashes: map[string]map[string]string{}, lists: st.lists}
	for name, m := range st.hashes {
		if name == "lease" {
			continue
		}
		out.hashes[name] = map[string]string{}
		for k, v := range m {
			if name == "head" && slices.Contains([]string{"epoch", "batch", "fences", "seq", "before"}, k) {
				continue
			}
			out.hashes[name][k] = v
		}
	}
	for _, e := range st.log {
		if _, marker := e.Values["m"]; !marker {
			out.log = append(out.log, e)
		}
	}
	return out
}

// oneUserRow requires that every turn of the stored document has exactly one user row on display and one in the model's context, and
// gives both lists as "role:text".
func (n *node) oneUserRow(t *testing.T) (display, contexts []string) {
	t.Helper()
	snap := n.snapshot(t)
	require.NotNil(t, snap.Document)
	require.Zero(t, snap.Document.RowsBelow+snap.Document.ContextBelow)
	shown, seen, given := map[string]regen.Row{}, map[string]int{}, map[string]int{}
	for _, l := range snap.Document.Rows {
		shown[l.Row.ID] = *l.Row
		display = append(display, string(l.Row.Role)+":"+l.Row.Content.Text())
		if l.Row.Role == regen.RoleUser {
			seen[l.Row.Turn]++
		}
	}
	for _, l := range snap.Document.Context {
		row, ok := shown[l.Ref]
		if l.Row != nil {
			row, ok = *l.Row, true
		}
		require.True(t, ok, "context points at a row that is not there")
		require.False(t, row.Error, "an error row in the model's context")
		contexts = append(contexts, string(row.Role)+":"+row.Content.Text())
		if row.Role == regen.RoleUser {
			given[row.Turn]++
		}
	}
	for turn, k := range seen {
		require.Equal(t, 1, k, "user rows on display of turn %s", turn)
	}
	require.Equal(t, seen, given, "user rows on display and in context")
	return display, contexts
}

// exchange is a whole turn on node n; it gives its settlement.
func exchange(t *testing.T, n *node, r *reader, cmd regen.Command, text string) *stream.Settled {
	t.Helper()
	_, err := n.do(t, cmd)
	require.NoError(t, err)
	c := n.model.next(t)
	c.text(t, text)
	c.end(t)
	return r.settled()
}

func prompt(k, text string) regen.Command {
	return regen.Command{Op: regen.OpSend, Key: k, Content: regen.Text(text)}
}

func again(k, revision string) regen.Command {
	return regen.Command{Op: regen.OpRegenerate, Key: k, Revision: revision}
}

func deltaText(s string) turn.Delta { return turn.Delta{Kind: turn.Text, Text: s} }

func deltaEnd() turn.Delta { return turn.Delta{Finish: "stop"} }
