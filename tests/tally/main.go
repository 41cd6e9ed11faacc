package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	counts := flag.String("counts", "", "write `FILE` with the numbers of passed, failed and skipped tests")
	flag.Parse()
	t := newTally(os.Stdout, os.Getenv("HOLDFAST_TEST_ALL") == "1")
	if err := t.readAll(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	sum := t.close()
	if *counts == "" {
		fmt.Println(sum)
	} else {
		line := fmt.Sprintf("%d %d %d\n", sum.passed, sum.failed, sum.skipped)
		if err := os.WriteFile(*counts, []byte(line), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			os.Exit(1)
		}
	}
	if sum.failed > 0 || sum.passed == 0 {
		os.Exit(1)
	}
}

// readAll takes every line in. What is no event, such as a message of the go command itself, is passed on.
func (t *tally) readAll(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20) // a failing test may print one very long line
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action == "" {
			_, _ = fmt.Fprintln(t.out, lines.Text())
			continue
		}
		t.add(e)
	}
	return lines.Err()
}
