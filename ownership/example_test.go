package ownership_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"holdfast/ownership"
	"holdfast/ownership/redislease"
)

// A node acquires a session, works while it is sure, and gives it back.
func ExampleKeeper() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{
		Addr: server.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { _ = client.Close() }()

	keeper := ownership.NewKeeper(redislease.New(client, redislease.Options{Chunk: 64}), ownership.Config{Node: "n1", Proc: "p1"})
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = keeper.Run(ctx) })
	defer wg.Wait()
	defer stop()

	held, err := keeper.Acquire(ctx, "main/s1", ownership.AcquireOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println("sure:", held.Sure(), "new session:", held.Grant().Fresh, "next seq:", held.Grant().Seq+1)

	limit, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	fmt.Println("released:", held.Release(limit), "because:", context.Cause(held.Context()))
	// Output:
	// sure: true new session: true next seq: 1
	// released: <nil> because: lease released
}
