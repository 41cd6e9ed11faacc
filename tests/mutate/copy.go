package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// copyModule copies what git tracks, and what is new and not ignored, from root to a new folder.
func copyModule(root string) (string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("list the module's files: %w", err)
	}
	dir, err := os.MkdirTemp("", "holdfast-mutate-")
	if err != nil {
		return "", err
	}
	for name := range bytes.SplitSeq(list, []byte{0}) {
		if len(name) == 0 {
			continue
		}
		if err := copyFile(filepath.Join(root, string(name)), filepath.Join(dir, string(name))); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist): // tracked, and removed from the checkout
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return nil
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, info.Mode().Perm()|0o200)
}
