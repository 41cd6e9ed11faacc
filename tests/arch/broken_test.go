package arch_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Each rule complains about source that breaks it, and only then.
func TestRulesBite(t *testing.T) {
	sleeps := func(all tree) []string { return sleepComplaints(all, map[string]string{"a_test.go helper": "it must"}) }
	bubble := "package a\nimport (\"time\"; \"testing/synctest\")\nfunc bubble(f func()) { synctest.Test(nil, f) }\n"
	for name, c := range map[string]struct {
		rule func(tree) []string
		path string
		text string
		want string // "" is no complaint
	}{
		"core imports a client":    {importComplaints, "stream/a.go", `import _ "github.com/redis/go-redis/v9"`, "no core package knows Redis"},
		"the store may":            {importComplaints, "stream/redislog/a.go", `import _ "github.com/redis/go-redis/v9"`, ""},
		"a test may":               {importComplaints, "stream/a_test.go", `import _ "github.com/redis/go-redis/v9"`, ""},
		"the front knows turns":    {importComplaints, "gateway/a.go", `import _ "holdfast/stream/turn"`, "can reach no run"},
		"the front knows streams":  {importComplaints, "gateway/a.go", `import _ "holdfast/stream"`, ""},
		"wire imports ours":        {importComplaints, "gateway/wire/a.go", `import _ "holdfast/regen"`, "gateway/wire may import []"},
		"a package without a row":  {importComplaints, "utils/a.go", ``, "not in the import table"},
		"log":                      {importComplaints, "stream/a.go", `import _ "log"`, "log/slog"},
		"slog":                     {importComplaints, "stream/a.go", `import _ "log/slog"`, ""},
		"regen reads the clock":    {pureComplaints, "regen/a.go", `import _ "time"`, "regen is pure"},
		"regen writes":             {pureComplaints, "regen/a.go", "import \"fmt\"\nfunc f() { fmt.Println() }", "tells nobody"},
		"regen starts a goroutine": {pureComplaints, "regen/a.go", "func f() { go f() }", "a goroutine"},
		"regen has state":          {pureComplaints, "regen/a.go", "func init() {}", "no state"},
		"regen formats":            {pureComplaints, "regen/a.go", "import \"fmt\"\nfunc f() { _ = fmt.Sprint() }", ""},
		"a long file":              {shapeComplaints, "a_test.go", strings.Repeat("//\n", 600), "600 are the most"},
		"a long function":          {shapeComplaints, "a_test.go", "func f() {" + strings.Repeat("\n", 100) + "}", "f has 101 lines"},
		"a longish function":       {shapeComplaints, "a.go", "func f() {" + strings.Repeat("\n", 60) + "}", "1 of 1 functions"},
		"long files":               {shapeComplaints, "a.go", strings.Repeat("//\n", 150), "half of the files"},
		"no doc.go":                {docComplaints, "a.go", "", "no doc.go"},
		"an exported function":     {docComplaints, "doc.go", "func F() {}", "F has no comment"},
		"a method":                 {docComplaints, "doc.go", "type t struct{}\nfunc (*t) M() {}", ""},
		"another name":             {docComplaints, "doc.go", "// It does.\nfunc F() {}", "another name"},
		"an exported value":        {docComplaints, "doc.go", "var X int", "X has no comment"},
		"explained values":         {docComplaints, "doc.go", "// Those that are.\nconst (\n\tX = 1\n\tY = 2\n)", ""},
		"a sleep": {
			sleeps, "b_test.go", "import \"time\"\nfunc TestB() { time.Sleep(1) }", `b_test.go:3: time.Sleep outside a bubble`,
		},
		"a sleep in a library of tests": {sleeps, "tests/x/b.go", "import \"time\"\nfunc B() { time.Sleep(1) }", "outside a bubble"},
		"a sleep in the program":        {sleeps, "b.go", "import \"time\"\nfunc B() { time.Sleep(1) }", ""},
		"a sleep in a bubble":           {sleeps, "b_test.go", "import \"time\"\nfunc TestB() { bubble(func() { time.Sleep(1) }) }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			clause := "package a\n"
			if strings.HasSuffix(c.path, "doc.go") {
				clause = "/* " + strings.Repeat("What holds in package a. ", 10) + "*/\n" + clause
			}
			all, err := read(fstest.MapFS{
				c.path:      {Data: []byte(clause + c.text + "\n")},
				"a_test.go": {Data: []byte(bubble + "func helper() { time.Sleep(1) }\n")},
			})
			if c.path == "a_test.go" {
				all, err = read(fstest.MapFS{c.path: {Data: []byte(clause + c.text + "\n")}})
			}
			require.NoError(t, err)
			got := strings.Join(c.rule(all), "\n")
			if c.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.want)
			}
		})
	}
}

// A function on the list of those who may sleep, and does not, is a complaint too.
func TestListIsCurrent(t *testing.T) {
	require.Contains(t, strings.Join(sleepComplaints(nil, map[string]string{"x_test.go f": "why"}), ""), "take it off the list")
}
