package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway"
	"holdfast/gateway/wire"
	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

const receipt1 = `{"re":1,"ok":{"session":"s1","turn":"` + turn + `","run":"` + run1 + `","cursor":"inc.1:0","repeat":false}}`

// A send is answered first and then shows what it started, although nobody attached.
func TestSendAttaches(t *testing.T) {
	s := newSite(t, nil)
	var got regen.Command
	s.engine.do = func(_ context.Context, key regen.Key, cmd regen.Command) (stream.Receipt, error) {
		got = cmd
		assert.Equal(t, regen.Key{Tenant: "main", Session: "s1"}, key)
		s.hub.add("s1", started(run1), delta("he"), delta("llo"))
		return stream.Receipt{Session: "s1", Turn: turn, Run: run1, Cursor: "inc.1:0"}, nil
	}
	p := s.dial(nil)
	p.send(`{"id":1,"op":"send","session":"s1","key":"k1","content":[{"type":"text","text":"hi"}],"attachments":[{"n":1}],"model":"m","options":{"busy":"replace"}}`)
	p.expect(receipt1)
	p.expect(`{"event":"started","session":"s1","run":"` + run1 + `","turn":"` + turn + `","seq":1,"keep":null,"rows":[]}`)
	p.expect(`{"event":"delta","session":"s1","run":"` + run1 + `","seq":3,"from":2,"kind":"text","text":"hello"}`)
	s.hub.add("s1", settled(run1))
	p.expect(`{"event":"settled","session":"s1","run":"` + run1 + `","turn":"` + turn + `","seq":4,"outcome":"completed","rows":[]}`)
	assert.Equal(t, "hi", got.Content.Text())
	assert.Equal(t, regen.OpSend, got.Op)
	assert.Equal(t, "k1", got.Key)
	assert.Equal(t, "m", got.Model)
	assert.Equal(t, "replace", got.Busy)
	assert.Len(t, got.Attachments, 1)
}

// On a socket that follows the session already the answer still comes before the started event, and nothing comes twice.
func TestSendKeepsAttachment(t *testing.T) {
	s := newSite(t, nil)
	published, release := make(chan struct{}), make(chan struct{})
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		s.hub.add("s1", delta("old"), started(run1), delta("new"))
		close(published)
		<-release
		return stream.Receipt{Session: "s1", Turn: turn, Run: run1, Cursor: "inc.1:0"}, nil
	}
	p := s.dial(nil)
	p.ask(`{"id":0,"op":"attach","session":"s1","cursor":"inc.1:0"}`)
	p.send(`{"id":1,"op":"send","session":"s1","content":"hi"}`)
	within(t, "the command", published)
	assert.Equal(t, "old", p.next().m["text"], "only started events wait for the answer")
	assert.Equal(t, `{"re":9,"ok":{}}`, p.ask(`{"id":9,"op":"ping"}`).raw)
	close(release)
	p.expect(receipt1)
	assert.Equal(t, wire.EventStarted, p.next().event())
	assert.Equal(t, "new", p.next().m["text"])
	assert.Equal(t, 1, s.hub.readers())
}

// A refused send lets the other tab's run through.
func TestRefusedSendShowsOtherRun(t *testing.T) {
	s := newSite(t, nil)
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		s.hub.add("s1", started(run2))
		return stream.Receipt{}, &regen.BusyError{Run: run2}
	}
	p := s.dial(nil)
	p.ask(`{"id":0,"op":"attach","session":"s1"}`)
	f := p.ask(`{"id":1,"op":"send","session":"s1","content":"hi"}`)
	assert.Equal(t, "session_active", f.code())
	assert.Equal(t, run2, f.m["error"].(map[string]any)["run"])
	assert.Equal(t, wire.EventStarted, p.next().event())
}

// A repeat whose place in the log is gone gets the first receipt and then the document.
func TestRepeatAfterTrim(t *testing.T) {
	s := newSite(t, nil)
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		return stream.Receipt{Session: "s1", Turn: turn, Run: run1, Cursor: "gone.1:0", Repeat: true}, nil
	}
	p := s.dial(nil)
	f := p.ask(`{"id":1,"op":"send","session":"s1","key":"k","content":"hi"}`)
	assert.Contains(t, f.raw, `"repeat":true`)
	p.expect(`{"event":"reset","session":"s1","document":{"rows":[],"total":0},"run":null,"cursor":"inc.1:0"}`)
}

// A client whose run cannot be followed is told to come back instead of waiting for ever.
func TestSendCannotFollow(t *testing.T) {
	s := newSite(t, nil)
	s.hub.attach = func(regen.Key, string) error { return stream.ErrUnavailable }
	p := s.dial(nil)
	p.send(`{"id":1,"op":"send","session":"s1","content":"hi"}`)
	frames, code := p.end()
	require.Len(t, frames, 1)
	assert.Equal(t, receipt1, frames[0].raw)
	assert.EqualValues(t, wire.CloseOverloaded, code)
}

// Every way in which a command can fail has its code, and what a client may not know stays inside.
// contract: 2.13
func TestErrorCodes(t *testing.T) {
	secret := errors.New("secret of the store")
	for name, c := range map[string]struct {
		err    error
		code   wire.Code
		status int
		retry  bool
	}{
		"stale":           {&regen.StaleRevisionError{Given: "a", Current: "secret"}, "stale_regeneration_revision", 409, false},
		"busy":            {fmt.Errorf("do: %w", &regen.BusyError{Run: run2}), "session_active", 409, false},
		"held":            {&ownership.HeldError{Owner: "secret", Run: run2}, "session_active", 409, false},
		"no turn":         {regen.ErrNoRegenerableTurn, "no_regenerable_turn", 400, false},
		"read-only":       {regen.ErrReadOnly, "regeneration_read_only", 403, false},
		"invalid":         {regen.ErrInvalidRegeneration, "invalid_regeneration_request", 400, false},
		"empty":           {regen.ErrEmptyPrompt, "bad_request", 400, false},
		"content":         {&regen.ContentError{Reason: "NUL"}, "bad_request", 400, false},
		"not found":       {fmt.Errorf("read: %w", stream.ErrNotFound), "not_found", 404, false},
		"key reused":      {&stream.KeyReusedError{Key: "k"}, "key_reused", 409, false},
		"store away":      {fmt.Errorf("%w: %w", stream.ErrUnavailable, secret), "unavailable", 503, true},
		"lease away":      {ownership.ErrUnavailable, "unavailable", 503, true},
		"store full":      {stream.ErrFull, "unavailable", 503, true},
		"unknown outcome": {&stream.UnknownError{Err: secret}, "unavailable", 503, true},
		"fenced":          {&stream.FencedError{Session: "secret"}, "unavailable", 503, true},
		"lost":            {&ownership.LostError{Key: "secret"}, "unavailable", 503, true},
		"too late":        {context.DeadlineExceeded, "timeout", 504, true},
		"shut down":       {context.Canceled, "unavailable", 503, true},
		"says so itself":  {fmt.Errorf("do: %w", draining{}), "unavailable", 503, true},
		"anything else":   {secret, "internal", 500, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
				return stream.Receipt{}, c.err
			}
			p := s.dial(nil)
			f := p.ask(`{"id":4,"op":"regenerate","session":"s1","key":"k","revision":"r"}`)
			assert.EqualValues(t, 4, f.m["re"])
			e := f.m["error"].(map[string]any)
			assert.Equal(t, string(c.code), e["code"])
			assert.EqualValues(t, c.status, e["status"])
			assert.Equal(t, c.retry, e["retryable"])
			assert.NotEmpty(t, e["message"])
			assert.NotContains(t, f.raw, "secret")
			if c.code == wire.SessionActive {
				assert.Equal(t, run2, e["run"])
			}
			status, body := s.call("POST", "/v1/sessions/s1/commands", `{"id":4,"op":"regenerate","revision":"r"}`, nil)
			assert.Equal(t, c.status, status)
			assert.Equal(t, f.raw, body)
		})
	}
}

type draining struct{}

func (draining) Error() string   { return "node is draining" }
func (draining) Code() string    { return "unavailable" }
func (draining) Status() int     { return 503 }
func (draining) Retryable() bool { return true }

// A send to a read-only session is forbidden; the code for regenerates is theirs alone.
func TestSendReadOnly(t *testing.T) {
	s := newSite(t, nil)
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		return stream.Receipt{}, regen.ErrReadOnly
	}
	assert.Equal(t, "forbidden", s.dial(nil).ask(`{"id":4,"op":"send","session":"s1","content":"x"}`).code())
}

// A regenerate with a field that may not stand there is refused as such, but an unknown session is unknown first.
// contract: 2.13
func TestForbiddenFields(t *testing.T) {
	s := newSite(t, nil)
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		t.Error("the engine must not be asked")
		return stream.Receipt{}, nil
	}
	s.reader.read = func(key regen.Key, q stream.Query) (stream.Snapshot, error) {
		assert.True(t, q.HeadOnly)
		if key.Session == "s1" {
			return stream.Snapshot{Head: stream.Head{Version: 1}}, nil
		}
		return stream.Snapshot{}, nil
	}
	p := s.dial(nil)
	for _, field := range []string{`"content":"x"`, `"content":null`, `"attachments":[]`, `"keep_count":1`, `"row":"x"`} {
		assert.Equal(t, "invalid_regeneration_request", p.ask(`{"id":1,"op":"regenerate","session":"s1","revision":5,`+field+`}`).code())
		assert.Equal(t, "not_found", p.ask(`{"id":1,"op":"regenerate","session":"nope","revision":"r",`+field+`}`).code())
	}
}

// A regenerate without a revision, or with one that is no string, reaches the engine as one without: it answers stale.
func TestRegenerateWithoutRevision(t *testing.T) {
	s := newSite(t, nil)
	s.engine.do = func(_ context.Context, _ regen.Key, cmd regen.Command) (stream.Receipt, error) {
		assert.Equal(t, regen.Command{Op: regen.OpRegenerate, Key: "k"}, cmd)
		return stream.Receipt{}, &regen.StaleRevisionError{}
	}
	p := s.dial(nil)
	for _, rev := range []string{``, `,"revision":null`, `,"revision":5`, `,"revision":{}`} {
		assert.Equal(t, "stale_regeneration_revision", p.ask(`{"id":1,"op":"regenerate","session":"s1","key":"k"`+rev+`}`).code())
	}
}

// A stop does not wait behind the very send that it is about, and is answered with what it did.
// case: FC52
func TestCancelOvertakes(t *testing.T) {
	s := newSite(t, nil)
	waiting, release := make(chan struct{}), make(chan struct{})
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		close(waiting)
		<-release
		return stream.Receipt{Session: "s1", Turn: turn, Run: run1, Cursor: "inc.1:0"}, nil
	}
	s.engine.cancel = func(_ context.Context, key regen.Key, stop stream.Stop) (stream.StopResult, error) {
		assert.Equal(t, "s1", key.Session)
		if stop.Of == "k1" {
			return stream.StopResult{Answer: stream.StopAccepted}, nil
		}
		assert.Equal(t, run1, stop.Run)
		return stream.StopResult{Answer: stream.StopLate, Run: run1, Seq: 57}, nil
	}
	p := s.dial(nil)
	p.send(`{"id":1,"op":"send","session":"s1","key":"k1","content":"hi"}`)
	within(t, "the command", waiting)
	assert.Equal(t, `{"re":2,"ok":{"run":null,"cancel":"accepted","seq":0}}`, p.ask(`{"id":2,"op":"cancel","session":"s1","of":"k1"}`).raw)
	close(release)
	p.expect(receipt1)
	assert.Equal(t, `{"re":3,"ok":{"run":"`+run1+`","cancel":"late","seq":57}}`, p.ask(`{"id":3,"op":"cancel","session":"s1","run":"`+run1+`"}`).raw)
}

// Commands of one session are worked on in order, those of others do not wait for them.
func TestOrder(t *testing.T) {
	s := newSite(t, nil)
	first := make(chan struct{})
	var order []string // only the lane of s1 writes it
	s.engine.do = func(_ context.Context, key regen.Key, cmd regen.Command) (stream.Receipt, error) {
		if key.Session == "s1" {
			if cmd.Key == "a" {
				<-first
			}
			order = append(order, cmd.Key)
		}
		return stream.Receipt{}, regen.ErrEmptyPrompt
	}
	p := s.dial(nil)
	p.send(`{"id":1,"op":"send","session":"s1","key":"a","content":"x"}
		{"id":2,"op":"send","session":"s1","key":"b","content":"x"}
		{"id":3,"op":"send","session":"s1","key":"c","content":"x"}
		{"id":4,"op":"send","session":"s2","key":"d","content":"x"}`)
	assert.EqualValues(t, 4, p.next().m["re"])
	close(first)
	for want := 1; want <= 3; want++ {
		assert.EqualValues(t, want, p.next().m["re"])
	}
	assert.Equal(t, []string{"a", "b", "c"}, order)
}

// A client with too many commands under way is told so at once; the ones before are done.
func TestInflight(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) { c.MaxInflight = 3 })
	release := make(chan struct{})
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		<-release
		return stream.Receipt{}, regen.ErrEmptyPrompt
	}
	p := s.dial(nil)
	for i := 1; i <= 5; i++ {
		p.send(fmt.Sprintf(`{"id":%d,"op":"send","session":"s%d","content":"x"}`, i, i))
	}
	assert.Equal(t, "rate_limited", p.next().code())
	assert.Equal(t, "rate_limited", p.next().code())
	close(release)
	for range 3 {
		assert.Equal(t, "bad_request", p.next().code())
	}
}

// A fault in the handling of one command is answered and ends nothing.
func TestPanics(t *testing.T) {
	var log strings.Builder
	s := newSite(t, func(c *gateway.Config) { c.Logger = textLogger(&log) })
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) { panic("secret") }
	s.engine.cancel = func(_ context.Context, key regen.Key, _ stream.Stop) (stream.StopResult, error) {
		var none []stream.StopResult
		return none[len(key.Session)], nil
	}
	p := s.dial(nil)
	want := `{"re":1,"error":{"code":"internal","status":500,"message":"internal error","retryable":false}}`
	assert.Equal(t, want, p.ask(`{"id":1,"op":"send","session":"s1","content":"x"}`).raw)
	assert.Equal(t, want, p.ask(`{"id":1,"op":"cancel","session":"s1","of":"k"}`).raw)
	s.hub.attach = func(regen.Key, string) error { panic("again") }
	assert.Equal(t, want, p.ask(`{"id":1,"op":"attach","session":"s1"}`).raw)
	assert.Equal(t, `{"re":1,"ok":{}}`, p.ask(`{"id":1,"op":"ping"}`).raw)
	status, body := s.call("POST", "/v1/sessions/s1/commands", `{"id":1,"op":"send","content":"x"}`, nil)
	assert.Equal(t, 500, status)
	assert.NotContains(t, body, "secret")
	assert.Contains(t, log.String(), "secret")
	assert.Contains(t, log.String(), "commands_test.go", "the stack is in the log")
}

// A fault while events are read ends that socket alone.
func TestPanicInPull(t *testing.T) {
	s := newSite(t, nil)
	var broken atomic.Bool
	s.hub.pull = func() {
		if broken.CompareAndSwap(true, false) {
			panic("in pull")
		}
	}
	p, q := s.dial(nil), s.dial(nil)
	p.ask(`{"id":0,"op":"attach","session":"s1"}`)
	q.ask(`{"id":0,"op":"attach","session":"s2"}`)
	p.ask(`{"op":"ping"}`)
	q.ask(`{"op":"ping"}`)
	broken.Store(true)
	s.hub.add("s1", delta("x"))
	p.end()
	s.hub.add("s2", delta("y"))
	assert.Equal(t, "y", q.next().m["text"])
}
