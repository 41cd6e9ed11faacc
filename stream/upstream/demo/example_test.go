package demo_test

import (
	"context"
	"fmt"

	"holdfast/regen"
	"holdfast/stream/turn"
	"holdfast/stream/upstream/demo"
)

func ExampleNew() {
	src := demo.New(demo.Config{Rate: -1})
	prompt := turn.Prompt{Run: "0123456789abcdef0123456789abcdef", Rows: []regen.Row{
		{Role: regen.RoleUser, Content: regen.Text("/echo Hello, is anybody there?")},
	}}
	for delta, err := range src.Generate(context.Background(), prompt) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(delta.Text)
	}
	// Output: Hello, is anybody there?
}

func ExampleScript() {
	fmt.Println(demo.Script("/echo exact text", "any run"))
	// Output: exact text
}
