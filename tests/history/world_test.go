package history_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/gateway/wire"
	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/tests/history"
)

// story is a history as plain values, so that a test can spoil one of them before it is recorded.
type story struct {
	// sights are what readers saw: reader, frame; an empty frame begins a connection.
	sights   []sight
	commands []history.Command
	dumps    []history.Store
	refused  [][2]history.Store
	marks    map[regen.Key]string
}

type sight struct{ reader, tenant, frame string }

func (s *story) record() *history.Recorder {
	rec := new(history.Recorder)
	readers := map[string]*history.Reader{}
	for _, x := range s.sights {
		if x.frame == "" {
			readers[x.reader] = rec.Reader(x.tenant, x.reader, "n1")
			continue
		}
		readers[x.reader].SawAt(json.RawMessage(x.frame), epochStart)
	}
	for _, c := range s.commands {
		rec.Sent(c)
	}
	for _, d := range s.dumps {
		rec.Dumped(d)
	}
	for _, r := range s.refused {
		rec.Refused(history.Command{Op: wire.OpRegenerate, Session: "s1", Key: "kx", Code: wire.StaleRevision}, r[0], r[1])
	}
	for k, m := range s.marks {
		rec.Mark(k, m)
	}
	return rec
}

// spoil replaces old by new in the n-th frame (from 0) of a reader that contains it.
func (s *story) spoil(t testing.TB, reader string, n int, old, new string) {
	t.Helper()
	for i := range s.sights {
		if x := &s.sights[i]; x.reader == reader && strings.Contains(x.frame, old) {
			if n == 0 {
				x.frame = strings.Replace(x.frame, old, new, 1)
				return
			}
			n--
		}
	}
	t.Fatalf("reader %s saw no %q", reader, old)
}

var epochStart = time.Unix(1_700_000_000, 0)

// world is a little server: it makes documents with regen and log entries, and renders what readers get.
type world struct {
	t     testing.TB
	story *story
	key   regen.Key
	doc   *regen.Document
	epoch ownership.Epoch
	seq   uint64
	log   []stream.Entry // all that was ever written
	from  int            // the log's first kept entry
	start uint64         // seq of the active run's started
	text  string
	keys  map[string]string
	last  string
	ids   int
	vars  map[string]string
	last2 stream.EntryID // the last entry's id
	prev  stream.EntryID // the id before the first kept entry
}

func newWorld(t testing.TB, st *story, key regen.Key) *world {
	w := &world{t: t, story: st, key: key, doc: &regen.Document{Session: key.Session}, epoch: 7, keys: map[string]string{}, vars: map[string]string{}}
	w.log = append(w.log, stream.Entry{ID: stream.EntryID{Epoch: 7}, Kind: stream.KindMarker})
	w.last2 = stream.EntryID{Epoch: 7}
	w.prev = w.last2
	return w
}

func (w *world) id() string {
	w.ids++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", w.key, w.ids))
	return hex.EncodeToString(sum[:16])
}

func (w *world) add(k stream.Kind, payload any) stream.Entry {
	data, ok := payload.(string)
	if !ok {
		raw, err := json.Marshal(payload)
		require.NoError(w.t, err)
		data = string(raw)
	}
	w.seq++
	e := stream.Entry{ID: stream.EntryID{Epoch: w.epoch, Seq: w.seq}, Kind: k, Data: data}
	w.log = append(w.log, e)
	w.last2 = e.ID
	return e
}

func (w *world) public(rows []regen.Row) []json.RawMessage {
	var out []json.RawMessage
	for _, r := range rows {
		out = append(out, w.doc.Public(r))
	}
	return out
}

func (w *world) cursor(id stream.EntryID) string {
	return stream.Cursor{Incarnation: "0ddba11", ID: id}.String()
}

// takeOver begins another epoch.
func (w *world) takeOver() {
	w.epoch += 10
	w.log = append(w.log, stream.Entry{ID: stream.EntryID{Epoch: w.epoch, Seq: w.seq}, Kind: stream.KindMarker})
}

// accept takes a command of a reader and answers it.
func (w *world) accept(reader string, cmd regen.Command) wire.Receipt {
	p, err := w.doc.Plan(cmd)
	require.NoError(w.t, err)
	c, err := p.Commit(regen.Mint{Run: w.id(), Turn: w.id(), Row: w.id(), Variant: w.id(), Generation: w.id(), At: 1_700_000_000 + float64(w.ids)})
	require.NoError(w.t, err)
	rec := wire.Receipt{Session: w.key.Session, Turn: c.Turn, Run: c.Run, Cursor: w.cursor(w.last2)}
	w.doc, w.text = c.Document, ""
	for k, v := range c.Edit.VariantSet {
		w.vars[k] = v
	}
	e := w.add(stream.KindStarted, stream.Started{Run: c.Run, Turn: c.Turn, Keep: c.Keep, Rows: w.public(c.Rows), At: 1})
	w.start = e.ID.Seq
	w.keys[cmd.Key] = c.Run + " hash {}"
	w.story.commands = append(w.story.commands, history.Command{
		Reader: reader, Tenant: w.key.Tenant, Session: w.key.Session, Op: wire.Op(cmd.Op), Key: cmd.Key, Content: cmd.Content.Text(),
		Receipt: &rec, Answered: epochStart,
	})
	w.saw(reader, string(wire.AppendReceipt(nil, json.RawMessage("1"), &rec)))
	return rec
}

func (w *world) say(text string) {
	w.text += text
	w.add(stream.KindText, text)
}

func (w *world) settle(kind regen.OutcomeKind) {
	o := regen.Outcome{Run: w.doc.Active.Run, Kind: kind, Text: w.text, At: 1_700_000_000 + float64(w.ids), AnswerRow: w.id(), ErrorRow: w.id()}
	s, err := w.doc.Settle(o)
	require.NoError(w.t, err)
	w.doc, w.last = s.Document, o.Run
	rev, _ := w.doc.Minted()
	w.add(stream.KindSettled, stream.Settled{Run: o.Run, Turn: s.Turn, Outcome: string(s.Kind), Rows: w.public(s.Rows), Revision: rev})
	for i, e := range w.log {
		if e.ID.Seq == w.start && e.Kind == stream.KindStarted {
			w.from = i
		}
		if e.ID.Seq == w.start-1 && e.Kind != stream.KindMarker {
			w.prev = e.ID
		}
	}
}

func (w *world) saw(reader, frame string) {
	w.story.sights = append(w.story.sights, sight{reader: reader, tenant: w.key.Tenant, frame: frame})
}

func (w *world) connect(reader string) { w.saw(reader, "") }

// attach answers with the document as it is now.
func (w *world) attach(reader string) {
	v := wire.View{Session: w.key.Session, Cursor: w.cursor(w.last2), Document: &wire.Document{Total: len(w.doc.Rows)}}
	for _, l := range w.doc.Rows {
		v.Document.Rows = append(v.Document.Rows, w.doc.Public(*l.Row))
	}
	if a := w.doc.Active; a != nil {
		v.Run = &wire.Run{Run: a.Run, Turn: a.Turn, Phase: "streaming", StartedAt: a.StartedAt}
		v.Cursor = w.cursor(stream.EntryID{Epoch: w.epoch, Seq: w.start})
	} else {
		v.Document.Revision, _ = w.doc.Minted()
	}
	w.saw(reader, string(wire.AppendAttached(nil, json.RawMessage("2"), &v)))
}

// resume answers an attach with an accepted cursor.
func (w *world) resume(reader string, after uint64) {
	v := wire.View{Session: w.key.Session, Cursor: w.cursor(stream.EntryID{Epoch: w.epoch, Seq: after})}
	w.saw(reader, string(wire.AppendAttached(nil, json.RawMessage("2"), &v)))
}

// show gives a reader the events after seq up to seq to, with the deltas between two of cuts merged.
func (w *world) show(reader string, after, to uint64, merge bool) {
	for i := 0; i < len(w.log); i++ {
		e := w.log[i]
		if e.ID.Seq <= after || e.ID.Seq > to || e.Kind == stream.KindMarker {
			continue
		}
		if e.Kind == stream.KindText {
			d := wire.Delta{Session: w.key.Session, Run: w.runAt(i), From: e.ID.Seq, Seq: e.ID.Seq, Kind: wire.KindText, Text: e.Data}
			for merge && i+1 < len(w.log) && w.log[i+1].Kind == e.Kind && w.log[i+1].ID.Seq <= to {
				i++
				d.Seq, d.Text = w.log[i].ID.Seq, d.Text+w.log[i].Data
			}
			w.saw(reader, string(d.Append(nil)))
			continue
		}
		w.saw(reader, w.frame(e))
	}
}

func (w *world) runAt(i int) string {
	for ; i >= 0; i-- {
		if w.log[i].Kind == stream.KindStarted {
			var st stream.Started
			require.NoError(w.t, json.Unmarshal([]byte(w.log[i].Data), &st))
			return st.Run
		}
	}
	return ""
}

func (w *world) frame(e stream.Entry) string {
	if e.Kind == stream.KindStarted {
		var s stream.Started
		require.NoError(w.t, json.Unmarshal([]byte(e.Data), &s))
		f := wire.Started{Session: w.key.Session, Run: s.Run, Turn: s.Turn, Seq: e.ID.Seq, Keep: s.Keep, Rows: s.Rows, At: s.At, Cursor: w.cursor(e.ID)}
		return string(f.Append(nil))
	}
	var s stream.Settled
	require.NoError(w.t, json.Unmarshal([]byte(e.Data), &s))
	f := wire.Settled{Session: w.key.Session, Run: s.Run, Turn: s.Turn, Seq: e.ID.Seq, Outcome: s.Outcome, Rows: s.Rows, Revision: s.Revision, Cursor: w.cursor(e.ID)}
	return string(f.Append(nil))
}

// dump is what the store holds now.
func (w *world) dump() history.Store {
	s := history.Store{
		Key: w.key, At: epochStart.Add(time.Minute), Doc: w.doc.Fields.Map(), Variants: w.vars, Keys: map[string]string{}, Log: w.log[w.from:],
		Head: map[string]string{
			"inc": "0ddba11", "epoch": fmt.Sprint(w.epoch), "seq": fmt.Sprint(w.seq), "ver": fmt.Sprint(w.doc.Version),
			"rver": fmt.Sprint(w.doc.RowsVersion), "rev": w.doc.Revision(), "run": "", "active": "", "last": w.last,
			"before": w.prev.String(),
		},
	}
	for k, v := range w.keys {
		s.Keys[k] = v
	}
	if a := w.doc.Active; a != nil {
		raw, err := json.Marshal(a)
		require.NoError(w.t, err)
		s.Head["run"], s.Head["active"] = a.Run, string(raw)
	}
	for _, l := range w.doc.Rows {
		s.Rows = append(s.Rows, l.Encode())
	}
	for _, l := range w.doc.Context {
		s.Context = append(s.Context, l.Encode())
	}
	return s
}
