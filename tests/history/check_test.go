package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/tests/history"
)

var (
	one = regen.Key{Tenant: "main", Session: "s1"}
	two = regen.Key{Tenant: "acme", Session: "s2"}
)

// good is a history in which everything holds: two sessions; in the first a turn, a take-over, a regenerate that is stopped; readers
// that came at the start, in the middle, at the end, and that went and came back; a refused command.
func good(t testing.TB) (*story, *world) {
	st := &story{marks: map[regen.Key]string{one: "ORCHID", two: "WALNUT"}}
	w := newWorld(t, st, one)
	w.connect("r1")
	w.connect("r2")
	w.connect("r3")
	a := w.accept("r1", regen.Command{Op: regen.OpSend, Key: "k1", Content: regen.Text("tell me of ORCHID")})
	w.say("Once ")
	w.say("upon ")
	w.attach("r2")
	w.show("r2", 1, 3, true)
	w.say("a time <b>")
	w.say("&c.")
	w.settle(regen.Completed)
	w.show("r1", 0, w.seq, false)
	w.show("r2", 3, w.seq, true)
	w.attach("r3")
	before := w.dump()
	st.dumps = append(st.dumps, before)
	st.commands = append(st.commands, history.Command{Reader: "r3", Session: "s1", Op: wire.OpRegenerate, Key: "kx", Code: wire.StaleRevision})
	w.takeOver()
	st.refused = append(st.refused, [2]history.Store{before, w.dump()})
	end := w.seq
	rev, ok := w.doc.Minted()
	require.True(t, ok)
	b := w.accept("r3", regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: rev})
	w.say("Twice ")
	w.say("<think>hm</think>")
	w.say("upon")
	w.show("r2", end, end+2, false)
	w.connect("r2") // a network that dropped
	w.settle(regen.Cancelled)
	st.commands = append(st.commands, history.Command{Reader: "r1", Session: "s1", Op: wire.OpCancel, Run: b.Run, Cancel: string(stream.StopAccepted)})
	w.resume("r2", end+2)
	w.show("r2", end+2, w.seq, true)
	w.show("r1", end, w.seq, true)
	w.show("r3", end, w.seq, false)
	w.connect("r4")
	w.attach("r4")
	st.dumps = append(st.dumps, w.dump())
	require.NotEqual(t, a.Run, b.Run)

	v := newWorld(t, st, two)
	v.connect("q1")
	v.accept("q1", regen.Command{Op: regen.OpSend, Key: "k1", Content: regen.Text("tell me of WALNUT")})
	v.say("No.")
	v.settle(regen.Completed)
	v.show("q1", 0, v.seq, true)
	st.dumps = append(st.dumps, v.dump())
	return st, w
}

// A history in which everything holds is not blamed for anything.
func TestGoodHistory(t *testing.T) {
	st, _ := good(t)
	require.Empty(t, st.record().Check(history.Options{}))
}

// Each broken promise is found, and found under its own name alone, so that a failing test says what broke.
func TestBrokenHistories(t *testing.T) {
	for _, c := range broken {
		t.Run(c.name+" "+c.what, func(t *testing.T) {
			st, w := good(t)
			c.spoil(t, st, w)
			found := st.record().Check(history.Options{})
			require.NotEmpty(t, found)
			for _, v := range found {
				require.Equal(t, c.name, v.Name, v.String())
			}
			t.Log(found[0])
		})
	}
}

var broken = []struct {
	name, what string
	spoil      func(t *testing.T, st *story, w *world)
}{
	{history.I1, "hole", func(t *testing.T, st *story, _ *world) {
		st.drop(t, "r3", `"seq":9,`)
	}},
	{history.I1, "repeat", func(t *testing.T, st *story, _ *world) {
		st.repeat(t, "r1", `"seq":4,`)
	}},
	{history.I1, "attach that skips", func(t *testing.T, st *story, w *world) {
		st.spoil(t, "r2", 0, `"cursor":"`+w.cursor(stream.EntryID{Epoch: 17, Seq: 8})+`"`, `"cursor":"`+w.cursor(stream.EntryID{Epoch: 17, Seq: 9})+`"`)
		st.drop(t, "r2", `"from":9`)
	}},
	{history.I1, "hole in the log", func(t *testing.T, st *story, _ *world) {
		d := &st.dumps[1]
		d.Log = append(d.Log[:1:1], d.Log[2:]...)
	}},
	{history.I2, "another text", func(t *testing.T, st *story, _ *world) {
		// A reader that came from a cursor of somebody else's: it cannot know that its text is wrong.
		st.sights = append(st.sights, sight{"r5", "main", ""},
			sight{"r5", "main", `{"re":1,"ok":{"session":"s1","run":null,"cursor":"0ddba11.7:2"}}`},
			sight{"r5", "main", `{"event":"delta","session":"s1","seq":3,"kind":"text","text":"upon?"}`})
	}},
	{history.I3, "epoch falls", func(t *testing.T, st *story, w *world) {
		d := &st.dumps[1]
		d.Log = append([]stream.Entry(nil), d.Log...)
		last := &d.Log[len(d.Log)-1]
		last.ID.Epoch = 3
		d.Log = append(d.Log, stream.Entry{ID: stream.EntryID{Epoch: 2, Seq: last.ID.Seq}, Kind: stream.KindMarker})
		st.only(1)
	}},
	{history.I4, "settled twice", func(t *testing.T, st *story, w *world) {
		run := w.last
		st.sights = append(st.sights, sight{"r5", "main", ""},
			sight{"r5", "main", `{"re":1,"ok":{"session":"s1","run":null,"cursor":"0ddba11.17:30"}}`},
			sight{"r5", "main", `{"event":"settled","session":"s1","run":"` + run + `","seq":31,"outcome":"cancelled","rows":[` + string(w.doc.Public(*w.doc.Rows[0].Row)) + `]}`})
	}},
	{history.I4, "never settled", func(t *testing.T, st *story, w *world) {
		w.connect("r9")
		w.story.sights = append(w.story.sights, sight{"r9", "main", `{"re":1,"ok":{"session":"s1","run":null,"cursor":"` + w.cursor(w.last2) + `"}}`})
		w.accept("r9", regen.Command{Op: regen.OpSend, Key: "k9", Content: regen.Text("and then?")})
		w.show("r9", w.start-1, w.seq, true)
		st.dumps = append(st.dumps, w.dump())
	}},
	{history.I4, "completed after a stop", func(t *testing.T, st *story, w *world) {
		st.commands = append(st.commands, history.Command{Session: "s1", Op: wire.OpCancel, Run: st.commands[0].Receipt.Run, Cancel: "accepted"})
	}},
	{history.I5, "lost", func(t *testing.T, st *story, w *world) {
		d := &st.dumps[1]
		delete(d.Keys, "k2")
	}},
	{history.I5, "one key, two runs", func(t *testing.T, st *story, w *world) {
		c := st.commands[0]
		r := *c.Receipt
		r.Run, r.Repeat = w.id(), true
		c.Receipt = &r
		st.commands = append(st.commands, c)
	}},
	{history.I5, "two keys, one run", func(t *testing.T, st *story, w *world) {
		c := st.commands[0]
		c.Key = "k7"
		st.commands = append(st.commands, c)
		st.dumps[1].Keys["k7"] = st.dumps[1].Keys["k1"]
	}},
	{history.I6, "answer is not what was said", func(t *testing.T, st *story, w *world) {
		for i := range st.sights { // everybody saw it alike
			st.sights[i].frame = strings.Replace(st.sights[i].frame, `"text":"Once "`, `"text":"Onke "`, 1)
			st.sights[i].frame = strings.Replace(st.sights[i].frame, `"text":"Once upon "`, `"text":"Onke upon "`, 1)
		}
		st.dumps = st.dumps[1:]
	}},
	{history.I6, "a document that is not the fold", func(t *testing.T, st *story, _ *world) {
		st.spoil(t, "r4", 0, "tell me of ORCHID", "told you of ORCHID")
	}},
	{history.I6, "a settlement of a turn that was not there", func(t *testing.T, st *story, w *world) {
		st.spoil(t, "r3", 0, `"rows":[{"id":"`, `"rows":[{"id":"f`)
		st.dumps = st.dumps[1:]
	}},
	{history.I7, "two user rows", func(t *testing.T, st *story, w *world) {
		row := *w.doc.Rows[0].Row
		row.ID, row.Content, row.Variants = w.id(), regen.Text("twin"), nil
		rows := append([]regen.Row{row}, values(w.doc)...)
		doc, _, err := regen.NewDocument("s1", w.doc.Fields, rows, rows)
		require.NoError(t, err)
		w.doc = doc
		st.dumps = append(st.dumps[:1:1], st.dumps[2], w.dump())
		st.dumps[2].Log = nil // nobody stood there
		st.dumps[2].Head["before"] = "99-99"
	}},
	{history.I8, "a refused command left something", func(t *testing.T, st *story, _ *world) {
		after := &st.refused[0][1]
		after.Log = append(after.Log[:len(after.Log):len(after.Log)], stream.Entry{ID: stream.EntryID{Epoch: 17, Seq: 7}, Kind: stream.KindText, Data: "!"})
	}},
	{history.I8, "a refused key has a receipt", func(t *testing.T, st *story, w *world) {
		st.dumps[1].Keys["kx"] = st.dumps[1].Keys["k1"]
	}},
	{history.I9, "another session's text", func(t *testing.T, st *story, _ *world) {
		st.sights = append(st.sights, sight{"r1", "main", `{"event":"goaway","reason":"WALNUT"}`})
	}},
	{history.I9, "another tenant's session of the same name", func(t *testing.T, st *story, w *world) {
		for i := range st.sights {
			if st.sights[i].reader == "r4" {
				st.sights[i].tenant = "acme"
			}
		}
	}},
	{history.I9, "an event nobody asked for", func(t *testing.T, st *story, w *world) {
		w.connect("r8")
		w.saw("r8", `{"event":"delta","session":"s1","seq":3,"kind":"text","text":"upon"}`)
	}},
	{history.I11, "a revision of another state", func(t *testing.T, st *story, w *world) {
		rev, ok := w.doc.Minted()
		require.True(t, ok)
		st.spoil(t, "r4", 0, rev, strings.Repeat("ab", 32))
	}},
	{history.I11, "a chain of other rows", func(t *testing.T, st *story, w *world) {
		d := &st.dumps[1]
		d.Head["rev"] = strings.Repeat("cd", 32)
	}},
}

// values are the rows of a document.
func values(d *regen.Document) []regen.Row {
	var rows []regen.Row
	for _, l := range d.Rows {
		rows = append(rows, *l.Row)
	}
	return rows
}

func (s *story) find(t testing.TB, reader, part string) int {
	for i, x := range s.sights {
		if x.reader == reader && strings.Contains(x.frame, part) {
			return i
		}
	}
	t.Fatalf("reader %s saw no %q", reader, part)
	return 0
}

func (s *story) drop(t testing.TB, reader, part string) {
	i := s.find(t, reader, part)
	s.sights = append(s.sights[:i:i], s.sights[i+1:]...)
}

func (s *story) repeat(t testing.TB, reader, part string) {
	i := s.find(t, reader, part)
	s.sights = append(s.sights[:i+1:i+1], s.sights[i:]...)
}

// only keeps one dump and nothing that anybody saw or sent.
func (s *story) only(dump int) {
	s.dumps = s.dumps[dump : dump+1]
	s.sights, s.commands = nil, nil
}
