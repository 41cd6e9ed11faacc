package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway/wire"
)

var (
	one  = []json.RawMessage{json.RawMessage(`{"id":"r1"}`)}
	two  = []json.RawMessage{json.RawMessage(`{"id":"r1"}`), json.RawMessage(`{"id":"r2"}`)}
	view = wire.View{
		Session:  "s1",
		Document: &wire.Document{Rows: two, Revision: "rev", Title: "T", Total: 57, Before: "55"},
		Run:      &wire.Run{Run: "r", Turn: "t", Phase: "streaming", StartedAt: 1.5, Model: "m", Node: "n"},
		Cursor:   "i.1:2",
	}
)

// Every frame looks as the protocol's description says.
func TestFrames(t *testing.T) {
	id := json.RawMessage(`"q\u00e9"`)
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"error": {wire.AppendError(nil, id, wire.NewError(wire.StaleRevision, "changed")),
			`{"re":"q\u00e9","error":{"code":"stale_regeneration_revision","status":409,"message":"changed","retryable":false}}`},
		"error, busy": {wire.AppendError(nil, nil, &wire.Error{Code: wire.SessionActive, Status: 409, Message: "a \"run\"", Run: "r"}),
			`{"re":null,"error":{"code":"session_active","status":409,"message":"a \"run\"","retryable":false,"run":"r"}}`},
		"receipt": {wire.AppendReceipt(nil, id, &wire.Receipt{Session: "s1", Turn: "t", Run: "r", Cursor: "i.1:2", Repeat: true}),
			`{"re":"q\u00e9","ok":{"session":"s1","turn":"t","run":"r","cursor":"i.1:2","repeat":true}}`},
		"cancelled": {wire.AppendCancelled(nil, json.RawMessage("5"), &wire.Cancelled{Run: "r", Cancel: "accepted", Seq: 57}),
			`{"re":5,"ok":{"run":"r","cancel":"accepted","seq":57}}`},
		"cancelled, no run": {wire.AppendCancelled(nil, json.RawMessage("5"), &wire.Cancelled{Cancel: "unknown"}),
			`{"re":5,"ok":{"run":null,"cancel":"unknown","seq":0}}`},
		"attached": {wire.AppendAttached(nil, json.RawMessage("2"), &view),
			`{"re":2,"ok":{"session":"s1","document":{"rows":[{"id":"r1"},{"id":"r2"}],"revision":"rev","title":"T","total":57,"before":"55"},` +
				`"run":{"run":"r","turn":"t","phase":"streaming","started_at":1.5,"model":"m","node":"n"},"cursor":"i.1:2"}}`},
		"attached, cursor accepted": {wire.AppendAttached(nil, json.RawMessage("2"), &wire.View{Session: "s1", Cursor: "i.1:2"}),
			`{"re":2,"ok":{"session":"s1","run":null,"cursor":"i.1:2"}}`},
		"older rows": {(&wire.View{Session: "s1", Document: &wire.Document{Rows: one, Total: 9, Before: "3"}}).Append(nil),
			`{"session":"s1","document":{"rows":[{"id":"r1"}],"total":9,"before":"3"}}`},
		"ok":              {wire.AppendOK(nil, json.RawMessage("9"), ""), `{"re":9,"ok":{}}`},
		"ok of a session": {wire.AppendOK(nil, json.RawMessage("9"), "s1"), `{"re":9,"ok":{"session":"s1"}}`},
		"hello": {wire.AppendHello(nil, json.RawMessage("1"), &wire.Hello{Protocol: 1, Server: "holdfast/1", Node: "n", PingMS: 20000,
			Limits: wire.Limits{MaxFrame: 1, MaxSessions: 2, MaxInflight: 3, MaxKey: 4, MaxID: 5}, Ops: []wire.Op{"hello", "ping"}}),
			`{"re":1,"ok":{"protocol":1,"server":"holdfast/1","node":"n","ping_ms":20000,` +
				`"limits":{"max_frame":1,"max_sessions":2,"max_inflight":3,"max_key":4,"max_id":5},"ops":["hello","ping"]}}`},
		"started": {(&wire.Started{Session: "s1", Run: "r", Turn: "t", Seq: 41, Rows: one, At: 2, Cursor: "c"}).Append(nil),
			`{"event":"started","session":"s1","run":"r","turn":"t","seq":41,"keep":null,"rows":[{"id":"r1"}],"at":2,"cursor":"c"}`},
		"started, kept": {(&wire.Started{Session: "s1", Run: "r", Turn: "t", Seq: 41, Keep: "r0", Model: "m", Node: "n"}).Append(nil),
			`{"event":"started","session":"s1","run":"r","turn":"t","seq":41,"keep":"r0","rows":[],"model":"m","node":"n"}`},
		"delta": {(&wire.Delta{Session: "s1", Run: "r", From: 42, Seq: 44, Kind: "text", Text: "a\nb"}).Append(nil),
			`{"event":"delta","session":"s1","run":"r","seq":44,"from":42,"kind":"text","text":"a\nb"}`},
		"delta of one": {(&wire.Delta{Session: "s1", Run: "r", From: 42, Seq: 42, Kind: "tool", Text: `{"a":1}`, Cursor: "c"}).Append(nil),
			`{"event":"delta","session":"s1","run":"r","seq":42,"kind":"tool","text":"{\"a\":1}","cursor":"c"}`},
		"settled": {(&wire.Settled{Session: "s1", Run: "r", Turn: "t", Seq: 57, Outcome: "completed", Rows: two, Revision: "rev",
			Usage: json.RawMessage(`{"n":1}`), Variants: []string{"v1", "v2"}, Cursor: "c"}).Append(nil),
			`{"event":"settled","session":"s1","run":"r","turn":"t","seq":57,"outcome":"completed","rows":[{"id":"r1"},{"id":"r2"}],` +
				`"revision":"rev","usage":{"n":1},"variants":["v1","v2"],"cursor":"c"}`},
		"settled, failed": {(&wire.Settled{Session: "s1", Run: "r", Seq: 57, Outcome: "failed", Cause: "upstream_cut"}).Append(nil),
			`{"event":"settled","session":"s1","run":"r","seq":57,"outcome":"failed","cause":"upstream_cut","rows":[]}`},
		"rows changed": {(&wire.SessionChange{Session: "s1", Seq: 58, Change: "rows", Keep: "r0", Rows: one, Revision: "rev"}).Append(nil),
			`{"event":"session","session":"s1","seq":58,"change":"rows","keep":"r0","rows":[{"id":"r1"}],"revision":"rev"}`},
		"all rows gone": {(&wire.SessionChange{Session: "s1", Seq: 58, Change: "rows"}).Append(nil),
			`{"event":"session","session":"s1","seq":58,"change":"rows","keep":null,"rows":[]}`},
		"title changed": {(&wire.SessionChange{Session: "s1", Seq: 58, Change: "title", Title: "T", Cursor: "c"}).Append(nil),
			`{"event":"session","session":"s1","seq":58,"change":"title","title":"T","cursor":"c"}`},
		"reset": {wire.AppendReset(nil, &wire.View{Session: "s1", Document: &wire.Document{}, Cursor: "c"}),
			`{"event":"reset","session":"s1","document":{"rows":[],"total":0},"run":null,"cursor":"c"}`},
		"degraded": {wire.AppendDegraded(nil, true), `{"event":"degraded","on":true}`},
		"goaway":   {wire.AppendGoAway(nil, 1200), `{"event":"goaway","reconnect_in_ms":1200}`},
		"ping":     {wire.AppendPing(nil), `{"event":"ping"}`},
		"sessions": {wire.AppendSessions(nil, []wire.SessionInfo{{Session: "a", Title: "T", UpdatedAt: 1.25, Run: "r"}, {Session: "b"}}),
			`{"sessions":[{"session":"a","title":"T","updated_at":1.25,"run":"r"},{"session":"b","updated_at":0}]}`},
		"no sessions": {wire.AppendSessions(nil, nil), `{"sessions":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, string(c.got))
			assert.True(t, json.Valid(c.got))
		})
	}
}

// Each code has one status, and says whether to try again as the protocol's description says.
// contract: 2.13
func TestCodes(t *testing.T) {
	want := map[wire.Code]int{
		"bad_request": 400, "invalid_regeneration_request": 400, "no_regenerable_turn": 400, "unauthenticated": 401, "forbidden": 403,
		"regeneration_read_only": 403, "not_found": 404, "method_not_allowed": 405, "stale_regeneration_revision": 409,
		"session_active": 409, "key_reused": 409, "too_large": 413, "rate_limited": 429, "internal": 500, "unavailable": 503, "timeout": 504,
	}
	got := map[wire.Code]int{}
	for _, c := range wire.Codes() {
		got[c] = c.Status()
		retry := c == wire.RateLimited || c == wire.Unavailable || c == wire.Timeout
		assert.Equal(t, retry, c.Retryable(), c)
	}
	assert.Equal(t, want, got)
	assert.Equal(t, 500, wire.Code("new").Status())
	for code, back := range map[wire.CloseCode]bool{0: true, 1001: true, 1006: true, 1007: false, 1009: false, 4000: true, 4499: true, 4500: false, 4999: false} {
		assert.Equal(t, back, code.ComeBack(), code)
	}
}

// A frame on the hot path costs no garbage.
func TestFramesAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	id := json.RawMessage("7")
	delta := wire.Delta{Session: "s1", Run: run, From: 1, Seq: 2, Kind: "text", Text: "héllo \"x\"\n"}
	started := wire.Started{Session: "s1", Run: run, Turn: run, Seq: 1, Rows: one}
	settled := wire.Settled{Session: "s1", Run: run, Seq: 1, Outcome: "completed", Rows: two}
	receipt := wire.Receipt{Session: "s1", Turn: run, Run: run, Cursor: "c"}
	e := wire.NewError(wire.SessionActive, "busy")
	for name, f := range map[string]func(){
		"delta":   func() { buf = delta.Append(buf[:0]) },
		"started": func() { buf = started.Append(buf[:0]) },
		"settled": func() { buf = settled.Append(buf[:0]) },
		"receipt": func() { buf = wire.AppendReceipt(buf[:0], id, &receipt) },
		"error":   func() { buf = wire.AppendError(buf[:0], id, e) },
		"view":    func() { buf = wire.AppendAttached(buf[:0], id, &view) },
		"ping":    func() { buf = wire.AppendPing(buf[:0]) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}

// Whatever a model says, its text comes out of the frame as it went in, on one line.
// case: FC86
func FuzzDelta(f *testing.F) {
	for _, s := range []string{"", "héllo", "чай, お茶, 🫖", "\x00\x1f\x7f\"\\/", "\u2028\u2029", "\xff\xfe a\xe2\x82", "a\r\n\tb", "\ufffd"} {
		f.Add("s1", s)
	}
	f.Fuzz(func(t *testing.T, session, text string) {
		d := wire.Delta{Session: session, Run: "r", From: 1, Seq: 2, Kind: wire.KindText, Text: text, Cursor: session}
		frame := d.Append(nil)
		require.True(t, json.Valid(frame), "%q", frame)
		require.True(t, utf8.Valid(frame))
		require.NotContains(t, string(frame), "\n")
		obj, rest, err := wire.NextObject(append(bytes.Clone(frame), '\n'))
		require.NoError(t, err)
		require.Equal(t, frame, obj)
		require.Empty(t, bytes.TrimSpace(rest))
		var got struct{ Session, Text string }
		require.NoError(t, json.Unmarshal(frame, &got))
		require.Equal(t, string([]rune(text)), got.Text) // bytes that are not UTF-8 become U+FFFD, one each
		if utf8.ValidString(text) {
			require.Equal(t, text, got.Text)
		}
	})
}

func BenchmarkDelta(b *testing.B) {
	buf := make([]byte, 0, 4096)
	d := wire.Delta{Session: "s1", Run: run, From: 1, Seq: 2, Kind: "text", Text: "a few words of an answer "}
	b.ReportAllocs()
	for b.Loop() {
		buf = d.Append(buf[:0])
	}
}

func BenchmarkDecodeSend(b *testing.B) {
	raw := []byte(`{"id":3,"op":"send","session":"s1","key":"2b1e9a52-6a0c-4f0e-9d0e-0c5a1b7e4c11","content":"What is the height of the tower?"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}
