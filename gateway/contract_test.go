package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway/wire"
	"holdfast/regen"
	"holdfast/stream"
)

// Who may not be here learns nothing: no session is read, followed or written to before it is known who asks.
// contract: E15
func TestNothingIsReadForStrangers(t *testing.T) {
	s := newSite(t, tokens)
	var touched atomic.Int64
	s.hub.attach = func(regen.Key, string) error { touched.Add(1); return nil }
	s.reader.read = func(regen.Key, stream.Query) (stream.Snapshot, error) { touched.Add(1); return stream.Snapshot{}, nil }
	s.reader.sessions = func(string, int) ([]stream.SessionInfo, error) { touched.Add(1); return nil, nil }
	s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
		touched.Add(1)
		return stream.Receipt{}, nil
	}
	s.engine.cancel = func(context.Context, regen.Key, stream.Stop) (stream.StopResult, error) {
		touched.Add(1)
		return stream.StopResult{}, nil
	}
	for _, msg := range []string{
		`{"id":1,"op":"attach","session":"s1"}`, `{"id":1,"op":"attach","session":"s1","cursor":"inc.1:1"}`, `{"id":1,"op":"send","session":"s1","content":"x"}`,
		`{"id":1,"op":"regenerate","session":"s1","revision":"r"}`, `{"id":1,"op":"regenerate","session":"s1","content":"x"}`, `{"id":1,"op":"cancel","session":"s1","of":"k"}`,
	} {
		p := s.dial(nil)
		p.send(msg)
		frames, code := p.end()
		require.NotEmpty(t, frames)
		assert.Equal(t, "unauthenticated", frames[0].code(), msg)
		assert.EqualValues(t, wire.CloseUnauthenticated, code)
	}
	for _, path := range []string{"/v1/sessions", "/v1/sessions/s1", "/v1/sessions/s1?before=3"} {
		status, _ := s.call("GET", path, "", http.Header{"Authorization": {"Bearer x"}})
		assert.Equal(t, 401, status)
	}
	status, _ := s.call("POST", "/v1/sessions/s1/commands", `{"op":"regenerate","revision":"r"}`, nil)
	assert.Equal(t, 401, status)
	assert.Zero(t, touched.Load())
}

// A command that counts rows, in any way, deletes nothing: rows are named by their ids, and a count beside a regenerate is refused.
// contract: F4, F7
// case: FC03
func TestCountsDeleteNothing(t *testing.T) {
	s := newSite(t, nil)
	s.engine.do = func(_ context.Context, _ regen.Key, cmd regen.Command) (stream.Receipt, error) {
		t.Errorf("reached the engine: %+v", cmd)
		return stream.Receipt{}, nil
	}
	s.reader.read = func(regen.Key, stream.Query) (stream.Snapshot, error) {
		return stream.Snapshot{Head: stream.Head{Version: 1}}, nil
	}
	p := s.dial(nil)
	for _, n := range []string{"0", "-1", "2", "1e9", `"2"`, `"x"`, "null", "true", "[]", "{}"} {
		f := p.ask(`{"id":1,"op":"regenerate","session":"s1","revision":"r","keep_count":` + n + `}`)
		assert.Equal(t, "invalid_regeneration_request", f.code(), n)
	}
	for _, n := range []string{"-1", "1.5", `"2"`, `"x"`, "true", "[]", "{}", "99999999999999999999"} {
		f := p.ask(`{"id":1,"op":"truncate","session":"s1","revision":"r","keep":` + n + `}`)
		assert.Equal(t, "bad_request", f.code(), n)
	}
	s.engine.do = nil
	s.hub.add("s1", stream.Event{Kind: stream.EventStarted, Started: &stream.Started{Run: run1, Turn: turn, Keep: "row-7"}})
	q := s.dial(nil)
	q.ask(`{"id":1,"op":"attach","session":"s1","cursor":"inc.1:0"}`)
	assert.Equal(t, "row-7", q.next().m["keep"], "what stays is named by its id")
}

// A page of older rows, and a part without the whole last exchange, come without a revision; the whole comes with it.
// contract: A2, A3
func TestPartsHaveNoRevision(t *testing.T) {
	s := newSite(t, nil)
	rows := []regen.Row{
		{ID: "u1", Turn: turn, Role: regen.RoleUser, Content: regen.Text("hi"), At: 1},
		{ID: "a1", Turn: turn, Role: regen.RoleAssistant, Content: regen.Text("yes"), At: 2},
	}
	doc, _, err := regen.NewDocument("s1", regen.Fields{}, rows, rows)
	require.NoError(t, err)
	cut := *doc
	cut.RowsBelow, cut.RowsBase, cut.Rows = 1, doc.Rows[0].Chain, doc.Rows[1:]
	cut.ContextBelow, cut.ContextBase, cut.Context = 1, doc.Context[0].Chain, doc.Context[1:]
	for _, c := range []struct {
		doc  *regen.Document
		path string
		want bool
	}{{doc, "", true}, {&cut, "", false}, {doc, "?before=2", false}} {
		s.reader.read = func(regen.Key, stream.Query) (stream.Snapshot, error) {
			return stream.Snapshot{Head: stream.Head{Version: 1, Incarnation: "inc"}, Document: c.doc, Total: 2}, nil
		}
		_, body := s.call("GET", "/v1/sessions/s1"+c.path, "", nil)
		if c.want {
			assert.Contains(t, body, `"revision":"`+doc.Revision()+`"`)
		} else {
			assert.NotContains(t, body, "revision", c.path)
		}
	}
}

// What is planted in errors and in private fields is in no frame, over a socket or over HTTP.
// contract: A4, 2.13
func TestNothingPrivateInAnyFrame(t *testing.T) {
	s := newSite(t, nil)
	private := regen.Row{
		ID: "u1", Turn: turn, Role: regen.RoleUser, Content: regen.Text("hi"), At: 1, Token: "planted:1", Source: "planted-source", ForkChild: "planted-child",
		Extra: map[string]json.RawMessage{"api_content": []byte(`"planted-content"`), "_active_turn_token": []byte(`"planted-token"`), "db_id": []byte(`"planted-db"`)},
	}
	doc, _, err := regen.NewDocument("s1", regen.Fields{System: "planted-system", Parent: "planted-parent", RawSource: "planted-raw", Extra: map[string]string{"x": "planted-x"}}, []regen.Row{private}, []regen.Row{private})
	require.NoError(t, err)
	s.reader.read = func(regen.Key, stream.Query) (stream.Snapshot, error) {
		return stream.Snapshot{Head: stream.Head{Version: 1, Incarnation: "inc"}, Document: doc, Total: 1}, nil
	}
	_, body := s.call("GET", "/v1/sessions/s1", "", nil)
	assert.Contains(t, body, `"hi"`)
	assert.NotContains(t, body, "planted")
	s.hub.add("s1", stream.Event{Kind: stream.EventReset, Reset: &stream.View{Session: "s1", Document: doc, Total: 1, Cursor: stream.Cursor{Incarnation: "inc"}}, Cursor: "inc.1:1"})
	p := s.dial(nil)
	p.ask(`{"id":1,"op":"attach","session":"s1","cursor":"inc.1:0"}`)
	f := p.next()
	assert.Equal(t, wire.EventReset, f.event())
	assert.Contains(t, f.raw, `"hi"`)
	assert.NotContains(t, f.raw, "planted")
	for _, planted := range []error{
		errors.New("planted body of a provider"), fmt.Errorf("do: %w", stream.ErrUnavailable), &stream.UnknownError{Err: errors.New("planted host")},
	} {
		s.engine.do = func(context.Context, regen.Key, regen.Command) (stream.Receipt, error) {
			return stream.Receipt{}, planted
		}
		assert.NotContains(t, p.ask(`{"id":4,"op":"send","session":"s1","content":"x"}`).raw, "planted")
		_, body := s.call("POST", "/v1/sessions/s1/commands", `{"op":"send","content":"x"}`, nil)
		assert.NotContains(t, body, "planted")
	}
}
