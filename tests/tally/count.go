package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of "go test -json".
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// result counts tests; the zero value is none.
type result struct{ passed, failed, skipped int }

// String is the line that scripts look for.
func (r result) String() string {
	s := fmt.Sprintf("%d passed, %d failed", r.passed, r.failed)
	if r.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", r.skipped)
	}
	return s
}

// pkg is what is known of one package.
type pkg struct {
	result
	seconds float64
	parents map[string]bool // tests with subtests
	broken  map[string]bool // tests that have a failed subtest
}

// tally adds events up and writes what a person must see to out, at once.
type tally struct {
	out  io.Writer
	all  bool                        // a skipped test is a failure
	said map[string]*strings.Builder // output of each test, package or build
	pkgs map[string]*pkg
}

func newTally(out io.Writer, all bool) *tally {
	return &tally{out: out, all: all, said: map[string]*strings.Builder{}, pkgs: map[string]*pkg{}}
}

func (t *tally) add(e event) {
	id := e.Package + " " + e.Test
	if e.Package == "" {
		id = e.ImportPath
	}
	switch e.Action {
	case "output", "build-output":
		if t.said[id] == nil {
			t.said[id] = &strings.Builder{}
		}
		t.said[id].WriteString(e.Output)
		return
	case "build-fail":
		t.print("FAIL  build of %s\n%s", e.ImportPath, t.take(id))
		return // the package's own failure follows
	case "run":
		t.parent(e)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	p := t.pkg(e.Package)
	if e.Test == "" {
		t.ended(p, e, t.take(id))
		return
	}
	t.tested(p, e, t.take(id))
}

// parent notes that the tests above this one have subtests.
func (t *tally) parent(e event) {
	p := t.pkg(e.Package)
	for i, c := range e.Test {
		if c == '/' {
			p.parents[e.Test[:i]] = true
		}
	}
}

func (t *tally) tested(p *pkg, e event, said string) {
	switch {
	case e.Action == "fail", e.Action == "skip" && t.all:
		for i, c := range e.Test {
			if c == '/' {
				p.broken[e.Test[:i]] = true
			}
		}
		if e.Action == "skip" {
			said = "a skip, and HOLDFAST_TEST_ALL=1 allows none: " + reason(said) + "\n"
		}
		if p.broken[e.Test] && reason(said) == noReason {
			return // it failed because a subtest did, and that was told
		}
		p.failed++
		t.print("FAIL  %s %s\n%s", e.Package, e.Test, said)
	case e.Action == "skip":
		p.skipped++
		t.print("skip  %s %s: %s\n", e.Package, e.Test, reason(said))
	case !p.parents[e.Test]:
		p.passed++
	}
}

// ended notes that a package's tests are over. It may have failed with no test to blame: no build, a leak found at the end, a crash.
func (t *tally) ended(p *pkg, e event, said string) {
	p.seconds = e.Elapsed
	if e.Action == "fail" && p.failed == 0 {
		p.failed++
		t.print("FAIL  %s\n%s", e.Package, said)
	}
}

// close prints a line for each package that has tests and gives the sum.
func (t *tally) close() result {
	names := make([]string, 0, len(t.pkgs))
	for name := range t.pkgs {
		names = append(names, name)
	}
	slices.Sort(names)
	var sum result
	for _, name := range names {
		p := t.pkgs[name]
		if p.result != (result{}) {
			t.print("      %-36s %4d passed %3d failed %3d skipped %7.1f s\n", name, p.passed, p.failed, p.skipped, p.seconds)
		}
		sum.passed += p.passed
		sum.failed += p.failed
		sum.skipped += p.skipped
	}
	return sum
}

func (t *tally) pkg(name string) *pkg {
	if t.pkgs[name] == nil {
		t.pkgs[name] = &pkg{parents: map[string]bool{}, broken: map[string]bool{}}
	}
	return t.pkgs[name]
}

// take gives what was said under id, and forgets it.
func (t *tally) take(id string) string {
	b := t.said[id]
	if b == nil {
		return ""
	}
	delete(t.said, id)
	return b.String()
}

func (t *tally) print(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format, args...) }

const noReason = "no reason given"

// reason is the first line that the test itself wrote.
func reason(said string) string {
	for line := range strings.SplitSeq(said, "\n") {
		if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "=== ") && !strings.HasPrefix(s, "--- ") {
			return s
		}
	}
	return noReason
}
