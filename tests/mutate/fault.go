package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fault is one deliberate mistake.
type fault struct {
	name string
	// file is the path inside the module; old stands in it exactly once and becomes new.
	file, old, new string
	// pkgs are asked in order, each as "folder", "folder Pattern" (for go test -run) or "folder !Pattern" (for -skip).
	pkgs []string
	// reason says why no test can tell, for a fault that may survive; else "".
	reason string
}

// in gives faults of one file that the same packages are asked about.
func in(file string, pkgs []string, fs ...fault) []fault {
	for i := range fs {
		fs[i].file = file
		if fs[i].pkgs == nil {
			fs[i].pkgs = pkgs
		}
	}
	return fs
}

// check says whether f can be made in the module at root.
func (f *fault) check(root string) error {
	b, err := os.ReadFile(filepath.Join(root, f.file))
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if n := strings.Count(string(b), f.old); n != 1 || f.old == f.new {
		return fmt.Errorf("%s: the old text stands %d times in %s, once is needed:\n\t%q", f.name, n, f.file, f.old)
	}
	return nil
}

// make writes the faulty file in the copy at root and gives what puts the right one back.
func (f *fault) make(root string) (undo func() error, err error) {
	if err := f.check(root); err != nil {
		return nil, err
	}
	path := filepath.Join(root, f.file)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), f.old, f.new, 1)), 0o644); err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(path, b, 0o644) }, nil
}

// all gives every fault.
func all() []fault {
	var fs []fault
	for _, part := range [][]fault{
		acquireFaults, leaseFaults, writeFaults, readFaults, keeperFaults, watcherFaults, feedFaults, readerFaults, actorFaults,
		runFaults, settleFaults, ruleFaults, planFaults, writerFaults, gatewayFaults, wireFaults,
	} {
		fs = append(fs, part...)
	}
	return fs
}
