package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// verdict is what became of a fault.
type verdict string

const (
	caught   verdict = "caught"
	survived verdict = "survived"
	broken   verdict = "broken"
)

// result is a verdict and what it rests on: the test that failed, or the tool's words.
type result struct {
	verdict verdict
	by      string
	took    time.Duration
}

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	running    = regexp.MustCompile(`(?m)^\s*running tests:\s*\n\s*(\S+)`)
)

// ask runs one package's tests in the copy at root.
func ask(ctx context.Context, root, pkg string, limit time.Duration) (verdict, string, error) {
	folder, pattern, _ := strings.Cut(pkg, " ")
	args := []string{"test", "-count=1", "-p", "1", "-vet=off", "-ldflags=-s -w", "-failfast", "-timeout", limit.String()}
	if skip, ok := strings.CutPrefix(pattern, "!"); ok {
		args = append(args, "-skip", skip)
	} else if pattern != "" {
		args = append(args, "-run", pattern)
	}
	ctx, cancel := context.WithTimeout(ctx, limit+2*time.Minute) // the build has time of its own
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+folder)...)
	cmd.Dir = root
	cmd.WaitDelay = 5 * time.Second
	end := group(cmd)
	out, err := cmd.CombinedOutput()
	end()
	if ctx.Err() != nil {
		return "", "", fmt.Errorf("%s: %w", pkg, ctx.Err())
	}
	return judge(string(out), err == nil, folder)
}

// judge reads what go test said.
func judge(out string, ok bool, folder string) (verdict, string, error) {
	switch {
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		return broken, firstLine(out), nil
	case ok && (strings.Contains(out, "[no tests to run]") || strings.Contains(out, "[no test files]")):
		return broken, "no test ran in " + folder, nil
	case ok:
		return survived, "", nil
	}
	if m := running.FindStringSubmatch(out); m != nil {
		return caught, folder + " " + m[1] + " (time-out)", nil
	}
	if m := failedTest.FindAllStringSubmatch(out, -1); m != nil {
		return caught, folder + " " + m[len(m)-1][1], nil
	}
	if !strings.Contains(out, "FAIL") {
		return "", "", fmt.Errorf("go test %s: %s", folder, firstLine(out))
	}
	return caught, folder + " (panic or leak)", nil
}

func firstLine(out string) string {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "no output"
}
