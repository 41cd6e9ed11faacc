package arch_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the module's path.
const module = "holdfast"

// source is one Go file.
type source struct {
	path    string // from the module's root, with slashes
	pkg     string // its folder; "." is the root
	test    bool   // *_test.go
	lines   int
	syntax  *ast.File
	fset    *token.FileSet
	imports []string
}

// at gives a position as a person can click it.
func (s *source) at(p token.Pos) string { return s.path + ":" + strconv.Itoa(s.fset.Position(p).Line) }

// ours gives the import as a folder of the module, or false.
func ours(imported string) (string, bool) { return strings.CutPrefix(imported, module+"/") }

// tree is all of the module's Go files.
type tree []*source

// whole reads the module that this test belongs to.
func whole(t *testing.T) tree {
	t.Helper()
	all, err := read(os.DirFS("../.."))
	require.NoError(t, err)
	require.Greater(t, len(all), 50, "the module's root is two folders up")
	return all
}

func read(root fs.FS) (tree, error) {
	var all tree
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			base := d.Name()
			if name != "." && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata" || base == "vendor") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		s := &source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), fset: token.NewFileSet()}
		s.lines = bytes.Count(text, []byte("\n"))
		if s.syntax, err = parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		for _, spec := range s.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	return all, err
}

// within says whether folder is dir or lies below it.
func within(folder, dir string) bool { return folder == dir || strings.HasPrefix(folder, dir+"/") }

// calls walks all uses of a package's names in a file: f gets the name after the dot.
func (s *source) calls(imported string, f func(name string, n *ast.SelectorExpr)) {
	local := ""
	for _, spec := range s.syntax.Imports {
		if spec.Path.Value == strconv.Quote(imported) {
			local = path.Base(imported)
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	if local == "" {
		return
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				f(sel.Sel.Name, sel)
			}
		}
		return true
	})
}
