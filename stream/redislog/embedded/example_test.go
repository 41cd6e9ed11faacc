package embedded_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"holdfast/stream/redislog/embedded"
)

// The store inside the process is used like any Redis.
func ExampleNew() {
	store := embedded.New(embedded.Config{})
	defer store.Close()
	client := redis.NewClient(store.Options())
	defer func() { _ = client.Close() }()

	ctx := context.Background()
	fmt.Println(client.Set(ctx, "greeting", "hi", 0).Val(), client.Get(ctx, "greeting").Val())
	// Output: OK hi
}
