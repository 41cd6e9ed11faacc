package logtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
)

var readCases = map[string]func(*testing.T, Backend){
	"a session that nobody made": readNothing,
	"a window at the end":        readWindow,
	"pages back":                 readBack,
	"a damaged row is told":      readDamaged,
	"one read is consistent":     readConsistent,
	"pages of the log":           readPages,
	"the list of sessions":       sessions,
}

// Looking at what does not exist creates nothing and says so.
func readNothing(t *testing.T, b Backend) {
	key := newKey()
	unchanged(t, b, key, func() {
		s, err := b.Store.Read(t.Context(), key, stream.Query{CommandKey: "k"})
		require.NoError(t, err)
		require.False(t, s.Head.Exists())
		require.Nil(t, s.Document)
		require.Positive(t, s.Now)
		p, err := b.Store.Page(t.Context(), key, stream.EntryID{}, 10)
		require.NoError(t, err)
		require.Empty(t, p.Entries)
		tail, err := b.Store.Check(t.Context(), key)
		require.NoError(t, err)
		require.Zero(t, tail.Top)
		require.Empty(t, tail.Incarnation)
	})
	o := newOwner(t, b) // acquired, but nothing was accepted
	s := o.read(stream.Query{})
	require.Nil(t, s.Document)
	require.Equal(t, o.epoch, s.Head.Epoch)
	require.Equal(t, o.node, s.Lease.Node)
	require.Equal(t, o.epoch, s.Lease.Epoch)
	require.Equal(t, o.at, s.Top)
}

// A long conversation is read from its end; what lies below is a number and a chain, and its revision is that of the whole.
func readWindow(t *testing.T, b Backend) {
	o := newOwner(t, b)
	for range 4 {
		o.done(o.send("k"+hexID(), "hi"))
		o.done(o.settle("completed", "hello"))
	}
	whole := o.read(stream.Query{})
	require.Equal(t, 8, whole.Total)
	require.Equal(t, regen.EmptyChain, whole.Document.RowsBase)
	part := o.read(stream.Query{Rows: 3}).Document
	require.Equal(t, 5, part.RowsBelow)
	require.Equal(t, whole.Document.Rows[4].Chain, part.RowsBase)
	require.Equal(t, whole.Document.Rows[5:], part.Rows)
	require.Equal(t, 5, part.ContextBelow)
	require.Equal(t, whole.Document.Context[4].Chain, part.ContextBase)
	require.Equal(t, whole.Head.Revision, part.Revision())
	require.Nil(t, o.read(stream.Query{HeadOnly: true}).Document)

	// Work goes on from the window alone.
	o.doc = part
	o.done(o.send("k5", "more"))
	require.Equal(t, o.doc.Revision(), o.read(stream.Query{}).Document.Revision())
}

// Older rows come in pages that end where the last one began.
func readBack(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(accepted{Change: o.listChange(0, element(0), element(1), element(2), element(3), element(4))})
	s := o.read(stream.Query{Rows: 2, Before: 3})
	require.Equal(t, []string{element(1), element(2)}, encoded(s.Document.Rows))
	require.Equal(t, 1, s.Document.RowsBelow)
	require.Equal(t, 5, s.Total)
	require.Empty(t, s.Document.Context)
	s = o.read(stream.Query{Rows: 2, Before: 1})
	require.Equal(t, []string{element(0)}, encoded(s.Document.Rows))
	require.Equal(t, regen.EmptyChain, s.Document.RowsBase)
	s = o.read(stream.Query{Rows: 2, Before: 99})
	require.Equal(t, []string{element(3), element(4)}, encoded(s.Document.Rows))
}

// A row that cannot be read is an error, never a row less.
func readDamaged(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(accepted{Change: o.listChange(0, element(0), element(1))})
	require.NoError(t, b.Do(t.Context(), "LSET", "hf1:{"+o.key.String()+"}:rows", 1, "junk"))
	_, err := b.Store.Read(t.Context(), o.key, stream.Query{})
	require.ErrorIs(t, err, regen.ErrElement)
	require.NotErrorIs(t, err, stream.ErrUnavailable)
}

// Whoever attaches while turns begin and end sees rows, run and position that belong together.
// contract: A1
func readConsistent(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k0", "hi"))
	stop, ended := make(chan struct{}), make(chan struct{})
	var wrong []string
	reads := 0
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			s, err := b.Store.Read(t.Context(), o.key, stream.Query{})
			switch {
			case err != nil:
				wrong = append(wrong, err.Error())
			case s.Document.Revision() != s.Head.Revision,
				s.Total != len(s.Document.Rows),
				(s.Head.Run != "") != (s.Total%2 == 1),
				s.Top.Seq != uint64(s.Total): // here each change writes one entry and one row
				wrong = append(wrong, s.Top.String())
			}
			reads++
		}
	}()
	for range 40 {
		o.done(o.settle("completed", "hello"))
		o.done(o.send("k"+hexID(), "hi"))
	}
	close(stop)
	<-ended
	require.Empty(t, wrong)
	require.Positive(t, reads)
}

// A reader pages through the log without hole or repeat, and sees markers.
func readPages(t *testing.T, b Backend) {
	o := newOwner(t, b)
	o.done(o.send("k1", "hi"))
	for range 4 {
		o.token("x")
	}
	require.Equal(t, []string{"0 m", "1 s", "2 t", "3 t", "4 t", "5 t"}, o.log())
	var got []stream.Entry
	after := stream.EntryID{}
	for more := true; more; {
		p, err := b.Store.Page(t.Context(), o.key, after, 4)
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.Entries), 4)
		require.Equal(t, o.at, p.Top)
		got = append(got, p.Entries...)
		after, more = got[len(got)-1].ID, p.More
	}
	require.Equal(t, o.page().Entries, got)
	p, err := b.Store.Page(t.Context(), o.key, o.at, 4)
	require.NoError(t, err)
	require.Empty(t, p.Entries)
	require.False(t, p.More)
}

// The list shows what exists, the latest first, and nothing of another tenant.
func sessions(t *testing.T, b Backend) {
	tenant := "t" + hexID()
	var made []*owner
	for range 3 {
		o := acquire(t, b, regen.Key{Tenant: tenant, Session: "s" + hexID()}, &regen.Document{})
		made = append(made, o)
	}
	for i, o := range made[:2] {
		o.done(o.send("k1", "hello there"))
		require.NoError(t, b.Store.Touch(t.Context(), o.key, float64(100+i)))
	}
	require.NoError(t, b.Store.Touch(t.Context(), made[2].key, 500)) // never came into being
	made[0].done(made[0].settle("completed", "x"))
	require.NoError(t, b.Store.Touch(t.Context(), made[0].key, 200.5))
	require.NoError(t, b.Store.Touch(t.Context(), made[0].key, 50), "late news")
	got, err := b.Store.Sessions(t.Context(), tenant, 10)
	require.NoError(t, err)
	require.Equal(t, []stream.SessionInfo{
		{Session: made[0].key.Session, Title: "hello there", UpdatedAt: 200.5},
		{Session: made[1].key.Session, Title: "hello there", UpdatedAt: 101, Run: made[1].doc.Active.Run},
	}, got)
	got, err = b.Store.Sessions(t.Context(), "other"+hexID(), 10)
	require.NoError(t, err)
	require.Empty(t, got)
}
