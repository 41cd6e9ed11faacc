package arch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is one line of the import table: what the package may import of ours, and why nothing more.
type row struct {
	pkg string   // a folder; the longest row that it lies in counts
	may []string // folders of ours, themselves only; nil: none
	why string
}

// table is the import table of the design, section 4. A package's own tests may import what they like.
var table = []row{
	{"cmd", []string{"*"}, "only cmd wires"},
	{"tests", []string{"*"}, "tests look at everything"},
	{"regen", nil, "the rules of a turn are values in, values out: what they import could let a clock, a network or a store in"},
	{"ownership", nil, "a lease knows nothing of what it protects, so nothing of that can be needed to decide who is the owner"},
	{"ownership/redislease", []string{"ownership"}, "a store of leases; it must not see what is written under them"},
	{"ownership/leasetest", []string{"ownership"}, "one suite for every store of leases: it knows the layout of keys, not who works on it"},
	{"stream", []string{"ownership", "regen"}, "the record of a session knows epochs and identifiers, not who makes its entries nor where they lie"},
	{"stream/redislog", []string{"stream", "ownership", "regen"}, "a store; turns and sockets use it through stream"},
	{"stream/redislog/embedded", nil, "a server like any other: it knows nothing of what we keep in it"},
	{"stream/logtest", []string{"stream", "ownership", "regen"}, "one suite for every store: it may know none of them"},
	{"stream/turn", []string{"stream", "ownership", "regen"}, "the engine works on any store, for any front: it knows neither"},
	{"stream/upstream", []string{"stream/turn", "regen"}, "a model source turns a prompt into deltas and sees no session, lease or socket"},
	{"stream/upstream/fake", []string{"stream/turn", "regen", "stream/upstream/demo"}, "a provider's server in front of the demo model"},
	{"gateway/wire", nil, "the frames are a protocol of their own, that clients import too"},
	{"gateway/web", nil, "files and a handler; what they talk to is the protocol"},
	{"gateway", []string{"gateway/wire", "stream", "ownership", "regen"}, "not stream/turn: a socket gives commands to an interface of its own, so that a slow or broken socket can reach no run"},
	{"client", []string{"gateway/wire"}, "whoever imports the client must not get the server with it"},
}

// ban says who alone may import something that is not ours.
type ban struct {
	what string // an import path; everything below it too
	only []string
	why  string
}

var bans = []ban{
	{
		"github.com/redis/go-redis", []string{"ownership/redislease", "ownership/leasetest", "stream/redislog", "cmd", "tests"},
		"no core package knows Redis: what is true must hold for any store, and is tested without one",
	},
	{
		"github.com/alicebob/miniredis", []string{"stream/redislog/embedded", "tests"},
		"it must be reached without a listener and over a buffered connection, and only one place does that",
	},
	{
		"github.com/coder/websocket", []string{"gateway", "client", "cmd", "tests"},
		"turns and streams know subscribers, not sockets",
	},
	{
		"github.com/tmaxmax/go-sse", []string{"stream/upstream", "gateway", "client", "tests"},
		"only who talks to a provider or a browser reads event streams",
	},
	{"github.com/spf13", []string{"cmd", "tests"}, "flags are read in cmd alone and reach the rest as plain structs"},
	{"github.com/knadh/koanf", []string{"cmd", "tests"}, "settings are read in cmd alone and reach the rest as plain structs"},
	{"github.com/prometheus", []string{"cmd", "tests"}, "core packages report through small structs of funcs; names of metrics stand in cmd alone"},
	{"go.opentelemetry.io", []string{"cmd", "tests"}, "core packages report through small structs of funcs"},
	{"github.com/stretchr/testify", []string{"ownership/leasetest", "stream/logtest", "tests"}, "a test library has no place in the program"},
	{"testing", []string{"ownership/leasetest", "stream/logtest", "tests"}, "it brings flags of its own into the program"},
	{"net/http/httptest", []string{"tests"}, "a test library has no place in the program"},
	{"net/http/pprof", []string{"cmd"}, "its import alone puts handlers on the default mux"},
	{"unsafe", nil, "nothing here is worth it"},
	{"log", nil, "log/slog, so that every line has its fields"},
}

// means says whether the ban is about this import. The standard library's folders are packages of their own (log/slog is not log).
func (b ban) means(imported string) bool {
	if strings.Contains(b.what, ".") {
		return within(imported, b.what)
	}
	return imported == b.what
}

// allowed gives the row of the table that decides for a package.
func allowed(pkg string) *row {
	var best *row
	for i := range table {
		if r := &table[i]; within(pkg, r.pkg) && (best == nil || len(r.pkg) > len(best.pkg)) {
			best = r
		}
	}
	return best
}

func importComplaints(all tree) (bad []string) {
	for _, s := range all {
		if s.test {
			continue
		}
		r := allowed(s.pkg)
		if r == nil {
			bad = append(bad, fmt.Sprintf("%s: package %s is not in the import table: give it a row and a reason", s.path, s.pkg))
			continue
		}
		for _, imported := range s.imports {
			folder, our := ours(imported)
			if our && !slices.Contains(r.may, "*") && !slices.Contains(r.may, folder) {
				bad = append(bad, fmt.Sprintf("%s imports %s: %s may import %v of ours (%s)", s.path, imported, r.pkg, r.may, r.why))
			}
			for _, b := range bans {
				here := func(dir string) bool { return within(s.pkg, dir) }
				if b.means(imported) && !slices.ContainsFunc(b.only, here) {
					bad = append(bad, fmt.Sprintf("%s imports %s, which only %v may: %s", s.path, imported, b.only, b.why))
				}
			}
		}
	}
	return bad
}

// Nobody imports what the design keeps from them.
func TestImports(t *testing.T) {
	require.Empty(t, strings.Join(importComplaints(whole(t)), "\n"))
}

// Every row of the table is about a package that is there, so that the table stays true.
func TestTableIsCurrent(t *testing.T) {
	all := whole(t)
	for _, r := range table {
		require.True(t, slices.ContainsFunc(all, func(s *source) bool { return within(s.pkg, r.pkg) }), "no package %s", r.pkg)
		require.NotEmpty(t, r.why)
	}
}
