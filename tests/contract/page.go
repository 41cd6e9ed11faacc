package contract

import (
	_ "embed" // the rows
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed rows.txt
var rowsText string

// Row is one promise.
type Row struct {
	// ID is the row's name in the contract (S1, A10), a section of it (2.13), a note on the design (T3), or a field case (FC01).
	ID string
	// Group is the heading that it stands under.
	Group string
	// Promise is what it promises, in our words.
	Promise string
	// Instead says what took its place, for a row that the design drops; "" for all others.
	Instead string
	// Need says that it must have a test.
	Need bool
}

// Case says whether the row is a field case.
func (r Row) Case() bool { return strings.HasPrefix(r.ID, "FC") }

// Rows gives the rows in order. A line of rows.txt is "ID promise", " instead: text" below it, or "# Group"; a group whose name ends with
// "?" has rows that need no test.
func Rows() ([]Row, error) {
	var rows []Row
	group, need := "", true
	seen := map[string]bool{}
	for n, line := range strings.Split(rowsText, "\n") {
		instead, isInstead := strings.CutPrefix(line, " instead: ")
		switch {
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "# "):
			group, need = strings.CutSuffix(line[2:], "?")
			need = !need
		case isInstead && len(rows) > 0:
			rows[len(rows)-1].Instead = instead
		default:
			id, promise, ok := strings.Cut(line, " ")
			if !ok || seen[id] || group == "" {
				return nil, fmt.Errorf("rows.txt:%d: %q is no row, or comes twice", n+1, line)
			}
			seen[id] = true
			rows = append(rows, Row{ID: id, Group: group, Promise: promise, Need: need})
		}
	}
	return rows, nil
}

// Complaints says what is wrong: rows without a test, marks without a row.
func Complaints(rows []Row, proofs []Proof) (bad []string) {
	known := map[string]Row{}
	for _, r := range rows {
		known[r.ID] = r
		if r.Need && len(proving(r, proofs)) == 0 {
			bad = append(bad, fmt.Sprintf("%s has no test: %s", r.ID, r.Promise))
		}
	}
	number := regexp.MustCompile(`^FC\d+$`)
	for _, p := range proofs {
		for _, id := range p.Rows {
			if r, ok := known[id]; !ok || r.Case() {
				bad = append(bad, fmt.Sprintf("%s: there is no row %q", p, id))
			}
		}
		for _, id := range p.Cases { // those of later parts are marked before they are listed
			if !number.MatchString(id) {
				bad = append(bad, fmt.Sprintf("%s: %q is no field case", p, id))
			}
		}
	}
	return bad
}

func proving(r Row, proofs []Proof) (tests []string) {
	for _, p := range proofs {
		of := p.Rows
		if r.Case() {
			of = p.Cases
		}
		if slices.Contains(of, r.ID) && !slices.Contains(tests, p.String()) {
			tests = append(tests, p.String())
		}
	}
	return tests
}

const head = `# The contract and its proofs

What holdfast promises, row by row, and the tests that prove it. Written by ` + "`go test ./tests/contract -update`" + ` from the marks above the
tests; a test fails when a row has no proof, when a mark names no row, or when this page is out of date. A row whose form in a single
process has no place here says what took its place.
`

// Page gives docs/contract.md.
func Page(rows []Row, proofs []Proof) string {
	var b strings.Builder
	b.WriteString(head)
	group := ""
	for _, r := range rows {
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "\n## %s\n\n| | Promise | Tests |\n|---|---|---|\n", group)
		}
		promise := r.Promise
		if r.Instead != "" {
			promise += " **Here:** " + r.Instead
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.ID, cell(promise), tests(proving(r, proofs)))
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func tests(list []string) string {
	for i, t := range list {
		list[i] = "`" + cell(t) + "`"
	}
	return strings.Join(list, "<br>")
}
