package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway/wire"
)

const run = "0123456789abcdef0123456789abcdef"

// A command that is right is read as it was meant, whatever else stands in it.
func TestDecodeAccepts(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, c := range map[string]struct {
		in   string
		want wire.Command
	}{
		"hello":             {`{"id":1,"op":"hello","protocol":1,"token":"t"}`, wire.Command{ID: raw("1"), Op: "hello", Protocol: 1, Token: "t"}},
		"bare hello":        {`{"op":"hello"}`, wire.Command{Op: "hello"}},
		"ping, no id":       {`{"op":"ping"}`, wire.Command{Op: "ping"}},
		"null id is none":   {`{"id":null,"op":"ping"}`, wire.Command{Op: "ping"}},
		"negative id":       {`{"id":-7,"op":"ping"}`, wire.Command{ID: raw("-7"), Op: "ping"}},
		"id kept verbatim":  {`{"id":1.50e+3,"op":"ping"}`, wire.Command{ID: raw("1.50e+3"), Op: "ping"}},
		"string id":         {`{"id":"a\u00e9\n","op":"ping"}`, wire.Command{ID: raw(`"a\u00e9\n"`), Op: "ping"}},
		"attach":            {`{"id":2,"op":"attach","session":"s1","cursor":"x.1:2"}`, wire.Command{ID: raw("2"), Op: "attach", Session: "s1", Cursor: "x.1:2"}},
		"odd cursor":        {`{"id":2,"op":"attach","session":"s1","cursor":"../../-1"}`, wire.Command{ID: raw("2"), Op: "attach", Session: "s1", Cursor: "../../-1"}},
		"null cursor":       {`{"id":2,"op":"attach","session":"s1","cursor":null}`, wire.Command{ID: raw("2"), Op: "attach", Session: "s1"}},
		"escaped field":     {`{"\u0069d":2,"op":"ping"}`, wire.Command{ID: raw("2"), Op: "ping"}},
		"case matters":      {`{"ID":5,"Op":"send","op":"ping"}`, wire.Command{Op: "ping"}},
		"unknown fields":    {`{"id":3,"op":"ping","x":{"op":[1,{"y":"}"}]},"session":5}`, wire.Command{ID: raw("3"), Op: "ping"}},
		"send":              {`{"id":3,"op":"send","session":"s1","key":"k1","content":"hi"}`, wire.Command{ID: raw("3"), Op: "send", Session: "s1", Key: "k1", Content: raw(`"hi"`)}},
		"send parts":        {` { "op" : "send" , "session" : "s1" , "content" : [ {"type":"text","text":"a"} ] } `, wire.Command{Op: "send", Session: "s1", Content: raw(`[ {"type":"text","text":"a"} ]`)}},
		"send, everything":  {`{"op":"send","session":"s","content":"x","attachments":[{"a":1}, "b",2 ],"model":"m","revision":"r","options":{"busy":"replace","z":1}}`, wire.Command{Op: "send", Session: "s", Content: raw(`"x"`), Attachments: []json.RawMessage{raw(`{"a":1}`), raw(`"b"`), raw(`2`)}, Model: "m", Revision: "r", Busy: "replace"}},
		"surrogate pair":    {`{"op":"send","session":"s","content":"\ud83d\ude00"}`, wire.Command{Op: "send", Session: "s", Content: raw(`"\ud83d\ude00"`)}},
		"escaped backslash": {`{"op":"send","session":"s","content":"\\u0000 \\ud800"}`, wire.Command{Op: "send", Session: "s", Content: raw(`"\\u0000 \\ud800"`)}},
		"regenerate":        {`{"op":"regenerate","session":"s","key":"k","revision":"r","model":"m"}`, wire.Command{Op: "regenerate", Session: "s", Key: "k", Revision: "r", Model: "m"}},
		"cancel run":        {`{"op":"cancel","session":"s","run":"` + run + `"}`, wire.Command{Op: "cancel", Session: "s", Run: run}},
		"cancel of":         {`{"op":"cancel","session":"s","of":"k 1"}`, wire.Command{Op: "cancel", Session: "s", Of: "k 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.Decode([]byte(c.in))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

// The contract answers a revision that is missing or no string like a stale one, and wants to hear of a field that may not be there.
// contract: 2.13
func TestDecodeRegenerate(t *testing.T) {
	for in, want := range map[string]wire.Command{
		`{"op":"regenerate","session":"s"}`:                               {Op: "regenerate", Session: "s"},
		`{"op":"regenerate","session":"s","revision":5}`:                  {Op: "regenerate", Session: "s"},
		`{"op":"regenerate","session":"s","revision":["r"]}`:              {Op: "regenerate", Session: "s"},
		`{"op":"regenerate","session":"s","revision":"r","content":"x"}`:  {Op: "regenerate", Session: "s", Revision: "r", Forbidden: "content"},
		`{"op":"regenerate","session":"s","revision":"r","content":null}`: {Op: "regenerate", Session: "s", Revision: "r", Forbidden: "content"},
		`{"op":"regenerate","session":"s","row":7,"keep_count":1}`:        {Op: "regenerate", Session: "s", Forbidden: "row"},
		`{"op":"regenerate","session":"s","keep_count":-1}`:               {Op: "regenerate", Session: "s", Forbidden: "keep_count"},
		`{"op":"regenerate","session":"s","attachments":[]}`:              {Op: "regenerate", Session: "s", Forbidden: "attachments"},
	} {
		got, err := wire.Decode([]byte(in))
		require.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
}

// A command that is wrong is refused as bad_request, and the answer finds its question wherever the id could be read.
func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ in, id string }{
		"nothing":               {``, ""},
		"no object":             {`[]`, ""},
		"half an object":        {`{"id":1,"op":"ping"`, ""},
		"two objects":           {`{"op":"ping"}{"op":"ping"}`, ""},
		"not JSON":              {`{id:1,op:"ping"}`, ""},
		"no op":                 {`{"id":1}`, "1"},
		"op null":               {`{"id":1,"op":null}`, "1"},
		"op number":             {`{"id":1,"op":3}`, "1"},
		"unknown op":            {`{"id":1,"op":"drop"}`, "1"},
		"op in capitals":        {`{"id":1,"op":"PING"}`, "1"},
		"id object":             {`{"id":{},"op":"ping"}`, ""},
		"id array":              {`{"id":[1],"op":"ping"}`, ""},
		"id bool":               {`{"id":true,"op":"ping"}`, ""},
		"huge id":               {`{"id":"` + strings.Repeat("x", 200) + `","op":"ping"}`, ""},
		"huge number":           {`{"id":` + strings.Repeat("9", 200) + `,"op":"ping"}`, ""},
		"id with NUL":           {`{"id":"\u0000","op":"ping"}`, ""},
		"id with surrogate":     {`{"id":"\ud800","op":"ping"}`, ""},
		"id twice":              {`{"id":1,"id":2,"op":"ping"}`, "1"},
		"op twice":              {`{"id":1,"op":"ping","op":"send"}`, "1"},
		"content twice":         {`{"id":1,"op":"send","session":"s","content":"a","content":"b"}`, "1"},
		"twice, once escaped":   {`{"id":1,"op":"ping","o\u0070":"send"}`, "1"},
		"no session":            {`{"id":1,"op":"attach"}`, "1"},
		"session number":        {`{"id":1,"op":"attach","session":5}`, "1"},
		"session empty":         {`{"id":1,"op":"attach","session":""}`, "1"},
		"session path":          {`{"id":1,"op":"attach","session":"../etc/passwd"}`, "1"},
		"session with brace":    {`{"id":1,"op":"attach","session":"a}b"}`, "1"},
		"session with dash":     {`{"id":1,"op":"attach","session":"-a"}`, "1"},
		"session with newline":  {`{"id":1,"op":"attach","session":"a\n"}`, "1"},
		"session not ASCII":     {`{"id":1,"op":"attach","session":"é"}`, "1"},
		"session too long":      {`{"id":1,"op":"attach","session":"` + strings.Repeat("a", 129) + `"}`, "1"},
		"cursor number":         {`{"id":1,"op":"attach","session":"s","cursor":0}`, "1"},
		"cursor object":         {`{"id":1,"op":"attach","session":"s","cursor":{}}`, "1"},
		"no content":            {`{"id":1,"op":"send","session":"s"}`, "1"},
		"content null":          {`{"id":1,"op":"send","session":"s","content":null}`, "1"},
		"content number":        {`{"id":1,"op":"send","session":"s","content":1}`, "1"},
		"content object":        {`{"id":1,"op":"send","session":"s","content":{"text":"a"}}`, "1"},
		"content with NUL":      {`{"id":1,"op":"send","session":"s","content":"a\u0000b"}`, "1"},
		"lone high surrogate":   {`{"id":1,"op":"send","session":"s","content":"\ud83d"}`, "1"},
		"lone low surrogate":    {`{"id":1,"op":"send","session":"s","content":"\ude00\ud83d"}`, "1"},
		"two high surrogates":   {`{"id":1,"op":"send","session":"s","content":"\ud83d\ud83d\ude00"}`, "1"},
		"high, then a letter":   {`{"id":1,"op":"send","session":"s","content":"\ud83dx"}`, "1"},
		"surrogate in parts":    {`{"id":1,"op":"send","session":"s","content":[{"type":"text","text":"\udfff"}]}`, "1"},
		"surrogate in a name":   {`{"id":1,"op":"send","session":"s","content":"x","\ud800":1}`, "1"},
		"not UTF-8":             {"{\"id\":1,\"op\":\"send\",\"session\":\"s\",\"content\":\"\xff\"}", "1"},
		"attachments object":    {`{"id":1,"op":"send","session":"s","content":"x","attachments":{}}`, "1"},
		"key number":            {`{"id":1,"op":"send","session":"s","content":"x","key":1}`, "1"},
		"key empty":             {`{"id":1,"op":"send","session":"s","content":"x","key":""}`, "1"},
		"key with control":      {`{"id":1,"op":"send","session":"s","content":"x","key":"a\tb"}`, "1"},
		"key too long":          {`{"id":1,"op":"send","session":"s","content":"x","key":"` + strings.Repeat("k", 129) + `"}`, "1"},
		"model number":          {`{"id":1,"op":"send","session":"s","content":"x","model":1}`, "1"},
		"model too long":        {`{"id":1,"op":"send","session":"s","content":"x","model":"` + strings.Repeat("m", 257) + `"}`, "1"},
		"send, revision number": {`{"id":1,"op":"send","session":"s","content":"x","revision":1}`, "1"},
		"options string":        {`{"id":1,"op":"send","session":"s","content":"x","options":"busy"}`, "1"},
		"busy unknown":          {`{"id":1,"op":"send","session":"s","content":"x","options":{"busy":"wait"}}`, "1"},
		"busy number":           {`{"id":1,"op":"send","session":"s","content":"x","options":{"busy":1}}`, "1"},
		"cancel nothing":        {`{"id":1,"op":"cancel","session":"s"}`, "1"},
		"cancel both":           {`{"id":1,"op":"cancel","session":"s","run":"` + run + `","of":"k"}`, "1"},
		"cancel bad run":        {`{"id":1,"op":"cancel","session":"s","run":"abc"}`, "1"},
		"cancel run in capital": {`{"id":1,"op":"cancel","session":"s","run":"` + strings.ToUpper(run) + `"}`, "1"},
		"cancel run number":     {`{"id":1,"op":"cancel","session":"s","run":1}`, "1"},
		"protocol negative":     {`{"id":1,"op":"hello","protocol":-1}`, "1"},
		"protocol zero":         {`{"id":1,"op":"hello","protocol":0}`, "1"},
		"protocol string":       {`{"id":1,"op":"hello","protocol":"1"}`, "1"},
		"protocol huge":         {`{"id":1,"op":"hello","protocol":99999999999999999999}`, "1"},
		"token number":          {`{"id":1,"op":"hello","token":1}`, "1"},
		"token too long":        {`{"id":1,"op":"hello","token":"` + strings.Repeat("t", 17<<10) + `"}`, "1"},
		"too deep":              {`{"id":1,"op":"ping","x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.Decode([]byte(c.in))
			var e *wire.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, wire.BadRequest, e.Code)
			assert.NotEmpty(t, e.Message)
			assert.Equal(t, c.id, string(got.ID))
		})
	}
}

// A command that comes under a session's path may leave the session out, and may not name another one.
func TestDecodeIn(t *testing.T) {
	c, err := wire.DecodeIn("s1", []byte(`{"op":"cancel","of":"k"}`))
	require.NoError(t, err)
	assert.Equal(t, "s1", c.Session)
	_, err = wire.DecodeIn("s1", []byte(`{"op":"cancel","of":"k","session":"s1"}`))
	require.NoError(t, err)
	_, err = wire.DecodeIn("s1", []byte(`{"op":"cancel","of":"k","session":"s2"}`))
	require.Error(t, err)
}

// A message may carry several commands on lines of their own, also when they are spread over lines themselves.
func TestNextObject(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
		bad  bool
	}{
		"empty":          {"", nil, false},
		"blank":          {" \r\n\t\n", nil, false},
		"one":            {`{"a":1}`, []string{`{"a":1}`}, false},
		"three":          {"{\"a\":1}\n{\"b\":2}\r\n\n {\"c\":3}\n", []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, false},
		"spread":         {"{\n \"a\": [\n1]\n}\n{}", []string{"{\n \"a\": [\n1]\n}", "{}"}, false},
		"braces in text": {`{"a":"}{\"\\"}`, []string{`{"a":"}{\"\\"}`}, false},
		"no newline":     {`{"a":1}{"b":2}`, nil, true},
		"comma":          {"{\"a\":1},\n{\"b\":2}", nil, true},
		"array":          {`[{"a":1}]`, nil, true},
		"half":           {"{\"a\":1}\n{\"b\":", []string{`{"a":1}`}, true},
		"open string":    {`{"a":"`, nil, true},
		"open escape":    {`{"a":"\`, nil, true},
		"word":           {`ping`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			msg := []byte(c.in)
			for {
				obj, rest, err := wire.NextObject(msg)
				if err != nil {
					assert.True(t, c.bad, err)
					break
				}
				if obj == nil {
					assert.False(t, c.bad)
					break
				}
				got, msg = append(got, string(obj)), rest
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// No bytes whatever break the decoder, and what it understood survives being written and read again.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"op":"hello","protocol":1,"token":"t"}`,
		`{"id":"x","op":"attach","session":"s1","cursor":"a.1:2"}`,
		`{"id":3,"op":"send","session":"s1","key":"k","content":[{"type":"text","text":"\ud83d\ude00"}],"attachments":[1,{"a":[]}],"options":{"busy":"replace"}}`,
		`{"id":4,"op":"regenerate","session":"s1","revision":5,"row":"x"}`,
		`{"id":5,"op":"cancel","session":"s1","of":"k"}`,
		`{"op":"send","session":"s","content":"\u0000"}`, `{"op":`, `{"a":"\`, "{}\n{}", `{"op":"ping","x":-1e9}`,
	} {
		f.Add([]byte(s))
	}
	for in := range edits {
		f.Add([]byte(in))
	}
	f.Add([]byte(`{"op":"truncate","session":"s","keep":-1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for msg := raw; ; {
			obj, rest, err := wire.NextObject(msg)
			if err != nil || obj == nil {
				break
			}
			require.Less(t, len(rest), len(msg))
			msg = rest
		}
		c, err := wire.Decode(raw)
		if err != nil {
			var e *wire.Error
			require.ErrorAs(t, err, &e)
			require.True(t, json.Valid(wire.AppendError(nil, c.ID, e)))
			return
		}
		written := c.Append(nil)
		require.True(t, json.Valid(written), "%s", written)
		again, err := wire.Decode(written)
		require.NoError(t, err, "%s", written)
		require.Equal(t, string(written), string(again.Append(nil)))
		require.Equal(t, c, again)
	})
}
