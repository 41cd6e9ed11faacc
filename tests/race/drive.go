package race

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	"holdfast/ownership"
	"holdfast/ownership/redislease"
	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog"
	"holdfast/stream/redislog/embedded"
)

// leaseTTL is what a lease of a drive lasts, by the drive's own clock.
const leaseTTL = 40 * time.Millisecond

// Drive lets workers of three nodes make calls against each other on three sessions, with calls lost, late and repeated to the store,
// and gives the history. mutate stands between them and the stores; nil changes nothing. The store's clock moves by steps of the drive.
func Drive(seed uint64, calls int, mutate func(Stores) Stores) []porcupine.Operation {
	srv := embedded.New(embedded.Config{Tick: -1})
	defer srv.Close()
	d := &drive{began: time.Now(), open: map[int]int{}, now: time.Unix(1_700_000_000, 0), server: srv}
	srv.Miniredis().SetTime(d.now)
	for i := range 3 {
		d.record(Call{Session: session(i), Now: d.now.UnixMilli()}, Reply{}, 0, 0)
	}
	faults := NewFaults(srv, seed)
	d.faults = faults
	faults.Set(Loss{Request: 0.03, Reply: 0.05, Late: 0.02})
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			node := i % 3 // two nodes have two workers
			log := redislog.New(redislog.Single(srv.Options()), redislog.Options{PingEvery: -1, Solo: true, Timeout: 5 * time.Second})
			client := redis.NewClient(srv.Options())
			defer func() { _, _ = log.Close(), client.Close() }()
			ctx, cancel := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() { _ = log.Run(ctx) })
			defer running.Wait()
			defer cancel()
			s := Stores{Leases: redislease.New(client, redislease.Options{}), Log: log}
			if mutate != nil {
				s = mutate(s)
			}
			w := &worker{
				d: d, id: i, stores: s, rng: rand.New(rand.NewPCG(seed, uint64(i))), views: map[string]*view{},
				node: fmt.Sprintf("n%d", node+1), proc: fmt.Sprintf("p%d", node+1),
			}
			for range calls {
				w.act(ctx)
			}
		})
	}
	wg.Wait()
	faults.Close()
	for i, ticket := range d.open { // what was applied was applied by then
		d.history[i].Return = max(d.history[i].Return, faults.Applied(ticket).Sub(d.began).Nanoseconds())
	}
	return d.history
}

func session(i int) string { return fmt.Sprintf("s%d", i+1) }

type drive struct {
	began  time.Time
	server *embedded.Server
	faults *Faults

	clock sync.Mutex // guards now; held while the store's clock is set
	now   time.Time

	mu      sync.Mutex // guards what follows
	history []porcupine.Operation
	open    map[int]int // calls of unknown outcome: how many late calls there had been when they were given up
	ids     int
}

func (d *drive) since() int64 { return time.Since(d.began).Nanoseconds() }

func (d *drive) record(c Call, r Reply, id int, from int64) {
	to := d.since()
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Unknown {
		d.open[len(d.history)] = d.faults.Ticket()
	}
	d.history = append(d.history, porcupine.Operation{ClientId: id, Input: c, Output: r, Call: from, Return: to})
}

// tick moves the store's clock: for all sessions at once.
func (d *drive) tick(id int, by time.Duration) {
	d.clock.Lock()
	defer d.clock.Unlock()
	from := d.since()
	d.now = d.now.Add(by)
	d.server.Miniredis().SetTime(d.now)
	for i := range 3 {
		d.record(Call{Session: session(i), Now: d.now.UnixMilli()}, Reply{}, id, from)
	}
}

func (d *drive) name(prefix string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids++
	return fmt.Sprintf("%s%d", prefix, d.ids)
}

// view is what a worker believes of a session.
type view struct {
	owner      bool
	inc        string
	epoch      ownership.Epoch
	batch, ver uint64
	at         stream.EntryID
	run        string
	asked      *ownership.Request
	observed   ownership.Epoch
	open       *stream.Change // its outcome is unknown
	old        []*stream.Change
	token      *stream.Entry // its outcome is unknown
}

type worker struct {
	d          *drive
	id         int
	stores     Stores
	rng        *rand.Rand
	views      map[string]*view
	node, proc string
}

func (w *worker) call(ctx context.Context, c Call) (Reply, any) {
	from := w.d.since()
	r, got := w.stores.call(ctx, c)
	w.d.record(c, r, w.id, from)
	return r, got
}

// act makes one call, or a few that belong together.
func (w *worker) act(ctx context.Context) {
	s := session(w.rng.IntN(3))
	v := w.views[s]
	if v == nil {
		v = &view{}
		w.views[s] = v
	}
	switch x := w.rng.IntN(100); {
	case x < 3:
		w.d.tick(w.id, time.Duration(1+w.rng.IntN(60))*time.Millisecond)
	case x < 8:
		w.stray(ctx, s, v)
	case x < 12 && v.asked != nil: // a request that comes again, much later
		w.call(ctx, Call{Session: s, Acquire: v.asked})
	case x < 16 && len(v.old) > 0: // a change that comes again
		w.call(ctx, Call{Session: s, Change: v.old[w.rng.IntN(len(v.old))]})
	case !v.owner:
		w.acquire(ctx, s, v)
	case x < 24:
		w.call(ctx, Call{Session: s, Renew: &ownership.Renewal{Key: key(s), Node: w.node, Proc: w.proc, Epoch: v.epoch, TTL: leaseTTL, Run: v.run}})
	case x < 32:
		w.call(ctx, Call{Session: s, Release: &ownership.Lease{Key: key(s), Node: w.node, Proc: w.proc, Epoch: v.epoch}})
		v.owner = w.rng.IntN(2) == 0 // some do not notice
	case v.open != nil:
		w.write(ctx, s, v, v.open)
	case v.token != nil:
		w.append(ctx, s, v, *v.token)
	case x < 40 && v.run != "":
		w.call(ctx, Call{Session: s, Stop: &stream.Stop{Run: v.run}})
	case x < 70 && v.run != "":
		w.append(ctx, s, v, stream.Entry{ID: stream.EntryID{Epoch: v.epoch, Seq: v.at.Seq + 1}, Kind: stream.KindText, Data: "x"})
	default:
		w.write(ctx, s, v, w.change(v))
	}
}

// stray is what no careful caller does: an end of a run that is not the active one, a command for a known key, a token of an old epoch.
func (w *worker) stray(ctx context.Context, s string, v *view) {
	if v.epoch == 0 {
		return
	}
	c := w.change(v)
	switch w.rng.IntN(4) {
	case 0:
		c.Settle, c.Accept, c.Edit.Run, c.Edit.Active = &stream.Settle{Run: "r0"}, nil, "", nil
	case 1:
		if len(v.old) == 0 || v.old[0].Accept == nil || c.Accept == nil {
			return
		}
		c.Accept.Key = v.old[0].Accept.Key
	case 2:
		c.N++
	case 3:
		w.call(ctx, Call{Session: s, Append: &stream.Entry{ID: stream.EntryID{Epoch: v.epoch - 1, Seq: v.at.Seq + 1}, Kind: stream.KindText, Data: "x"}})
		return
	}
	if r, _ := w.call(ctx, Call{Session: s, Change: c}); r.Unknown || w.refresh(ctx, s, v) != nil {
		v.owner = false
	}
}

func key(s string) string { return regen.Key{Tenant: "race", Session: s}.String() }

func (w *worker) acquire(ctx context.Context, s string, v *view) {
	r := &ownership.Request{
		Key: key(s), Node: w.node, Proc: w.proc, Req: w.d.name("q"), TTL: leaseTTL, Incarnation: w.d.name("i"), Observed: v.observed,
	}
	if w.rng.IntN(8) == 0 && len(v.old) > 0 && v.old[0].Accept != nil {
		r.CommandKey = v.old[0].Accept.Key
	}
	v.asked = r
	for range 3 {
		reply, got := w.call(ctx, Call{Session: s, Acquire: r})
		if reply.Unknown {
			continue
		}
		g, ok := got.(ownership.Grant)
		if !ok || g.Epoch == 0 {
			_, _ = fmt.Sscanf(reply.Text, "held "+w.other(reply.Text)+" %d", &v.observed)
			return
		}
		*v = view{owner: true, inc: g.Incarnation, epoch: g.Epoch, run: g.Run, asked: r, old: v.old}
		if w.refresh(ctx, s, v) != nil {
			v.owner = false
		}
		return
	}
}

// other is the node and process of a refusal.
func (w *worker) other(text string) string {
	var node, proc string
	_, _ = fmt.Sscanf(text, "held %s %s", &node, &proc)
	return node + " " + proc
}

// refresh reads the end of the session, as an owner does that has just come.
func (w *worker) refresh(ctx context.Context, s string, v *view) error {
	for range 3 {
		r, got := w.call(ctx, Call{Session: s, Check: true})
		if r.Unknown {
			continue
		}
		t, ok := got.(stream.Tail)
		if !ok || t.Epoch != v.epoch || t.Incarnation != v.inc {
			break
		}
		v.batch, v.ver, v.at, v.run, v.open, v.token = t.Batch, t.Version, t.Top, t.Run, nil, nil
		return nil
	}
	return errAway
}

// change is the next acceptance, or the end of the active run.
func (w *worker) change(v *view) *stream.Change {
	at := v.at
	at.Epoch = v.epoch
	c := &stream.Change{
		Batch:  stream.Batch{Incarnation: v.inc, Epoch: v.epoch, N: v.batch + 1, At: at},
		Expect: stream.Expect{Version: v.ver},
		Edit:   regen.Edit{Version: v.ver + 1, RowsVersion: v.ver + 1, Revision: "r"},
	}
	kind := stream.KindSettled
	if v.run != "" {
		c.Settle = &stream.Settle{Run: v.run, Cancelled: w.rng.IntN(3) == 0}
	} else {
		kind = stream.KindStarted
		run := w.d.name("r")
		c.Accept = &stream.Accept{Run: run, Key: w.d.name("k"), Hash: "h"}
		c.Edit.Run, c.Edit.Active = run, &regen.Active{Run: run}
	}
	c.Entries = []stream.Entry{{ID: at.Next(), Kind: kind, Data: "{}"}}
	return c
}

func (w *worker) write(ctx context.Context, s string, v *view, c *stream.Change) {
	r, got := w.call(ctx, Call{Session: s, Change: c})
	if r.Unknown {
		v.open = c
		return
	}
	v.open = nil
	if len(v.old) < 8 {
		v.old = append(v.old, c)
	}
	res, _ := got.(stream.WriteResult)
	if res.Status != stream.StatusDone {
		if w.refresh(ctx, s, v) != nil {
			v.owner = false
		}
		return
	}
	v.batch, v.ver, v.at, v.run = c.N, c.Edit.Version, c.Entries[0].ID, c.Edit.Run
}

func (w *worker) append(ctx context.Context, s string, v *view, e stream.Entry) {
	r, _ := w.call(ctx, Call{Session: s, Append: &e})
	switch {
	case r.Unknown:
		v.token = &e
	case r.Text == "appended":
		v.at, v.token = e.ID, nil
	default:
		if w.refresh(ctx, s, v) != nil {
			v.owner = false
		}
	}
}
