package logtest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// owner is an actor that owns one session: it counts batches and positions as the engine does.
type owner struct {
	t    *testing.T
	b    Backend
	key  regen.Key
	node string
	inc  string
	// epoch, batch, at and doc are where the owner believes the session to be.
	epoch ownership.Epoch
	batch uint64
	at    stream.EntryID
	doc   *regen.Document
	clock float64
}

// newOwner acquires a session that does not exist yet.
func newOwner(t *testing.T, b Backend) *owner {
	t.Helper()
	return acquire(t, b, newKey(), &regen.Document{})
}

// acquire makes an owner of a session with this document. Each owner is a node of its own.
func acquire(t *testing.T, b Backend, key regen.Key, doc *regen.Document) *owner {
	t.Helper()
	o := &owner{t: t, b: b, key: key, node: "n" + hexID(), doc: doc, clock: 1000}
	if o.doc.Session == "" {
		o.doc = &regen.Document{Session: key.Session, RowsBase: regen.EmptyChain, ContextBase: regen.EmptyChain}
	}
	g, err := b.Leases.Acquire(t.Context(), ownership.Request{
		Key: key.String(), Node: o.node, Proc: "p", Req: hexID(), TTL: time.Minute, Incarnation: hexID()[:16],
	})
	require.NoError(t, err)
	o.inc, o.epoch, o.at = g.Incarnation, g.Epoch, stream.EntryID{Epoch: g.Epoch, Seq: g.Seq}
	return o
}

// accepted is the acceptance of a send, and the document after it.
type accepted struct {
	*stream.Change
	doc *regen.Document
}

// send makes the acceptance of a prompt.
func (o *owner) send(command, text string) accepted {
	o.t.Helper()
	o.clock++
	p, err := o.doc.Plan(regen.Command{Op: regen.OpSend, Key: command, Content: regen.Text(text)})
	require.NoError(o.t, err)
	c, err := p.Commit(regen.Mint{Run: hexID(), Turn: hexID(), Row: hexID(), At: o.clock})
	require.NoError(o.t, err)
	ch := o.change(stream.KindStarted, mustJSON(o.t, stream.Started{Run: c.Run, Turn: c.Turn, Keep: c.Keep, At: o.clock}))
	ch.Edit, ch.Start = c.Edit, o.at
	ch.Accept = &stream.Accept{
		Run: c.Run, Key: command, Hash: "h-" + text,
		Receipt: stream.Receipt{Session: o.key.Session, Turn: c.Turn, Run: c.Run, Cursor: stream.Cursor{Incarnation: o.inc, ID: o.at}.String()},
	}
	return accepted{ch, c.Document}
}

// settle makes the settlement of the active run.
func (o *owner) settle(kind regen.OutcomeKind, text string) accepted {
	o.t.Helper()
	o.clock++
	run := o.doc.Active.Run
	s, err := o.doc.Settle(regen.Outcome{Run: run, Kind: kind, Text: text, At: o.clock, AnswerRow: hexID(), ErrorRow: hexID()})
	require.NoError(o.t, err)
	ch := o.change(stream.KindSettled, mustJSON(o.t, stream.Settled{Run: run, Turn: s.Turn, Outcome: string(s.Kind)}))
	ch.Edit = s.Edit
	ch.Settle = &stream.Settle{Run: run, Cancelled: kind == regen.Cancelled}
	return accepted{ch, s.Document}
}

// change makes a batch of one entry that leaves the document alone.
func (o *owner) change(kind stream.Kind, data string) *stream.Change {
	return &stream.Change{
		Batch: stream.Batch{
			Incarnation: o.inc, Epoch: o.epoch, N: o.batch + 1, At: o.at,
			Entries: []stream.Entry{{ID: o.at.Next(), Kind: kind, Data: data}},
		},
		Expect: stream.Expect{
			Version: o.doc.Version, Rows: o.doc.RowsBelow + len(o.doc.Rows), Context: o.doc.ContextBelow + len(o.doc.Context),
		},
	}
}

// write sends a change and requires this status.
func (o *owner) write(c *stream.Change, want stream.Status) stream.WriteResult {
	o.t.Helper()
	r, err := o.b.Store.Write(o.t.Context(), o.key, c)
	require.NoError(o.t, err)
	require.Equal(o.t, want, r.Status, "%+v", r)
	return r
}

// refused sends a change and requires that it is refused so and changes nothing.
func (o *owner) refused(c *stream.Change, want stream.Status) (r stream.WriteResult) {
	o.t.Helper()
	unchanged(o.t, o.b, o.key, func() { r = o.write(c, want) })
	return r
}

// done sends a change and moves the owner on.
func (o *owner) done(a accepted) stream.WriteResult {
	o.t.Helper()
	r := o.write(a.Change, stream.StatusDone)
	o.moved(a)
	return r
}

func (o *owner) moved(a accepted) {
	o.batch, o.at = a.N, a.Entries[len(a.Entries)-1].ID
	if a.doc != nil {
		o.doc = a.doc
	}
}

// append appends one text entry and waits for the answer.
func (o *owner) append(id stream.EntryID, text string) stream.AppendResult {
	o.t.Helper()
	got := make(chan stream.AppendResult, 1)
	o.b.Store.Append(o.key, stream.Entry{ID: id, Kind: stream.KindText, Data: text}, func(r stream.AppendResult) { got <- r })
	return await(o.t, got)
}

// notAppended appends an entry that must be refused.
func (o *owner) notAppended(id stream.EntryID, text string) {
	o.t.Helper()
	r := o.append(id, text)
	require.Error(o.t, r.Err)
	if o.b.Unsure && r.Status == stream.AppendUnknown {
		return
	}
	require.Equal(o.t, stream.AppendRefused, r.Status)
}

// token appends the next entry.
func (o *owner) token(text string) {
	o.t.Helper()
	r := o.append(o.at.Next(), text)
	require.Equal(o.t, stream.AppendDone, r.Status, "%v", r.Err)
	o.at = o.at.Next()
}

func (o *owner) read(q stream.Query) stream.Snapshot {
	o.t.Helper()
	s, err := o.b.Store.Read(o.t.Context(), o.key, q)
	require.NoError(o.t, err)
	return s
}

func (o *owner) check() stream.Tail {
	o.t.Helper()
	tail, err := o.b.Store.Check(o.t.Context(), o.key)
	require.NoError(o.t, err)
	return tail
}

// page reads the whole log.
func (o *owner) page() stream.Page {
	o.t.Helper()
	p, err := o.b.Store.Page(o.t.Context(), o.key, stream.EntryID{}, 10_000)
	require.NoError(o.t, err)
	return p
}

// log gives the log as "id kind" lines.
func (o *owner) log() []string {
	o.t.Helper()
	var out []string
	for _, e := range o.page().Entries {
		out = append(out, fmt.Sprintf("%d %s", e.ID.Seq, e.Kind))
	}
	return out
}

func mustJSON(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// await gives what comes, or fails after long enough for the slowest machine.
func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		require.Fail(t, "nothing came")
	}
	return v
}
