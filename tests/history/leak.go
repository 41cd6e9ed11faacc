package history

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"holdfast/regen"
)

// leaks checks I9: texts that belong to one session stand in no other's frames or keys, and no run was seen in two sessions.
func (f *findings) leaks(marks []mark, readers []*Reader) {
	for _, run := range slices.Sorted(maps.Keys(f.runs)) {
		if in := f.runs[run]; len(in) > 1 {
			f.bad(I9, in[1], "run %s was also seen in session %s", run, in[0])
		}
	}
	if len(marks) == 0 {
		return
	}
	for _, x := range readers {
		for _, s := range x.seen {
			if s.frame == nil {
				continue
			}
			key := regen.Key{Tenant: x.Tenant}
			if fr, err := parseFrame(s.frame); err == nil {
				key.Session = fr.session
			}
			f.marked(marks, key, "reader "+x.Name+" got it in a frame: ", s.frame)
		}
	}
	for i := range f.dumps {
		raw, err := json.Marshal(f.dumps[i])
		if err == nil {
			f.marked(marks, f.dumps[i].Key, "the store has it: ", raw)
		}
	}
}

func (f *findings) marked(marks []mark, key regen.Key, where string, raw []byte) {
	for _, m := range marks {
		if m.key == key {
			continue
		}
		if i := bytes.Index(raw, m.text); i >= 0 {
			from := max(0, i-100)
			f.bad(I9, key, "%q belongs to session %s; %s%s", m.text, m.key, where, clip(string(raw[from:])))
		}
	}
}
