package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway/wire"
)

var edits = map[string]wire.Command{
	`{"op":"edit","session":"s","key":"k","row":"` + run + `","content":"hi","revision":"r"}`:       {Op: "edit", Session: "s", Key: "k", Row: run, Content: json.RawMessage(`"hi"`), Revision: "r"},
	`{"op":"edit","session":"s","row":"u1","content":[],"attachments":[],"model":"m","revision":5}`: {Op: "edit", Session: "s", Row: "u1", Content: json.RawMessage(`[]`), Attachments: []json.RawMessage{}, Model: "m"},
	`{"op":"undo","session":"s","key":"k","revision":"r"}`:                                          {Op: "undo", Session: "s", Key: "k", Revision: "r"},
	`{"op":"undo","session":"s"}`:                                                      {Op: "undo", Session: "s"},
	`{"op":"truncate","session":"s","row":"u1","revision":"r"}`:                        {Op: "truncate", Session: "s", Row: "u1", Revision: "r"},
	`{"op":"truncate","session":"s","keep":0,"revision":"r"}`:                          {Op: "truncate", Session: "s", Keep: new(int), Revision: "r"},
	`{"op":"clear","session":"s","key":"k","revision":"r","row":7}`:                    {Op: "clear", Session: "s", Key: "k", Revision: "r"},
	`{"op":"select","session":"s","turn":"` + run + `","variant":"v1","revision":"r"}`: {Op: "select", Session: "s", Turn: run, Variant: "v1", Revision: "r"},
	`{"op":"rename","session":"s","key":"k","title":"Sea weeds","revision":"r"}`:       {Op: "rename", Session: "s", Key: "k", Title: "Sea weeds"},
}

// An edit is read as it was meant, and what a client writes reads back the same.
func TestDecodeEdits(t *testing.T) {
	for in, want := range edits {
		got, err := wire.Decode([]byte(in))
		require.NoError(t, err, in)
		assert.Equal(t, want, got, in)
		back, err := wire.Decode(got.Append(nil))
		require.NoError(t, err, in)
		assert.Equal(t, got, back, in)
	}
}

// A count or an id that cannot be is refused before anything is looked at.
// contract: F4
func TestDecodeRefusesBadEdits(t *testing.T) {
	for _, in := range []string{
		`{"op":"truncate","session":"s","revision":"r"}`,
		`{"op":"truncate","session":"s","revision":"r","row":"a","keep":1}`,
		`{"op":"truncate","session":"s","revision":"r","keep":-1}`,
		`{"op":"truncate","session":"s","revision":"r","keep":1.5}`,
		`{"op":"truncate","session":"s","revision":"r","keep":1e2}`,
		`{"op":"truncate","session":"s","revision":"r","keep":"3"}`,
		`{"op":"truncate","session":"s","revision":"r","keep":true}`,
		`{"op":"truncate","session":"s","revision":"r","keep":99999999999999999999}`,
		`{"op":"truncate","session":"s","revision":"r","row":""}`,
		`{"op":"truncate","session":"s","revision":"r","row":7}`,
		`{"op":"edit","session":"s","revision":"r","content":"x"}`,
		`{"op":"edit","session":"s","revision":"r","row":"a"}`,
		`{"op":"edit","session":"s","revision":"r","row":"../a","content":"x"}`,
		`{"op":"select","session":"s","revision":"r","turn":"a"}`,
		`{"op":"select","session":"s","revision":"r","variant":"a"}`,
		`{"op":"rename","session":"s"}`,
		`{"op":"rename","session":"s","title":5}`,
		`{"op":"undo"}`,
	} {
		_, err := wire.Decode([]byte(in))
		var e *wire.Error
		require.ErrorAs(t, err, &e, in)
		assert.Equal(t, wire.BadRequest, e.Code, in)
	}
}

// The answer to an edit without a run names none; variants are given with their rows.
func TestRenderEdits(t *testing.T) {
	got := wire.AppendReceipt(nil, json.RawMessage("1"), &wire.Receipt{Session: "s", Revision: "r", Cursor: "c"})
	assert.JSONEq(t, `{"re":1,"ok":{"session":"s","revision":"r","cursor":"c","repeat":false}}`, string(got))
	v := wire.Variants{Session: "s", Turn: "t"}
	assert.Equal(t, `{"session":"s","turn":"t","variants":[]}`, string(v.Append(nil)))
	v.Variants = []wire.Variant{{ID: "v", Run: "r", At: 1.5, Rows: []json.RawMessage{json.RawMessage(`{"id":"a"}`)}}}
	assert.JSONEq(t, `{"session":"s","turn":"t","variants":[{"id":"v","run":"r","at":1.5,"rows":[{"id":"a"}]}]}`, string(v.Append(nil)))
}
