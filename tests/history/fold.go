package history

import (
	"fmt"

	"holdfast/regen"
	"holdfast/stream"
)

// compareDocuments checks that everybody who was at one position had the same document there (I6) and the same revision (I11), and that
// both are the store's where a dump was taken at that position.
func (f *findings) compareDocuments() {
	for key, list := range f.sightings {
		first := map[stream.Cursor]sighting{}
		revised := map[stream.Cursor]sighting{}
		for _, s := range list {
			f.handedOut(key, s)
			if o, ok := first[s.pos]; !ok {
				first[s.pos] = s
			} else if what := differ(o.doc, s.doc); what != "" {
				f.bad(I6, key, "at %s the documents of reader %s and reader %s differ: %s", s.pos, o.reader, s.reader, what)
			}
			if !s.hasRevision {
				continue
			}
			if o, ok := revised[s.pos]; !ok {
				revised[s.pos] = s
			} else if o.revision != s.revision {
				f.bad(I11, key, "at %s reader %s got the revision %q and reader %s %q", s.pos, o.reader, o.revision, s.reader, s.revision)
			}
		}
		for i := range f.dumps {
			if f.dumps[i].Key == key && f.dumps[i].Exists() {
				f.matches(fmt.Sprintf("dump %d", i+1), &f.dumps[i], first, revised)
			}
		}
	}
}

// matches compares a dump with what was seen at its position.
func (f *findings) matches(name string, s *Store, first, revised map[stream.Cursor]sighting) {
	d, err := s.document()
	if err != nil {
		return // said by readDump
	}
	pos := s.changed()
	if seen, ok := first[pos]; ok {
		view, err := s.view(d)
		if err != nil {
			f.bad(I6, s.Key, "%s: rows cannot be shown: %v", name, err)
		} else if what := differ(view, seen.doc); what != "" {
			f.bad(I6, s.Key, "%s at %s is not what reader %s has there: %s", name, pos, seen.reader, what)
		}
	}
	if seen, ok := revised[pos]; ok {
		if want, _ := d.Minted(); seen.revision != want && d.Active == nil {
			f.bad(I11, s.Key, "reader %s got the revision %q at %s, and that of %s is %q", seen.reader, seen.revision, pos, name, want)
		}
	}
}

// changed is the position of the last entry that changed the document: what follows it is text and titles.
func (s *Store) changed() stream.Cursor {
	for i := len(s.Log) - 1; i >= 0; i-- {
		switch e := s.Log[i]; e.Kind {
		case stream.KindStarted, stream.KindSettled:
			return stream.Cursor{Incarnation: s.Head["inc"], ID: e.ID}
		case stream.KindSession:
			if ev, err := entryEvent(e); err == nil && ev.Change == "rows" {
				return stream.Cursor{Incarnation: s.Head["inc"], ID: e.ID}
			}
		}
	}
	return s.top()
}

// handedOut checks one revision by itself: none while a run is active, and never without the whole last exchange.
func (f *findings) handedOut(key regen.Key, s sighting) {
	if s.revision == "" || !s.hasRevision {
		return
	}
	if s.active {
		f.bad(I11, key, "reader %s got a revision at %s while a run was active", s.reader, s.pos)
		return
	}
	if !s.view && !s.doc.whole {
		return // an event adds to what the reader has, and we do not know all of that
	}
	answered := false
	for i := len(s.doc.rows) - 1; i >= 0; i-- {
		switch r := s.doc.rows[i]; r.Role {
		case string(regen.RoleUser):
			if !answered {
				f.bad(I11, key, "reader %s got a revision at %s behind a prompt without an answer", s.reader, s.pos)
			}
			return
		case string(regen.RoleAssistant):
			answered = true
		}
	}
	f.bad(I11, key, "reader %s got a revision at %s without the whole last exchange: it has the rows %s", s.reader, s.pos, ids(s.doc.rows))
}
