package chaos_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holdfast/client"
	"holdfast/gateway/wire"
	"holdfast/tests/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long makes each scenario's load last so long: go test ./tests/chaos -long 10m -timeout 0.
var long = flag.Duration("long", 6*time.Second, "how long each scenario is under load")

// limit is ten times what anything may take after the faults have ended.
const limit = 90 * time.Second

// load is a number of tabs, one session each, that send or regenerate one turn after the other. A tab that loses its node goes to the
// next one, resumes, and repeats an unanswered command with the same key.
type load struct {
	c    *cluster.Cluster
	stop context.Context // no new turns after its end
	ctx  context.Context // no waiting after its end
	wg   sync.WaitGroup

	mu       sync.Mutex // guards what follows
	outcomes map[string]int
	resets   int
	returns  int
	failures []string
}

// start begins the load; end waits until every turn under way is settled and gives the figures.
func start(t *testing.T, c *cluster.Cluster, tabs int) (l *load, end func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), *long+limit)
	stop, halt := context.WithCancel(ctx)
	l = &load{c: c, stop: stop, ctx: ctx, outcomes: map[string]int{}}
	for i := range tabs {
		l.wg.Go(func() { l.work(i) })
	}
	end = func() {
		halt()
		l.wg.Wait()
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(l.outcomes)) {
			parts = append(parts, fmt.Sprintf("%s %d", k, l.outcomes[k]))
		}
		t.Logf("%d tabs: %s; came back %d times, %d resets", tabs, strings.Join(parts, ", "), l.returns, l.resets)
		for _, f := range l.failures {
			t.Error(f)
		}
	}
	return l, end
}

// cut is the number of answers that did not come to their end.
func (l *load) cut() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outcomes["interrupted"] + l.outcomes["failed"]
}

// turns is the number of turns that were settled.
func (l *load) turns() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, k := range l.outcomes {
		n += k
	}
	return n
}

func (l *load) work(i int) {
	session := fmt.Sprintf("s%d", i)
	x, err := l.c.Dial(l.ctx, fmt.Sprintf("load%d", i), i%l.c.Nodes())
	for node := i + 1; err != nil; node++ { // the node may be away just now
		if l.pause() != nil {
			l.fail("tab %d: %v", i, err)
			return
		}
		x, err = l.c.Dial(l.ctx, fmt.Sprintf("load%d", i), node%l.c.Nodes())
	}
	defer func() { _ = x.Abort() }()
	revision := ""
	for n := 0; l.stop.Err() == nil; n++ {
		outcome, next, err := l.turn(x, session, revision, n)
		if err != nil {
			if l.ctx.Err() != nil {
				l.fail("tab %d: turn %d: %v", i, n, err)
			}
			return
		}
		revision = next
		l.mu.Lock()
		l.outcomes[outcome]++
		l.mu.Unlock()
	}
}

func (l *load) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, fmt.Sprintf(format, args...))
}

// turn brings one command to its settlement, through whatever happens.
func (l *load) turn(x *cluster.Client, session, revision string, n int) (outcome, next string, err error) {
	key := client.NewKey()
	var rec client.Receipt
	for {
		if revision != "" && n%3 == 2 {
			rec, err = x.Regenerate(l.ctx, session, revision, client.SendOptions{Key: key})
		} else {
			rec, err = x.Send(l.ctx, session, fmt.Sprintf("/long 45 turn %d", n), client.SendOptions{Key: key})
		}
		var refused *wire.Error
		switch {
		case err == nil:
			return l.settled(x, session, rec.Run)
		case errors.As(err, &refused) && !refused.Retryable:
			return "refused:" + string(refused.Code), "", nil
		}
		if err := l.pause(); err != nil {
			return "", "", err
		}
		if err := l.back(x, session); err != nil {
			return "", "", err
		}
	}
}

// settled waits for a run's end: as an event, in a reset, or in the document of a later attach.
func (l *load) settled(x *cluster.Client, session, run string) (outcome, revision string, err error) {
	for {
		ev, err := x.Settled(l.ctx, run)
		switch {
		case err == nil && ev.Event == wire.EventReset:
			l.mu.Lock()
			l.resets++
			l.mu.Unlock()
			return "reset", "", nil
		case err == nil:
			return ev.Outcome, ev.Revision, nil
		case l.ctx.Err() != nil:
			return "", "", fmt.Errorf("run %s of %s was not seen to end: %w", run, session, err)
		}
		view, err := l.attach(x, session)
		if err != nil {
			return "", "", err
		}
		if view != nil && view.Document != nil && (view.Run == nil || view.Run.Run != run) {
			return "seen-in-document", view.Document.Revision, nil
		}
	}
}

// back connects again, to the next node that lives, and attaches where there is something to attach to.
func (l *load) back(x *cluster.Client, session string) error {
	_, err := l.attach(x, session)
	return err
}

func (l *load) attach(x *cluster.Client, session string) (*wire.View, error) {
	for node := x.Node(); ; node++ {
		if err := x.Err(); err != nil || node != x.Node() {
			if err := x.Reconnect(l.ctx, node%l.c.Nodes()); err != nil {
				if err := l.pause(); err != nil {
					return nil, err
				}
				continue
			}
			l.mu.Lock()
			l.returns++
			l.mu.Unlock()
		}
		view, err := x.Attach(l.ctx, session)
		var refused *wire.Error
		switch {
		case err == nil:
			return &view, nil
		case errors.As(err, &refused) && refused.Code == wire.NotFound:
			return nil, nil
		}
		if err := l.pause(); err != nil {
			return nil, err
		}
	}
}

func (l *load) pause() error {
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-l.ctx.Done():
		return l.ctx.Err()
	case <-t.C:
		return nil
	}
}

// during calls fault again and again, with pauses between, while the load is on.
func during(t *testing.T, every time.Duration, fault func(i int)) {
	t.Helper()
	end := time.After(*long)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-end:
			return
		case <-tick.C:
			fault(i)
		}
	}
}

// after waits.
func after(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	<-t.C
}
