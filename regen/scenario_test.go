package regen_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into testdata instead of comparing")

// The files in testdata tell stories: commands, and under the line what a person and the model then have.
// contract: S1, S10, S14, A11, A12, C2, C13, D1
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, string(raw))
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(raw), got)
		})
	}
}

// play runs a file and gives it back with what happened under each line of dashes. Paragraphs are separated by empty lines; a
// line that starts with # is a comment.
func play(t *testing.T, file string) string {
	k := newTalk(t)
	var out []string
	for _, par := range strings.Split(strings.TrimSpace(file), "\n\n") {
		head, _, isStep := strings.Cut(par, "\n----")
		if !isStep {
			out = append(out, par)
			continue
		}
		var said []string
		for _, line := range strings.Split(head, "\n") {
			if !strings.HasPrefix(line, "#") {
				said = append(said, k.step(line)...)
			}
		}
		out = append(out, strings.Join(slices.Concat([]string{head, "----"}, said, k.picture()), "\n"))
	}
	return strings.Join(out, "\n\n") + "\n"
}

// step does one command. Its words are: what to do, bare flags, and name="value" pairs.
func (k *talk) step(line string) []string {
	words, args := parseLine(k.t, line)
	switch words[0] {
	case "import":
		*k = *importTalk(k.t, regen.FieldsFromMap(args), nil, nil)
		return nil
	case "rows": // rows of an import: u1:text for a user, a1:text for an assistant, s1:text for a system row
		rows, context := importedRows(args["display"]), importedRows(args["context"])
		*k = *importTalk(k.t, k.d.Fields, rows, context)
		return nil
	case "reload":
		n, err := strconv.Atoi(words[1])
		require.NoError(k.t, err)
		k.d = k.store.load(k.t, k.d, n)
		return nil
	case "send", "regenerate":
		cmd := regen.Command{Op: regen.Op(words[0]), Content: regen.Text(args["text"]), Model: args["model"]}
		if cmd.Op == regen.OpRegenerate {
			cmd.Revision = k.d.Revision()
		}
		if slices.Contains(words, "stale") {
			cmd.Revision = "old"
		}
		c, err := k.do(cmd)
		if err != nil {
			return []string{"refused: " + refusal(err)}
		}
		return []string{fmt.Sprintf("turn %s run %s keep %s", short(c.Turn), short(c.Run), short(c.Keep)), edit(c.Edit)}
	case "settle":
		o := regen.Outcome{Kind: regen.OutcomeKind(words[1]), Text: args["text"], Reasoning: args["reasoning"], Message: args["message"], Cause: args["cause"]}
		if args["tool"] != "" {
			o.ToolCalls = []json.RawMessage{json.RawMessage(args["tool"])}
		}
		if args["run"] != "" {
			n, err := strconv.Atoi(args["run"][1:])
			require.NoError(k.t, err)
			o.Run = id('r', n)
		}
		s, err := k.end(o)
		if err != nil {
			return []string{"refused: " + refusal(err)}
		}
		return []string{fmt.Sprintf("turn %s %s", short(s.Turn), s.Kind), edit(s.Edit)}
	}
	k.t.Fatalf("unknown step %q", line)
	return nil
}

func refusal(err error) string {
	var stale *regen.StaleRevisionError
	var busy *regen.BusyError
	var owner *regen.NotWritebackOwnerError
	switch {
	case errors.As(err, &stale):
		return "stale revision"
	case errors.As(err, &busy):
		return "session active, run " + short(busy.Run)
	case errors.As(err, &owner):
		return fmt.Sprintf("not the writeback owner: %q is", short(owner.Owner))
	}
	return err.Error()
}

func edit(e regen.Edit) string {
	list := func(name string, l regen.ListEdit) string {
		patch := ""
		if l.Patch != "" {
			patch = " patch"
		}
		return fmt.Sprintf("%s %d keep %d%s add %d", name, l.Before, l.Keep, patch, len(l.Append))
	}
	return "edit " + list("rows", e.Rows) + ", " + list("context", e.Context)
}

// picture shows the document and what is kept beside it.
func (k *talk) picture() []string {
	state := "idle"
	if k.d.Active != nil {
		state = "run " + short(k.d.Active.Run)
	}
	if _, ok := k.d.Minted(); ok {
		state += ", may regenerate"
	}
	out := []string{fmt.Sprintf("version %d rows-version %d %s", k.d.Version, k.d.RowsVersion, state), "display"}
	if k.d.RowsBelow > 0 {
		out = append(out, fmt.Sprintf("  %d below", k.d.RowsBelow))
	}
	for _, l := range k.d.Rows {
		out = append(out, "  "+k.line(l.Row))
	}
	out = append(out, "context")
	if k.d.ContextBelow > 0 {
		out = append(out, fmt.Sprintf("  %d below", k.d.ContextBelow))
	}
	for _, l := range k.d.Context {
		if l.Row == nil {
			out = append(out, "  @"+short(l.Ref))
		} else {
			out = append(out, "  "+k.line(l.Row))
		}
	}
	for _, v := range slices.Sorted(maps.Keys(k.store.variants)) {
		rec, err := regen.DecodeVariant(k.store.variants[v])
		require.NoError(k.t, err)
		out = append(out, fmt.Sprintf("variant %s of %s: %s", short(v), short(rec.Turn), strings.Join(show(rec.Rows), ", ")))
	}
	return out
}

func (k *talk) line(r *regen.Row) string {
	words := []string{short(r.ID), short(r.Turn), string(r.Role), strconv.Quote(r.Content.Text())}
	for _, f := range []struct {
		name string
		on   bool
	}{{"partial", r.Partial}, {"error", r.Error}, {r.Interrupted, r.Interrupted != ""}, {"reasoning", r.Reasoning != ""},
		{"tools", len(r.ToolCalls) > 0}, {"regenerated", r.RegeneratedAt != 0}, {"active", k.d.IsActive(r)}} {
		if f.on {
			words = append(words, f.name)
		}
	}
	return strings.Join(words, " ")
}

func parseLine(t testing.TB, line string) (words []string, args map[string]string) {
	args = map[string]string{}
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		name, after, ok := strings.Cut(rest, "=")
		if ok && !strings.Contains(name, " ") {
			quoted, err := strconv.QuotedPrefix(after)
			require.NoError(t, err, line)
			value, err := strconv.Unquote(quoted)
			require.NoError(t, err, line)
			args[name], rest = value, after[len(quoted):]
			continue
		}
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		words = append(words, word)
	}
	return words, args
}

func importedRows(s string) []regen.Row {
	var rows []regen.Row
	for _, f := range strings.Fields(s) {
		name, text, _ := strings.Cut(f, ":")
		r := regen.Row{ID: name, Content: regen.Text(text)}
		r.Role = map[byte]regen.Role{'u': regen.RoleUser, 'a': regen.RoleAssistant, 's': regen.RoleSystem}[name[0]]
		rows = append(rows, r)
	}
	return rows
}
