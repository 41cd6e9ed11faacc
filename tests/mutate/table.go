package main

import (
	"fmt"
	"sync"
	"time"
)

// table tells the results as they come, and counts them.
type table struct {
	mu                               sync.Mutex // guards what follows
	ok                               bool
	start                            time.Time
	caught, survived, excused, wrong int
}

func (t *table) add(f *fault, r result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	note := r.by
	switch {
	case r.verdict == caught:
		t.caught++
	case r.verdict == survived && f.reason != "":
		t.excused++
		note = "as it must: " + f.reason
	case r.verdict == survived:
		t.survived++
		t.ok = false
		note = f.file
	default:
		t.wrong++
		t.ok = false
	}
	fmt.Printf("%-8s  %-44s %5.1f s  %s\n", r.verdict, f.name, r.took.Seconds(), note)
}

func (t *table) sum() {
	fmt.Printf("%d faults: %d caught, %d survived, %d survived with a reason, %d broken (%v)\n",
		t.caught+t.survived+t.excused+t.wrong, t.caught, t.survived, t.excused, t.wrong, time.Since(t.start).Round(time.Second))
}
