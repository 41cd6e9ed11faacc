package arch_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pureImports is all that regen may import. Anything that can do input or output, read a clock or draw a number is not in it.
var pureImports = []string{
	"bytes", "cmp", "crypto/sha256", "encoding", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt",
	"hash", "iter", "maps", "math", "math/bits", "slices", "sort", "strconv", "strings", "unicode", "unicode/utf16", "unicode/utf8",
}

// impure are names of packages in that list that write somewhere.
var impure = map[string][]string{
	"fmt": {"Print", "Printf", "Println", "Fprint", "Fprintf", "Fprintln", "Scan", "Scanf", "Scanln"},
}

func pureComplaints(all tree) (bad []string) {
	for _, s := range all {
		if s.test || !within(s.pkg, "regen") {
			continue
		}
		for _, imported := range s.imports {
			if !slices.Contains(pureImports, imported) {
				bad = append(bad, fmt.Sprintf("%s imports %s: regen is pure, times and ids are arguments", s.path, imported))
			}
		}
		for imported, names := range impure {
			s.calls(imported, func(name string, n *ast.SelectorExpr) {
				if slices.Contains(names, name) {
					bad = append(bad, fmt.Sprintf("%s: %s.%s: regen is pure and tells nobody", s.at(n.Pos()), imported, name))
				}
			})
		}
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				bad = append(bad, fmt.Sprintf("%s: init: regen has no state", s.at(f.Pos())))
			}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				bad = append(bad, fmt.Sprintf("%s: a goroutine: regen is pure", s.at(g.Pos())))
			}
			return true
		})
	}
	return bad
}

// regen cannot read a clock, draw a number, or do input or output: what it decides depends on its arguments alone.
func TestRegenIsPure(t *testing.T) {
	require.Empty(t, strings.Join(pureComplaints(whole(t)), "\n"))
}
