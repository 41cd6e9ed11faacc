package openai_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"holdfast/regen"
	"holdfast/stream/turn"
	"holdfast/stream/upstream/fake"
	"holdfast/stream/upstream/openai"
)

func ExampleNew() {
	provider := httptest.NewServer(fake.Handler(fake.Script{Text: "Hello to you."}))
	defer provider.Close()

	src, err := openai.New(openai.Config{URL: provider.URL, Key: openai.NewSecret("any"), Model: "small"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()

	prompt := turn.Prompt{Rows: []regen.Row{{Role: regen.RoleUser, Content: regen.Text("Hello")}}}
	for delta, err := range src.Generate(context.Background(), prompt) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(delta.Text)
		if delta.Finish != "" {
			fmt.Println("", delta.Finish, delta.Model)
		}
	}
	// Output: Hello to you. stop small
}
