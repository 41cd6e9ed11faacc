package race

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog/embedded"
	"holdfast/tests/history"
)

const (
	// roundTTL is the leases'. A node that is killed delays a round by a little more.
	roundTTL = 600 * time.Millisecond
	// roundLimit is ten times what a round needs on a busy machine.
	roundLimit = 40 * time.Second
)

// world is one round's store, nodes, tabs and history.
type world struct {
	rng    *rand.Rand
	seed   uint64
	store  *embedded.Server
	redis  *redis.Client
	faults *Faults
	rec    *history.Recorder
	tabs   []*tab

	mu      sync.Mutex // guards what follows
	nodes   []*Node
	lives   int
	presses []*press
	trace   []string // what was done, for a failure
}

// Report is what a round found.
type Report struct {
	// Violations are of the invariants; Stuck says what did not come to its end, "" if everything did.
	Violations []history.Violation
	Stuck      string
	// Trace says what was done, in order.
	Trace []string
	// Commands and Kills count what a round was about.
	Commands, Kills int
}

// Round runs the round of a seed.
func Round(seed uint64) Report {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0)), seed: seed, store: embedded.New(embedded.Config{Tick: -1}), rec: new(history.Recorder)}
	defer w.store.Close()
	w.redis = redis.NewClient(w.store.Options())
	defer func() { _ = w.redis.Close() }()
	w.faults = NewFaults(w.store, seed)
	for range 2 + w.rng.IntN(2) {
		w.nodes = append(w.nodes, nil)
		w.start(len(w.nodes) - 1)
	}
	defer w.close()
	ctx, cancel := context.WithTimeout(context.Background(), roundLimit)
	defer cancel()
	w.open(ctx)
	loss := Loss{}
	if w.rng.IntN(3) > 0 {
		loss = Loss{Request: 0.02, Reply: 0.03, Late: 0.02, Twice: 0.02}
	}
	w.faults.Set(loss)
	for range 2 + w.rng.IntN(4) {
		w.step(ctx)
	}
	stuck := w.finish(ctx)
	return Report{
		Violations: w.rec.Check(history.Options{}), Stuck: stuck, Trace: w.trace,
		Commands: len(w.presses), Kills: w.lives - len(w.nodes),
	}
}

func (w *world) did(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *world) node(i int) *Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[i%len(w.nodes)]
}

// start begins a life of node i.
func (w *world) start(i int) {
	w.mu.Lock()
	w.lives++
	life := w.lives
	w.mu.Unlock()
	n := NewNode(w.store.Options(), NodeOptions{
		Name: fmt.Sprintf("n%d", i+1), Proc: fmt.Sprintf("p%d", life), TTL: roundTTL, Timeout: time.Second, Source: Script{Seed: w.seed},
	})
	w.mu.Lock()
	w.nodes[i] = n
	w.mu.Unlock()
}

// open connects two to four tabs to one or two sessions.
func (w *world) open(ctx context.Context) {
	sessions := 1 + w.rng.IntN(5)/4
	for i := range 2 + w.rng.IntN(3) {
		t := &tab{name: fmt.Sprintf("tab%d", i+1), session: fmt.Sprintf("s%d", 1+i%sessions), w: w, node: w.rng.IntN(len(w.nodes)), settled: make(chan struct{}, 1)}
		w.tabs = append(w.tabs, t)
		_ = t.connect(ctx) // a tab that cannot is found by finish
	}
	for i := range sessions {
		s := fmt.Sprintf("s%d", 1+i)
		w.rec.Mark(regen.Key{Tenant: "main", Session: s}, s+"word")
	}
}

// step has some tabs do something at the same time, and something happen to a node.
func (w *world) step(ctx context.Context) {
	var wg sync.WaitGroup
	free := w.rng.Perm(len(w.tabs))[:1+w.rng.IntN(len(w.tabs))]
	for _, i := range free {
		act := w.plan(w.tabs[i])
		after := time.Duration(w.rng.IntN(6)) * time.Millisecond
		wg.Go(func() {
			if sleep(ctx, after) {
				act(ctx)
			}
		})
	}
	if mishap := w.mishap(); mishap != nil {
		after := time.Duration(w.rng.IntN(15)) * time.Millisecond
		wg.Go(func() {
			if sleep(ctx, after) {
				mishap(ctx)
			}
		})
	}
	wg.Wait()
	if w.rng.IntN(2) == 0 { // let the answer come to its end, most of the time
		t := w.tabs[w.rng.IntN(len(w.tabs))]
		limit := time.NewTimer(100 * time.Millisecond)
		defer limit.Stop()
		select {
		case <-t.settled:
		case <-limit.C:
		case <-ctx.Done():
		}
	}
}

// plan draws what a tab does. All drawing is done here, by one goroutine.
func (w *world) plan(t *tab) func(context.Context) {
	switch x := w.rng.IntN(20); {
	case x < 8:
		p := w.press(t, wire.OpSend)
		if w.rng.IntN(6) == 0 {
			p.busy = "replace"
		}
		stop := w.rng.IntN(5) == 0
		return func(ctx context.Context) {
			w.did("%s sends %s %s", t.name, p.key, p.busy)
			if !stop {
				t.do(ctx, p)
				return
			}
			var wg sync.WaitGroup
			wg.Go(func() { t.do(ctx, p) })
			w.did("%s stops %s", t.name, p.key)
			t.other(ctx, func(o *tab) { o.cancel(ctx, "", p.key) })
			wg.Wait()
		}
	case x < 14:
		p := w.press(t, wire.OpRegenerate)
		return func(ctx context.Context) {
			p.rev, _ = t.seen()
			if p.rev == "" {
				p.definite = true // nothing to press
				return
			}
			w.did("%s regenerates %s", t.name, p.key)
			t.do(ctx, p)
		}
	case x < 17:
		return func(ctx context.Context) {
			if _, run := t.seen(); run != "" {
				w.did("%s stops run %s", t.name, run[:4])
				t.cancel(ctx, run, "")
			}
		}
	case x < 19 && len(w.presses) > 0:
		old := w.presses[w.rng.IntN(len(w.presses))]
		return func(ctx context.Context) {
			if old.tab.session == t.session && old.op == wire.OpSend {
				w.did("%s repeats %s", t.name, old.key)
				again := *old
				t.do(ctx, &again)
			}
		}
	}
	node := w.rng.IntN(len(w.nodes))
	return func(ctx context.Context) {
		w.did("%s reloads on n%d", t.name, node+1)
		t.node = node
		_ = t.connect(ctx)
	}
}

func (w *world) press(t *tab, op wire.Op) *press {
	p := &press{tab: t, op: op, key: fmt.Sprintf("k%d", len(w.presses)+1)}
	if op == wire.OpSend {
		p.text = fmt.Sprintf("%sword%d", t.session, len(w.presses)+1)
	}
	w.presses = append(w.presses, p)
	return p
}

// other uses a second connection of the same person, so that a stop can overtake its command.
func (t *tab) other(ctx context.Context, f func(*tab)) {
	o := &tab{name: t.name + "b", session: t.session, w: t.w, node: t.node + 1, settled: make(chan struct{}, 1)}
	if o.connect(ctx) != nil {
		return
	}
	f(o)
	_ = o.conn.Abort()
}

// mishap draws what happens to a node, or nil.
func (w *world) mishap() func(context.Context) {
	i, x := w.rng.IntN(len(w.nodes)), w.rng.IntN(100)
	away := time.Duration(5+w.rng.IntN(60)) * time.Millisecond
	switch {
	case x < 8:
		return func(context.Context) {
			w.did("n%d is killed", i+1)
			w.node(i).Kill()
			w.start(i)
		}
	case x < 14:
		return func(ctx context.Context) {
			w.did("n%d is cut off for %v", i+1, away)
			n := w.node(i)
			n.Reach(false)
			sleep(ctx, away)
			n.Reach(true)
		}
	case x < 24:
		if x < 16 {
			away += roundTTL
		}
		return func(ctx context.Context) {
			w.did("n%d stands still for %v", i+1, away)
			n := w.node(i)
			n.Hold(true)
			sleep(ctx, away)
			n.Hold(false)
		}
	}
	return nil
}

// finish has every command answered, every run ended and every reader at the end, with nothing lost any more, and dumps the sessions.
func (w *world) finish(ctx context.Context) string {
	w.faults.Set(Loss{})
	for _, p := range w.presses {
		for !p.definite && p.key != "" {
			if p.op == wire.OpRegenerate && p.rev == "" {
				break // was never sent
			}
			again := time.Now()
			p.tab.do(ctx, p)
			w.did("%s repeats %s until it knows: %v, %v", p.tab.name, p.key, p.definite, time.Since(again).Round(time.Millisecond))
			if ctx.Err() != nil {
				return "command " + p.key + " got no definite answer"
			}
		}
	}
	last := &tab{name: "last", w: w, node: w.rng.IntN(len(w.nodes)), settled: make(chan struct{}, 1)}
	for _, key := range w.rec.Sessions() {
		dump, err := w.idle(ctx, key)
		if err != nil {
			return fmt.Sprintf("session %s does not become idle: run %q, %v", key.Session, dump.Active(), err)
		}
		w.rec.Dumped(dump)
		for _, t := range w.tabs {
			if t.session == key.Session && dump.Exists() {
				if what := t.reachEnd(ctx, dump); what != "" {
					return what
				}
			}
		}
		last.session = key.Session
		if err := last.connect(ctx); err != nil {
			return "a last reader cannot attach: " + err.Error()
		}
	}
	return ""
}

// idle waits until a session has no active run.
func (w *world) idle(ctx context.Context, key regen.Key) (history.Store, error) {
	for {
		s, err := history.Dump(ctx, w.redis, key)
		if err == nil && s.Active() == "" {
			return s, nil
		}
		if !sleep(ctx, 5*time.Millisecond) {
			return s, context.Cause(ctx)
		}
	}
}

// reachEnd waits until the tab has seen the last entry.
func (t *tab) reachEnd(ctx context.Context, s history.Store) string {
	var end uint64
	for _, e := range s.Log {
		if e.Kind != stream.KindMarker {
			end = e.ID.Seq
		}
	}
	if t.live(ctx) != nil {
		return t.name + " cannot connect"
	}
	if t.conn.Cursor(t.session) == "" { // it came before the session
		if err := t.attach(ctx); err != nil {
			return t.name + " cannot attach: " + err.Error()
		}
	}
	for {
		c, err := stream.ParseCursor(t.conn.Cursor(t.session))
		if err == nil && c.ID.Seq >= end {
			return ""
		}
		if t.live(ctx) != nil || !sleep(ctx, time.Millisecond) {
			return fmt.Sprintf("%s is at %s, and the log of %s ends at %d", t.name, c, t.session, end)
		}
	}
}

func (w *world) close() {
	for _, t := range w.tabs {
		if t.conn != nil {
			_ = t.conn.Abort()
		}
	}
	for _, n := range w.nodes {
		n.Stop()
	}
	w.faults.Close()
}
