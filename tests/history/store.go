package history

import (
	"encoding/json"
	"strings"

	"holdfast/regen"
)

// readDump checks what one dump must hold by itself: readable elements, one user row per turn in both lists (I7), chains that are
// those of the rows, and the revision that they give (I11).
func (f *findings) readDump(n int, s *Store) {
	if !s.Exists() {
		return
	}
	d, err := s.document()
	if err != nil {
		f.bad(I6, s.Key, "dump %d: the document cannot be read: %v", n, err)
		return
	}
	shown := make(map[string]*regen.Row, len(d.Rows))
	byTurn := map[string]int{}
	for _, l := range d.Rows {
		shown[l.Row.ID] = l.Row
		if l.Row.Role == regen.RoleUser && l.Row.Turn != "" {
			byTurn[l.Row.Turn]++
		}
	}
	inContext := map[string]int{}
	for i, l := range d.Context {
		r := l.Row
		if r == nil {
			if r = shown[l.Ref]; r == nil {
				f.bad(I7, s.Key, "dump %d: context element %d refers to row %s, which is not on display", n, i, l.Ref)
				continue
			}
		}
		if r.Role == regen.RoleUser && r.Turn != "" {
			inContext[r.Turn]++
		}
	}
	for turn, count := range byTurn {
		if count != 1 || inContext[turn] != 1 {
			f.bad(I7, s.Key, "dump %d: turn %s has %d user rows on display and %d in context", n, turn, count, inContext[turn])
		}
		delete(inContext, turn)
	}
	for turn, count := range inContext {
		f.bad(I7, s.Key, "dump %d: turn %s has no user row on display and %d in context", n, turn, count)
	}
	f.chains(n, s, shown)
	if want := d.Revision(); s.Head["rev"] != want {
		f.bad(I11, s.Key, "dump %d: the head's revision is %q, and the rows give %q", n, s.Head["rev"], want)
	}
}

// chains recomputes both chains from the rows' own bytes.
func (f *findings) chains(n int, s *Store, shown map[string]*regen.Row) {
	encoded := make(map[string]string, len(shown))
	chain := regen.EmptyChain
	for i, e := range s.Rows {
		stored, raw, _ := strings.Cut(e, " ")
		if chain = regen.NextChain(chain, raw); string(chain) != stored {
			f.bad(I11, s.Key, "dump %d: row %d has a chain that is not its rows'", n, i)
			return
		}
		var r struct{ ID string }
		_ = json.Unmarshal([]byte(raw), &r) // decoded before
		encoded[r.ID] = raw
	}
	chain = regen.EmptyChain
	for i, e := range s.Context {
		stored, raw, _ := strings.Cut(e, " ")
		if ref, ok := strings.CutPrefix(raw, "@"); ok {
			if raw, ok = encoded[ref]; !ok {
				return // dangling: said under I7
			}
		}
		if chain = regen.NextChain(chain, raw); string(chain) != stored {
			f.bad(I11, s.Key, "dump %d: context element %d has a chain that is not its rows'", n, i)
			return
		}
	}
}

// view is the document of a dump as readers see it.
func (s *Store) view(d *regen.Document) (tail, error) {
	raws := make([]json.RawMessage, len(d.Rows))
	for i, l := range d.Rows {
		raws[i] = d.Public(*l.Row)
	}
	rows, err := parseRows(raws)
	return tail{rows: rows, whole: true}, err
}
