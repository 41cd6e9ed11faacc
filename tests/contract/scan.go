package contract

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Proof is a test with the rows that it proves.
type Proof struct {
	// File is the path below the repository's root, with slashes.
	File string
	// Test is the function's name, or the test's title where it has no name.
	Test string
	// Rows and Cases are the ids of the marks above it.
	Rows, Cases []string
}

// String gives "file: test".
func (p Proof) String() string { return p.File + ": " + p.Test }

var (
	mark     = regexp.MustCompile(`^// (contract|case): (.+)$`)
	function = regexp.MustCompile(`^func (?:\([^)]*\) )?([A-Za-z0-9_]+)\(`)
	title    = regexp.MustCompile(`^(?:test|it)\(["'` + "`" + `](.+?)["'` + "`" + `],`)
)

// Scan gives the marked tests below root, in the order of their paths.
func Scan(root string) ([]Proof, error) {
	var proofs []Proof
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !holdsTests(path):
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found, err := marks(filepath.ToSlash(rel), src)
		proofs = append(proofs, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("scan for marks: %w", err)
	}
	return proofs, nil
}

// holdsTests says whether a file may have marks: tests, and the suites that stores are tested with.
func holdsTests(path string) bool {
	slash := filepath.ToSlash(path)
	return strings.HasSuffix(slash, "_test.go") || strings.HasSuffix(slash, ".test.mjs") || strings.HasSuffix(slash, ".test.ts") ||
		strings.HasSuffix(slash, ".go") && (strings.Contains(slash, "/logtest/") || strings.Contains(slash, "/leasetest/"))
}

// marks gives the marked tests of one file. A mark that no test follows is an error: it would prove nothing and be missed by nobody.
func marks(file string, src []byte) ([]Proof, error) {
	var proofs []Proof
	var open Proof
	lines := bufio.NewScanner(bytes.NewReader(src))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if m := mark.FindStringSubmatch(line); m != nil {
			if m[1] == "contract" {
				open.Rows = append(open.Rows, ids(m[2])...)
			} else {
				open.Cases = append(open.Cases, ids(m[2])...)
			}
			continue
		}
		if len(open.Rows)+len(open.Cases) == 0 || strings.HasPrefix(line, "//") {
			continue
		}
		m := function.FindStringSubmatch(line)
		if m == nil {
			m = title.FindStringSubmatch(line)
		}
		if m == nil {
			return nil, fmt.Errorf("%s:%d: a mark without a test below it", file, n)
		}
		open.File, open.Test = file, m[1]
		proofs = append(proofs, open)
		open = Proof{}
	}
	return proofs, lines.Err()
}

func ids(list string) []string {
	var out []string
	for id := range strings.SplitSeq(list, ",") {
		if id = strings.TrimSpace(id); id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
