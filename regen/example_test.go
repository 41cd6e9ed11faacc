package regen_test

import (
	"fmt"

	"holdfast/regen"
)

// A turn, from the command to its end. Identifiers and times come from the caller.
func Example() {
	d := &regen.Document{Session: "s1"}
	plan, err := d.Plan(regen.Command{Op: regen.OpSend, Key: "k1", Content: regen.Text("Hello")})
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	accepted, err := plan.Commit(regen.Mint{
		Run:  "00000000000000000000000000000001",
		Turn: "00000000000000000000000000000002",
		Row:  "00000000000000000000000000000003",
		At:   1700000000,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("elements to add:", len(accepted.Edit.Rows.Append), "active:", accepted.Edit.Run != "")

	settled, err := accepted.Document.Settle(regen.Outcome{
		Run: accepted.Run, Kind: regen.Completed, Text: "Hi!", At: 1700000001,
		AnswerRow: "00000000000000000000000000000004",
		ErrorRow:  "00000000000000000000000000000005",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range settled.Rows {
		fmt.Println(r.Role, r.Content.Text())
	}
	_, ok := settled.Document.Minted()
	fmt.Println("may regenerate:", ok)
	// Output:
	// elements to add: 1 active: true
	// user Hello
	// assistant Hi!
	// may regenerate: true
}
