package history

import (
	"maps"
	"slices"
	"strings"

	"holdfast/stream"
)

// refused checks I8 where dumps from before and after were recorded.
func (f *findings) refused(list []refusal) {
	for _, r := range list {
		for _, what := range Changes(r.before, r.after) {
			f.bad(I8, r.after.Key, "%s with key %q was refused (%s), and changed %s", r.command.Op, r.command.Key, r.command.Code, what)
		}
	}
}

// acquired are the fields of the head that move when a node takes an idle session, which a command may do before it is refused.
var acquired = []string{"epoch", "seq", "batch", "fences", "before"}

// Changes says what differs between two dumps of a session, apart from leases and what taking an idle session moves.
func Changes(before, after Store) []string {
	var out []string
	hash := func(name string, a, b map[string]string, skip ...string) {
		for _, field := range slices.Sorted(maps.Keys(merged(a, b))) {
			if a[field] != b[field] && !slices.Contains(skip, field) {
				out = append(out, name+" "+field+": "+clip(a[field])+" → "+clip(b[field]))
			}
		}
	}
	skip := acquired
	if !before.Exists() {
		// A node may have taken a session that does not exist yet: it then has a life, and is version 0 still.
		skip = append(slices.Clone(acquired), "inc", "ver", "rver")
		if after.Exists() {
			out = append(out, "the session came into being")
		}
	}
	hash("head", before.Head, after.Head, skip...)
	hash("field", before.Doc, after.Doc)
	hash("variant", before.Variants, after.Variants)
	hash("receipt", before.Keys, after.Keys)
	hash("stop", before.Cancel, after.Cancel)
	if !slices.Equal(before.Rows, after.Rows) {
		out = append(out, "the display rows")
	}
	if !slices.Equal(before.Context, after.Context) {
		out = append(out, "the context rows")
	}
	if a, b := entries(before.Log), entries(after.Log); a != b {
		out = append(out, "the log: "+around(a, b)+" → "+around(b, a))
	}
	return out
}

func merged(a, b map[string]string) map[string]string {
	m := maps.Clone(a)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, b)
	return m
}

// entries is the log without its markers.
func entries(log []stream.Entry) string {
	var b strings.Builder
	for _, e := range log {
		if e.Kind != stream.KindMarker {
			b.WriteString(e.ID.String() + " " + string(e.Kind) + " " + e.Data + "\n")
		}
	}
	return b.String()
}
