package stream

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"holdfast/regen"
)

// feed follows one session's log for all of this node's readers.
type feed struct {
	hub  *Hub
	key  regen.Key
	refs int // guarded by hub.mu
	ctx  context.Context
	end  context.CancelFunc

	confirmed chan struct{} // closed by the first confirmation of the subscription
	confirm   sync.Once
	dirty     chan struct{} // size 1: the log must be read
	loading   chan struct{} // size 1: held while the log is read

	mu     sync.Mutex // guards everything below
	loaded bool
	whole  bool    // the log is being read from its start: what does not follow is a hole of the store's
	head   Head    // incarnation, fences, before
	pos    EntryID // the last id taken in, a marker's included
	window []Entry // without markers; seqs are contiguous
	active *RunInfo
	subs   []*Subscription // replaced, never changed in place
	stale  bool            // some subscription needs a document
}

func newFeed(h *Hub, key regen.Key) *feed {
	f := &feed{
		hub: h, key: key,
		confirmed: make(chan struct{}),
		dirty:     make(chan struct{}, 1),
		loading:   make(chan struct{}, 1),
	}
	f.ctx, f.end = context.WithCancel(h.ctx)
	return f
}

// run reads the log whenever something may have changed, until the last reader left.
func (f *feed) run() {
	stop := f.hub.wakes.Follow(f.key, f.onWake)
	defer stop()
	failed := false
	for {
		wait := f.hub.cfg.Poll/2 + rand.N(f.hub.cfg.Poll)
		if failed {
			wait = min(wait, 100*time.Millisecond+rand.N(200*time.Millisecond)) // readers wait for this
		}
		poll := time.NewTimer(wait)
		select {
		case <-f.ctx.Done():
			poll.Stop()
			return
		case <-f.dirty:
			poll.Stop()
		case <-poll.C:
		}
		failed = f.catchUp(f.ctx) != nil || !f.resetStale(f.ctx)
	}
}

func (f *feed) onWake(w Wake) {
	if w.Confirmed {
		f.confirm.Do(func() { close(f.confirmed) })
		f.wakeUp()
		return
	}
	if len(w.Entries) == 0 {
		f.wakeUp()
		return
	}
	f.offer(w.Incarnation, w.Entries)
}

func (f *feed) wakeUp() {
	select {
	case f.dirty <- struct{}{}:
	default:
	}
}

// offer takes in copies that follow what the feed has: same incarnation, same epoch, next seq. Anything else is a reason to read.
func (f *feed) offer(incarnation string, entries []Entry) {
	f.mu.Lock()
	took, gap := false, false
	for _, e := range entries {
		switch {
		case !f.loaded || incarnation != f.head.Incarnation:
			gap = true
		case e.ID.Compare(f.pos) <= 0: // already seen
		case e.Kind != KindMarker && e.ID == f.pos.Next():
			f.take(e)
			took = true
		default:
			gap = true
		}
	}
	subs, stale := f.subs, f.stale
	f.mu.Unlock()
	if took {
		notifyAll(subs)
	}
	if gap || stale {
		f.wakeUp()
	}
}

// catchUp reads the log from the feed's position to its top.
func (f *feed) catchUp(ctx context.Context) error {
	select {
	case f.loading <- struct{}{}:
		defer func() { <-f.loading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for restarts := 0; ; {
		f.mu.Lock()
		after := f.pos
		if !f.loaded {
			after = EntryID{}
		}
		f.mu.Unlock()
		page, err := f.hub.log.Page(ctx, f.key, after, f.hub.cfg.PageSize)
		if err != nil {
			return err
		}
		f.mu.Lock()
		broken := f.merge(after, page)
		done := !page.More && !broken
		if done {
			f.whole = false
		}
		subs := f.subs
		f.mu.Unlock()
		notifyAll(subs)
		if done {
			return nil
		}
		if broken {
			if restarts++; restarts > 3 {
				return errUnsteady
			}
		}
	}
}

// merge takes a page in. It reports true when the feed had to begin anew: the caller reads again, from the start of the log.
func (f *feed) merge(after EntryID, page Page) bool {
	if !f.loaded {
		f.load(page)
	} else if page.Head.Incarnation != f.head.Incarnation || page.Top.Compare(after) < 0 {
		f.restart() // a top below where we asked: the log lost its tail (offers may have moved the position meanwhile)
		return true
	}
	for _, e := range page.Entries {
		if e.ID.Compare(f.pos) <= 0 {
			continue // an offer was quicker
		}
		follows := e.Kind == KindMarker && e.ID.Seq == f.pos.Seq || e.Kind != KindMarker && e.ID.Seq == f.pos.Seq+1 &&
			(e.ID.Epoch == f.pos.Epoch || page.Head.Before == f.head.CursorAt(f.pos.Seq).ID)
		switch {
		case follows || f.pos.IsZero():
		case f.whole:
			f.skip(e)
		default:
			f.restart() // the store lost entries, or trimmed what we did not see
			return true
		}
		f.take(e)
	}
	return false
}

// errUnsteady says that the log changed its past again and again while it was read; it is read again a little later.
var errUnsteady = errors.New("log does not hold still")

// skip goes over a hole: an append that landed behind entries which the store had lost. Nothing before it can be served; its owner
// states the run again.
func (f *feed) skip(e Entry) {
	f.window = nil
	f.head.Before = EntryID{Epoch: e.ID.Epoch, Seq: e.ID.Seq}
	if e.Kind != KindMarker {
		f.head.Before.Seq--
	}
}

// load begins a feed with the first page.
func (f *feed) load(page Page) {
	f.loaded, f.whole, f.head, f.pos, f.window = true, true, page.Head, EntryID{}, nil
	f.active = nil
	if a := page.Head.Active; page.Head.Run != "" && a != nil {
		f.active = &RunInfo{Run: a.Run, Turn: a.Turn, Phase: phaseAccepted, StartedAt: a.StartedAt, Model: a.Model}
	}
}

// restart forgets everything: every reader gets a reset.
func (f *feed) restart() {
	f.loaded, f.window, f.pos = false, nil, EntryID{}
	for _, s := range f.subs {
		s.stale, s.reset = true, nil // a document of before is no answer any more
	}
	f.stale = len(f.subs) > 0
}

// take appends one entry that follows the position.
func (f *feed) take(e Entry) {
	if e.Kind != KindMarker && e.ID.Epoch != f.pos.Epoch && f.pos != (EntryID{}) { // the marker was trimmed
		f.head.Fences = addFence(f.head.Fences, Fence{Epoch: e.ID.Epoch, First: e.ID.Seq})
	}
	f.pos = e.ID
	switch e.Kind {
	case KindMarker:
		f.head.Fences = addFence(f.head.Fences, Fence{Epoch: e.ID.Epoch, First: e.ID.Seq + 1})
		return
	case KindStarted:
		var st Started
		_ = json.Unmarshal([]byte(e.Data), &st) // ours; a broken one shows as a run without names
		f.active = &RunInfo{Run: st.Run, Turn: st.Turn, Phase: phaseAccepted, StartedAt: st.At, Model: st.Model, Node: st.Node}
	case KindSettled:
		f.active = nil
	case KindText, KindReasoning, KindTool:
		if f.active != nil && f.active.Phase != phaseStreaming {
			a := *f.active
			a.Phase = phaseStreaming
			f.active = &a
		}
	}
	f.window = append(f.window, e)
	if e.Kind == KindSettled {
		f.trim()
	}
}

// trim keeps the entries of the run that was settled last, as the owner does in the log.
func (f *feed) trim() {
	i := len(f.window) - 1
	for i > 0 && f.window[i].Kind != KindStarted {
		i--
	}
	if i <= 0 {
		return
	}
	f.head.Before = f.window[i-1].ID
	f.window = slices.Clone(f.window[i:])
	f.head.Fences = f.head.Fences.Prune(f.window[0].ID.Seq)
}

// addFence appends a fence; one that no entry was written under is replaced.
func addFence(fs Fences, n Fence) Fences {
	fs = slices.Clone(fs)
	for len(fs) > 0 && fs[len(fs)-1].First >= n.First {
		fs = fs[:len(fs)-1]
	}
	return append(fs, n)
}

func notifyAll(subs []*Subscription) {
	for _, s := range subs {
		s.notify()
	}
}
