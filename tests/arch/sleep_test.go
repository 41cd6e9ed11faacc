package arch_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maySleep lists functions of tests that call time.Sleep outside a bubble, or inside one that this test cannot see, each with the
// reason. The key is "file function".
var maySleep = map[string]string{
	"gateway/follow_test.go TestStalledReader": "paces a flood of entries; nothing waits for it, and the loop ends on a signal",
	"ownership/watcher_test.go clock":          "runs in the bubble of the test that calls it, and copies the bubble's time to the store",
}

// sleepComplaints looks at tests and test libraries. Inside a function given to synctest.Test, or to a helper of the same package that
// hands it on to synctest.Test, time is the bubble's, and a sleep is exact and costs nothing.
func sleepComplaints(all tree, may map[string]string) (bad []string) {
	bubbles := map[string]bool{} // "folder name" of such helpers
	for _, s := range all {
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && callsBubble(f.Body) {
				bubbles[s.pkg+" "+f.Name.Name] = true
			}
		}
	}
	used := map[string]bool{}
	for _, s := range all {
		if !s.test && !within(s.pkg, "tests") {
			continue
		}
		inside := bubbleSpans(s, bubbles)
		s.calls("time", func(name string, n *ast.SelectorExpr) {
			if name != "Sleep" || covered(inside, n.Pos()) {
				return
			}
			key := s.path + " " + enclosing(s, n.Pos())
			if used[key] = true; may[key] == "" {
				bad = append(bad, fmt.Sprintf("%s: time.Sleep outside a bubble: wait for a signal (%q)", s.at(n.Pos()), key))
			}
		})
	}
	for key := range may {
		if !used[key] {
			bad = append(bad, fmt.Sprintf("%q may sleep and does not: take it off the list", key))
		}
	}
	return bad
}

func isBubble(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "synctest" && sel.Sel.Name == "Test"
}

func callsBubble(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isBubble(call) {
			found = true
		}
		return !found
	})
	return found
}

type span struct{ from, to token.Pos }

// bubbleSpans gives the function literals of a file that run inside a bubble.
func bubbleSpans(s *source, bubbles map[string]bool) (spans []span) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, _ := call.Fun.(*ast.Ident)
		if !isBubble(call) && (name == nil || !bubbles[s.pkg+" "+name.Name]) {
			return true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.FuncLit); ok {
				spans = append(spans, span{lit.Pos(), lit.End()})
			}
		}
		return true
	})
	return spans
}

func covered(spans []span, p token.Pos) bool {
	for _, s := range spans {
		if s.from <= p && p < s.to {
			return true
		}
	}
	return false
}

func enclosing(s *source, p token.Pos) string {
	for _, d := range s.syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Pos() <= p && p < f.End() {
			return f.Name.Name
		}
	}
	return "-"
}

// Tests wait for signals: a sleep is too short on a busy machine and too long on every other.
func TestNobodySleeps(t *testing.T) {
	require.Empty(t, strings.Join(sleepComplaints(whole(t), maySleep), "\n"))
}
