package redislog

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// errSilent says that a subscription's connection answered nothing, not even a ping.
var errSilent = errors.New("subscription does not answer")

// run keeps one subscription connection alive until ctx ends, and always drains it: an embedded server stops for everybody when a
// subscriber is not read.
func (f *feeds) run(ctx context.Context) {
	for try := 0; ctx.Err() == nil; try++ {
		topics := f.allTopics()
		if len(topics) == 0 {
			try = -1
			select {
			case <-f.wake:
			case <-ctx.Done():
			}
			continue
		}
		got, err := f.serve(ctx, topics)
		if ctx.Err() != nil {
			return
		}
		if f.opt.Events.Disconnected != nil {
			f.opt.Events.Disconnected(err)
		}
		if got {
			try = 0
		}
		pause(ctx, try)
	}
}

// serve is the life of one connection. It says whether anything came over it, and why it ended.
func (f *feeds) serve(ctx context.Context, topics []string) (got bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	sub := f.client.Subscribe(ctx)
	var heard atomic.Uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f.send(ctx, sub, topics, &heard); err != nil {
			cancel(err)
		}
	})
	// A reader that waits is not woken by its context, only by the end of its connection.
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = sub.Close()
	})
	cancel(f.receive(ctx, sub, &heard))
	wg.Wait()
	<-closed
	return heard.Load() > 0, context.Cause(ctx)
}

// receive hands out what comes, until the connection ends.
func (f *feeds) receive(ctx context.Context, sub *redis.PubSub, heard *atomic.Uint64) error {
	for {
		// No time-out here: one that strikes within a message would leave the rest of it to be read as if it were replies.
		m, err := sub.Receive(ctx)
		if err != nil {
			return err
		}
		heard.Add(1)
		switch m := m.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				f.tell(m.Channel, "", true)
			}
		case *redis.Message:
			f.tell(m.Channel, m.Payload, false)
		}
	}
}

// send begins and ends subscriptions in order, and pings a connection that is silent. Its error ends the connection.
func (f *feeds) send(ctx context.Context, sub *redis.PubSub, topics []string, heard *atomic.Uint64) error {
	if err := sub.Subscribe(ctx, topics...); err != nil {
		return err
	}
	var tick <-chan time.Time
	if f.opt.PingEvery > 0 {
		t := time.NewTicker(f.opt.PingEvery)
		defer t.Stop()
		tick = t.C
	}
	last, asked := heard.Load(), false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
			if err := f.sendSteps(ctx, sub); err != nil {
				return err
			}
		case <-tick:
			now := heard.Load()
			switch {
			case now != last:
				last, asked = now, false
			case asked:
				return errSilent
			default:
				asked = true
				if err := sub.Ping(ctx); err != nil {
					return err
				}
			}
		}
	}
}

// sendSteps sends the steps that wait; neighbours of one kind go in one command.
func (f *feeds) sendSteps(ctx context.Context, sub *redis.PubSub) error {
	steps := f.takeSteps()
	for i := 0; i < len(steps); {
		leave := steps[i].leave
		var topics []string
		for ; i < len(steps) && steps[i].leave == leave; i++ {
			topics = append(topics, steps[i].topic)
		}
		var err error
		if leave {
			err = sub.Unsubscribe(ctx, topics...)
		} else {
			err = sub.Subscribe(ctx, topics...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pause waits before the next connection: from 10 ms to about a second.
func pause(ctx context.Context, try int) {
	d := 10 * time.Millisecond << min(try, 6)
	t := time.NewTimer(d*4/5 + rand.N(d*2/5))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
