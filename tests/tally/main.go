// Command tally reads the output of "go test -json", shows what failed in full, what was skipped and why, and what ran. Its last line
// counts: "N passed, N failed". It exits with 1 when something failed; with HOLDFAST_TEST_ALL=1 a skipped test is a failure.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
)

type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

type pkg struct {
	passed, failed, skipped int
	seconds                 float64
}

func main() {
	all := os.Getenv("HOLDFAST_TEST_ALL") == "1"
	output := map[string]*strings.Builder{} // of a test, or of a package
	pkgs := map[string]*pkg{}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	bad := 0
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // not ours: the go command itself
			continue
		}
		id := e.Package + " " + e.Test
		if e.Package == "" {
			id = e.ImportPath
		}
		switch e.Action {
		case "output", "build-output":
			if output[id] == nil {
				output[id] = &strings.Builder{}
			}
			output[id].WriteString(e.Output)
		case "build-fail":
			fmt.Print(text(output[id]))
			bad++
		case "pass", "fail", "skip":
			p := pkgs[e.Package]
			if p == nil {
				p = &pkg{}
				pkgs[e.Package] = p
			}
			bad += p.count(e, all, text(output[id]))
			if e.Action == "pass" {
				delete(output, id)
			}
		}
	}
	summary(pkgs, bad)
}

// count notes one result and gives 1 if it is a failure that must end the run.
func (p *pkg) count(e event, all bool, out string) int {
	if e.Test == "" {
		p.seconds = e.Elapsed
		if e.Action != "fail" {
			return 0
		}
		if p.failed == 0 {
			fmt.Printf("FAIL %s\n%s", e.Package, out)
		}
		return 1
	}
	switch {
	case e.Action == "pass":
		p.passed++
		return 0
	case e.Action == "skip" && !all:
		p.skipped++
		fmt.Printf("skip %s %s: %s\n", e.Package, e.Test, reason(out))
		return 0
	}
	p.failed++
	fmt.Printf("%s %s %s\n%s", strings.ToUpper(e.Action), e.Package, e.Test, out)
	return 1
}

func text(b *strings.Builder) string {
	if b == nil {
		return ""
	}
	return b.String()
}

// reason is the line that t.Skip wrote.
func reason(out string) string {
	for line := range strings.SplitSeq(out, "\n") {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "=== ") && !strings.HasPrefix(t, "--- ") {
			return t
		}
	}
	return "no reason given"
}

func summary(pkgs map[string]*pkg, bad int) {
	names := make([]string, 0, len(pkgs))
	for name := range pkgs {
		names = append(names, name)
	}
	sort.Strings(names)
	var sum pkg
	for _, name := range names {
		p := pkgs[name]
		if p.passed+p.failed+p.skipped > 0 {
			fmt.Printf("      %-36s %4d passed %3d failed %3d skipped %7.1f s\n", name, p.passed, p.failed, p.skipped, p.seconds)
		}
		sum.passed += p.passed
		sum.failed += p.failed
	}
	if bad > 0 && sum.failed == 0 {
		sum.failed = bad
	}
	fmt.Printf("%d passed, %d failed\n", sum.passed, sum.failed)
	if bad > 0 || sum.passed == 0 {
		os.Exit(1)
	}
}
