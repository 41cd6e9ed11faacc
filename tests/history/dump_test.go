package history_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/tests/history"
	"holdfast/tests/redistest"
)

// What a test dumps of a session is what Redis has, in order, both generations of receipts, and nothing is written for it.
func TestDumpReadsASession(t *testing.T) {
	redistest.Each(t, func(t *testing.T, _ string, o *redis.Options) {
		ctx := context.Background()
		c := redis.NewClient(o)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		tag := "hf1:{main/s1}"
		require.NoError(t, c.HSet(ctx, tag+":head", "inc", "aa", "ver", "1", "rver", "1", "before", "7-0").Err())
		require.NoError(t, c.RPush(ctx, tag+":rows", "r1", "r2").Err())
		require.NoError(t, c.HSet(ctx, tag+":keys2", "k1", "old", "k2", "older").Err())
		require.NoError(t, c.HSet(ctx, tag+":keys", "k1", "new").Err())
		for _, id := range []string{"7-0", "7-1"} {
			require.NoError(t, c.XAdd(ctx, &redis.XAddArgs{Stream: tag + ":log", ID: "8" + id[1:], Values: []string{"t", "word " + id}}).Err())
		}
		s, err := history.Dump(ctx, c, regen.Key{Session: "s1"})
		require.NoError(t, err)
		require.True(t, s.Exists())
		require.Equal(t, []string{"r1", "r2"}, s.Rows)
		require.Equal(t, map[string]string{"k1": "new", "k2": "older"}, s.Keys)
		require.Equal(t, stream.Entry{ID: stream.EntryID{Epoch: 8, Seq: 1}, Kind: stream.KindText, Data: "word 7-1"}, s.Log[1])
		empty, err := history.Dump(ctx, c, regen.Key{Session: "s2"})
		require.NoError(t, err)
		require.False(t, empty.Exists())
		require.NotEmpty(t, history.Changes(empty, s))
		require.Empty(t, history.Changes(s, s))
	})
}

// What a test leaves behind is named: a goroutine, a subscription, a key that will never go away. What lives with a session is not.
func TestBaselineNamesWhatStays(t *testing.T) {
	redistest.Each(t, func(t *testing.T, _ string, o *redis.Options) {
		ctx := context.Background()
		c := redis.NewClient(o)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		require.NoError(t, c.Ping(ctx).Err())
		before, err := history.TakeBaseline(ctx, c)
		require.NoError(t, err)
		require.NoError(t, c.HSet(ctx, "hf1:{main/s1}:head", "inc", "aa").Err())
		require.NoError(t, c.Set(ctx, "hf1:{main/s1}:keys", "timed", time.Hour).Err())
		after, err := history.TakeBaseline(ctx, c)
		require.NoError(t, err)
		require.Empty(t, history.Returned(before, after, 20))

		require.NoError(t, c.SAdd(ctx, "hf1:{node:n1}", "main/s1").Err())
		sub := c.Subscribe(ctx, "hf1:{main/s1}:wake")
		_, err = sub.Receive(ctx)
		require.NoError(t, err)
		wait, ended := make(chan struct{}), make(chan struct{})
		go func() { <-wait; close(ended) }()
		after, err = history.TakeBaseline(ctx, c)
		require.NoError(t, err)
		after.Goroutines = before.Goroutines + runtime.NumGoroutine() // stands in for a leak: the client's own goroutines come and go
		found := history.Returned(before, after, 0)
		require.Len(t, found, 3)
		for _, v := range found {
			require.Equal(t, history.I10, v.Name)
		}
		close(wait)
		<-ended
		require.NoError(t, sub.Close())
	})
}

// A run that settles, but too late, is told apart from one that never does.
func TestSettlementHasATimeLimit(t *testing.T) {
	st, _ := good(t)
	for i := range st.commands {
		st.commands[i].Answered = epochStart.Add(-time.Minute)
	}
	rec := st.record()
	require.Empty(t, rec.Check(history.Options{SettleWithin: 2 * time.Minute}))
	found := rec.Check(history.Options{SettleWithin: time.Second})
	require.NotEmpty(t, found)
	require.Equal(t, history.I4, found[0].Name)
}

// When the test itself made the store forget, a lost acceptance is no fault; what readers saw must still agree.
func TestStoreLostForgivesOnlyLoss(t *testing.T) {
	st, _ := good(t)
	delete(st.dumps[1].Keys, "k2")
	require.Empty(t, st.record().Check(history.Options{StoreLost: true}))
	st.drop(t, "r3", `"seq":9,`)
	require.NotEmpty(t, st.record().Check(history.Options{StoreLost: true}))
}

// A reader that was reset begins anew: nothing that it had before is held against what it gets.
func TestResetForgives(t *testing.T) {
	st, w := good(t)
	i := st.find(t, "r4", `"re":2`)
	frame := st.sights[i].frame
	view := frame[len(`{"re":2,"ok":{`) : len(frame)-2]
	st.drop(t, "r3", `"seq":9,`)
	j := st.find(t, "r3", `"seq":10,`)
	st.sights[j].frame = `{"event":"reset",` + view + `}`
	st.drop(t, "r3", `"seq":11,`)
	require.NotNil(t, w)
	require.Empty(t, st.record().Check(history.Options{}))
}
