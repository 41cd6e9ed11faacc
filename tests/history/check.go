package history

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/regen"
	"holdfast/stream"
)

// The names of the invariants, as violations carry them.
const (
	I1  = "I1"  // seq contiguous per reader, or a reset
	I2  = "I2"  // all readers agree on any common range
	I3  = "I3"  // no entry of a lower epoch after a higher
	I4  = "I4"  // at most one settlement per run, exactly one per accepted run, in bounded time
	I5  = "I5"  // no acknowledged command lost, none accepted twice
	I6  = "I6"  // the document equals the fold of the log at each settle
	I7  = "I7"  // display and context hold exactly one user row per turn
	I8  = "I8"  // a refused command changed nothing
	I9  = "I9"  // nothing of one tenant or session reaches another
	I10 = "I10" // after the last client left, everything returns to the baseline
	I11 = "I11" // a revision handed out names the committed document, and its last exchange is handed out with it
)

// Violation is one invariant that does not hold.
type Violation struct {
	// Name is one of I1 to I11.
	Name string
	// Key is the session; zero for what concerns a whole node.
	Key regen.Key
	// What says who saw what, where.
	What string
}

// String gives all of it.
func (v Violation) String() string {
	if v.Key == (regen.Key{}) {
		return v.Name + ": " + v.What
	}
	return v.Name + " (" + v.Key.String() + "): " + v.What
}

// Options tune a check. The zero value checks everything but times.
type Options struct {
	// StoreLost says that the test made Redis forget writes that it had acknowledged. Accepted commands may then be gone, and a
	// run may be settled again under a higher epoch. Readers must still agree and must still be reset.
	StoreLost bool
	// SettleWithin bounds the time from a command's receipt to the first sight of its run's settlement; 0 does not check it.
	SettleWithin time.Duration
}

// Check goes through everything recorded so far and gives what does not hold, in the order of the invariants' numbers. I10 is not
// among them: see Baseline.
func (r *Recorder) Check(o Options) []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := newFindings(o)
	f.commands, f.dumps = r.commands, r.dumps
	for _, x := range r.readers {
		f.walk(x)
	}
	for i := range r.dumps {
		f.readLog(i+1, &r.dumps[i])
		f.readDump(i+1, &r.dumps[i])
	}
	f.agree()
	f.settlements()
	f.accepted()
	f.compareDocuments()
	f.refused(r.refusals)
	f.leaks(r.marks, r.readers)
	slices.SortStableFunc(f.violations, func(a, b Violation) int { return cmp.Compare(number(a.Name), number(b.Name)) })
	return slices.Compact(f.violations)
}

func number(name string) (n int) {
	_, _ = fmt.Sscanf(name, "I%d", &n)
	return n
}

// Verify fails the test with every violation that Check finds.
func (r *Recorder) Verify(tb testing.TB, o Options) {
	tb.Helper()
	for i, v := range r.Check(o) {
		if i == 20 {
			tb.Error("and more violations")
			return
		}
		tb.Error(v)
	}
}

// findings are what the walks gather, and the violations found.
type findings struct {
	opts       Options
	commands   []Command
	dumps      []Store
	violations []Violation
	count      map[string]int

	chunks    map[life][]*chunk
	runs      map[string][]regen.Key // the sessions that a run was seen in
	startedIn map[string]start
	settledAt map[string][]settlementSeen
	sightings map[regen.Key][]sighting
	edited    map[regen.Key]bool // somebody saw a change of rows outside a run
}

func newFindings(o Options) *findings {
	return &findings{
		opts: o, count: map[string]int{}, chunks: map[life][]*chunk{}, runs: map[string][]regen.Key{}, startedIn: map[string]start{},
		settledAt: map[string][]settlementSeen{}, sightings: map[regen.Key][]sighting{}, edited: map[regen.Key]bool{},
	}
}

// bad notes a violation. After a hundred of one name the rest says nothing new.
func (f *findings) bad(name string, key regen.Key, format string, args ...any) {
	if f.count[name]++; f.count[name] <= 100 {
		f.violations = append(f.violations, Violation{Name: name, Key: key, What: fmt.Sprintf(format, args...)})
	}
}

func (f *findings) newChunk(t *track, from stream.Cursor) *chunk {
	c := &chunk{reader: t.reader, bounds: []stream.Cursor{from}}
	l := life{key: t.key, incarnation: from.Incarnation}
	f.chunks[l] = append(f.chunks[l], c)
	return c
}

func (f *findings) ran(run string, key regen.Key) {
	if run != "" && !slices.Contains(f.runs[run], key) {
		f.runs[run] = append(f.runs[run], key)
	}
}

// start is where and when somebody first saw a run begin.
type start struct {
	key regen.Key
	at  time.Time
}

func (f *findings) started(t *track, run string) {
	if old, ok := f.startedIn[run]; !ok || t.at.Before(old.at) {
		f.startedIn[run] = start{key: t.key, at: t.at}
	}
}

func (f *findings) sighted(t *track, s sighting) {
	s.reader = t.reader
	f.sightings[t.key] = append(f.sightings[t.key], s)
}

func (f *findings) settlement(t *track, pos stream.Cursor, ev *event) {
	f.settledAt[ev.Run] = append(f.settledAt[ev.Run], settlementSeen{key: t.key, pos: pos, outcome: ev.Outcome, reader: t.reader, at: t.at})
}

// walk follows one reader through all of its connections.
func (f *findings) walk(x *Reader) {
	tracks := map[string]*track{}
	for _, s := range x.seen {
		if s.frame == nil {
			for _, t := range tracks {
				t.attached = false
			}
			continue
		}
		fr, err := parseFrame(s.frame)
		if err != nil {
			f.bad(I1, regen.Key{}, "reader %s: a frame cannot be read (%v): %s", x.Name, err, clip(string(s.frame)))
			continue
		}
		if fr.session == "" {
			continue
		}
		t := tracks[fr.session]
		if t == nil {
			t = &track{reader: x.Name, key: regen.Key{Tenant: x.Tenant, Session: fr.session}, f: f}
			tracks[fr.session] = t
		}
		t.node, t.at = s.node, s.at
		switch {
		case fr.event != nil:
			t.event(fr.event)
		case fr.answer == answerView:
			t.attach(fr.view)
		case fr.answer == answerReceipt:
			t.receipt(fr.receipt)
		default:
			t.attached = false
		}
	}
}

// last is the last dump of a session, nil if there is none.
func (f *findings) last(key regen.Key) *Store {
	for i := len(f.dumps) - 1; i >= 0; i-- {
		if f.dumps[i].Key == key {
			return &f.dumps[i]
		}
	}
	return nil
}
