package redislog_test

import (
	"context"
	"fmt"
	"sync"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/redislog"
	"holdfast/stream/redislog/embedded"
)

func Example() {
	server := embedded.New(embedded.Config{})
	defer server.Close()
	store := redislog.New(redislog.Single(server.Options()), redislog.Options{Solo: true, PingEvery: -1})
	var wg sync.WaitGroup
	wg.Go(func() { _ = store.Run(context.Background()) })

	snap, err := store.Read(context.Background(), regen.Key{Tenant: "main", Session: "s1"}, stream.Query{})
	fmt.Println(snap.Head.Exists(), err)

	_ = store.Close()
	wg.Wait()
	// Output: false <nil>
}
