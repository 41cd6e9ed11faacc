package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	list := flag.Bool("list", false, "name the faults and make none")
	only := flag.String("only", "", "make only these `faults`: names or patterns, separated by commas")
	jobs := flag.Int("jobs", 1, "how many faults at a time")
	limit := flag.Duration("timeout", time.Minute, "how long the tests of one package may take")
	checkOnly := flag.Bool("check", false, "only see whether the faults still fit the source")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := mutate(ctx, *list, *checkOnly, *only, max(*jobs, 1), *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func mutate(ctx context.Context, list, checkOnly bool, only string, jobs int, limit time.Duration) (ok bool, err error) {
	fs, err := choose(all(), only)
	if err != nil {
		return false, err
	}
	if list {
		for _, f := range fs {
			fmt.Printf("%-44s %-38s %s\n", f.name, f.file, strings.Join(f.pkgs, ", "))
		}
		return true, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return false, err
	}
	var unfit []error
	for i := range fs {
		unfit = append(unfit, fs[i].check(root))
	}
	if err := errors.Join(unfit...); err != nil || checkOnly {
		return err == nil, err
	}
	t := &table{ok: true, start: time.Now()}
	work := make(chan *fault)
	var wg sync.WaitGroup
	errs := make([]error, jobs)
	for j := range jobs {
		wg.Go(func() {
			errs[j] = job(ctx, root, limit, work, t)
			for range work { // nobody waits for a job that has ended
			}
		})
	}
	for i := range fs {
		work <- &fs[i]
	}
	close(work)
	wg.Wait()
	t.sum()
	return t.ok, errors.Join(errs...)
}

// choose gives the faults that only names; all of them for "".
func choose(fs []fault, only string) ([]fault, error) {
	names := map[string]bool{}
	for _, f := range fs {
		if names[f.name] {
			return nil, fmt.Errorf("two faults are called %s", f.name)
		}
		names[f.name] = true
	}
	if only == "" {
		return fs, nil
	}
	var chosen []fault
	for pattern := range strings.SplitSeq(only, ",") {
		n := len(chosen)
		for _, f := range fs {
			if m, err := path.Match(pattern, f.name); err != nil {
				return nil, fmt.Errorf("%q: %w", pattern, err)
			} else if m {
				chosen = append(chosen, f)
			}
		}
		if len(chosen) == n {
			return nil, fmt.Errorf("no fault is called %q; -list names them", pattern)
		}
	}
	return chosen, nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// job makes faults in a copy of its own until there are no more.
func job(ctx context.Context, root string, limit time.Duration, work <-chan *fault, t *table) error {
	dir, err := copyModule(root)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var green []string
	for f := range work {
		for _, pkg := range f.pkgs {
			if slices.Contains(green, pkg) {
				continue
			}
			v, by, err := ask(ctx, dir, pkg, 2*limit)
			if err != nil {
				return err
			}
			if v != survived {
				return fmt.Errorf("%s is not green without a fault: %s %s", pkg, v, by)
			}
			green = append(green, pkg)
		}
		r, err := try(ctx, dir, f, limit)
		if err != nil {
			return err
		}
		t.add(f, r)
	}
	return nil
}

// try makes one fault and asks its packages.
func try(ctx context.Context, dir string, f *fault, limit time.Duration) (r result, err error) {
	undo, err := f.make(dir)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, undo()) }()
	start := time.Now()
	for _, pkg := range f.pkgs {
		if r.verdict, r.by, err = ask(ctx, dir, pkg, limit); err != nil || r.verdict != survived {
			break
		}
	}
	r.took = time.Since(start)
	return r, err
}
