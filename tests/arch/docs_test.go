package arch_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func docComplaints(all tree) (bad []string) {
	explained := map[string]bool{} // folders whose doc.go explains the package
	var folders []string
	for _, s := range all {
		if !slices.Contains(folders, s.pkg) {
			folders = append(folders, s.pkg)
		}
		if path.Base(s.path) == "doc.go" && len(s.syntax.Doc.Text()) > 100 {
			explained[s.pkg] = true
		}
		if !s.test && s.syntax.Name.Name != "main" {
			bad = append(bad, undocumented(s)...)
		}
	}
	for _, folder := range folders {
		if !explained[folder] {
			bad = append(bad, folder+": no doc.go that says what holds, what is trusted and what can go wrong")
		}
	}
	return bad
}

// undocumented complains about each exported name without a comment of its own, and about a comment that does not name it.
func undocumented(s *source) (bad []string) {
	for _, d := range s.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
				bad = append(bad, explain(s, d, d.Name.Name, d.Doc, true)...)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					doc := spec.Doc
					if doc == nil && len(d.Specs) == 1 {
						doc = d.Doc
					}
					if spec.Name.IsExported() {
						bad = append(bad, explain(s, spec, spec.Name.Name, doc, true)...)
					}
				case *ast.ValueSpec:
					// The comment of a group is enough for all of it.
					doc := first(spec.Doc, spec.Comment, d.Doc)
					for _, name := range spec.Names {
						if name.IsExported() {
							bad = append(bad, explain(s, name, name.Name, doc, false)...)
						}
					}
				}
			}
		}
	}
	return bad
}

func first(docs ...*ast.CommentGroup) *ast.CommentGroup {
	for _, d := range docs {
		if d != nil {
			return d
		}
	}
	return nil
}

func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func explain(s *source, n ast.Node, name string, doc *ast.CommentGroup, named bool) []string {
	text := strings.TrimSpace(doc.Text())
	if text == "" {
		return []string{fmt.Sprintf("%s: %s has no comment", s.at(n.Pos()), name)}
	}
	words := strings.Fields(text)
	if named && !slices.Contains(words[:min(2, len(words))], name) && !strings.HasPrefix(text, "Deprecated:") {
		return []string{fmt.Sprintf("%s: the comment of %s begins with another name", s.at(n.Pos()), name)}
	}
	return nil
}

// Every package says what holds in it, and every exported name what it is.
func TestEverythingIsExplained(t *testing.T) {
	require.Empty(t, strings.Join(docComplaints(whole(t)), "\n"))
}
