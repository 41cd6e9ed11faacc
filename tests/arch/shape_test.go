package arch_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	fileLimit   = 600 // lines; a file that gets there holds more than one verb
	medianLimit = 150 // lines, of the program's files
	funcLimit   = 100 // lines
	longFunc    = 60  // lines; few may be longer
	longShare   = 0.03
)

func shapeComplaints(all tree) (bad []string) {
	var sizes []int
	var long []string
	funcs := 0
	for _, s := range all {
		if s.lines > fileLimit {
			bad = append(bad, fmt.Sprintf("%s has %d lines, %d are the most", s.path, s.lines, fileLimit))
		}
		if !s.test {
			sizes = append(sizes, s.lines)
		}
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if n > funcLimit {
				bad = append(bad, fmt.Sprintf("%s: %s has %d lines, %d are the most", s.at(f.Pos()), f.Name.Name, n, funcLimit))
			}
			if s.test {
				continue
			}
			funcs++
			if n > longFunc {
				long = append(long, fmt.Sprintf("%s: %s has %d lines", s.at(f.Pos()), f.Name.Name, n))
			}
		}
	}
	if most := int(longShare * float64(funcs)); len(long) > most {
		bad = append(bad, fmt.Sprintf("%d of %d functions are longer than %d lines, %d may be:\n\t%s",
			len(long), funcs, longFunc, most, strings.Join(long, "\n\t")))
	}
	if slices.Sort(sizes); len(sizes) > 0 && sizes[len(sizes)/2] > medianLimit {
		bad = append(bad, fmt.Sprintf("half of the files have more than %d lines, %d is the limit", sizes[len(sizes)/2]-1, medianLimit))
	}
	return bad
}

// Files and functions stay short enough to be read in one go.
func TestShape(t *testing.T) {
	require.Empty(t, strings.Join(shapeComplaints(whole(t)), "\n"))
}
