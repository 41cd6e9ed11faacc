package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
)

// program is the built holdfast. On Linux its file is removed at once and the open file is what nodes run: so it goes when the test
// binary goes, however that ends.
var program struct {
	once sync.Once
	path string
	file *os.File
	err  error
}

// Program builds holdfast, once, and gives the path to run it by.
func Program(tb testing.TB) string {
	tb.Helper()
	program.once.Do(func() { program.err = build() })
	if program.err != nil {
		tb.Fatalf("build holdfast: %v", program.err)
	}
	return program.path
}

func build() error {
	dir, err := os.MkdirTemp("", "holdfast-test")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "holdfast")
	args := []string{"build", "-o", path}
	if raceEnabled() {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "holdfast/cmd/holdfast")...).CombinedOutput()
	if err != nil {
		_ = os.RemoveAll(dir)
		return fmt.Errorf("%w\n%s", err, out)
	}
	program.path = path
	if runtime.GOOS != "linux" {
		return nil // the system cleans its temporary directory
	}
	if program.file, err = os.Open(path); err != nil {
		return err
	}
	program.path = fmt.Sprintf("/proc/self/fd/%d", program.file.Fd())
	return os.RemoveAll(dir)
}

// raceEnabled says whether this test binary has the race detector.
func raceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
