package contract_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/tests/contract"
)

var update = flag.Bool("update", false, "write docs/contract.md")

// root is the repository, from here.
const root = "../.."

// Every promise has a test that proves it, and every mark is about a promise.
func TestEveryRowIsProven(t *testing.T) {
	rows, err := contract.Rows()
	require.NoError(t, err)
	require.Greater(t, len(rows), 100)
	proofs, err := contract.Scan(root)
	require.NoError(t, err)
	require.Empty(t, strings.Join(contract.Complaints(rows, proofs), "\n"))
}

// The page that people read is the one that the marks give.
func TestPageIsCurrent(t *testing.T) {
	rows, err := contract.Rows()
	require.NoError(t, err)
	proofs, err := contract.Scan(root)
	require.NoError(t, err)
	want := contract.Page(rows, proofs)
	path := filepath.Join(root, "docs", "contract.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "write it anew: go test ./tests/contract -update")
}

// The judge itself sees what is missing, what is unknown, and a mark that stands above no test.
func TestJudge(t *testing.T) {
	rows := []contract.Row{
		{ID: "S1", Group: "g", Promise: "one", Need: true}, {ID: "S2", Group: "g", Promise: "two", Need: true},
		{ID: "FC01", Group: "c", Promise: "case", Need: true}, {ID: "T3", Group: "n", Promise: "note"},
	}
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("a_test.go", "package a\n\n// It holds.\n// contract: S1, S9\n// case: FC01, FCx\nfunc TestOne(t *testing.T) {}\n")
	write("b.test.mjs", "// contract: S2\ntest(\"two | things\", async () => {})\n")
	write("c.go", "package a\n\n// contract: S77\nfunc no() {}\n")
	proofs, err := contract.Scan(dir)
	require.NoError(t, err)
	require.Len(t, proofs, 2)
	require.ElementsMatch(t, []string{`a_test.go: TestOne: there is no row "S9"`, `a_test.go: TestOne: "FCx" is no field case`}, contract.Complaints(rows, proofs))
	require.ElementsMatch(t, []string{"S1 has no test: one", "FC01 has no test: case"}, contract.Complaints(rows, proofs[1:]))
	require.Contains(t, contract.Page(rows, proofs), "| S2 | two | `b.test.mjs: two \\| things` |")

	write("d_test.go", "package a\n\n// contract: S1\nvar x = 1\n")
	_, err = contract.Scan(dir)
	require.ErrorContains(t, err, "d_test.go:4")
}
