package gateway_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"holdfast/client"
	"holdfast/gateway"
)

func ExampleServer() {
	server := gateway.New(gateway.Config{Engine: &fakeEngine{}, Hub: newHub("s1"), Reader: &fakeReader{}, Node: "n1"})
	web := httptest.NewServer(server.Handler())
	ctx := context.Background()
	c, err := client.Dial(ctx, web.URL+"/v1/ws", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Hello.Node)
	_ = c.Close()
	fmt.Println(server.Drain(ctx), server.Shutdown(ctx))
	web.Close()
	// Output:
	// n1
	// <nil> <nil>
}
