package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast/gateway"
	"holdfast/regen"
	"holdfast/stream"
)

// The list of sessions is the tenant's, with a limit.
func TestListSessions(t *testing.T) {
	s := newSite(t, nil)
	var asked []int
	s.reader.sessions = func(tenant string, limit int) ([]stream.SessionInfo, error) {
		assert.Equal(t, "main", tenant)
		asked = append(asked, limit)
		return []stream.SessionInfo{{Session: "s1", Title: "Hi", UpdatedAt: 12.5, Run: run1}, {Session: "s2"}}, nil
	}
	status, body := s.call("GET", "/v1/sessions", "", nil)
	assert.Equal(t, 200, status)
	assert.Equal(t, `{"sessions":[{"session":"s1","title":"Hi","updated_at":12.5,"run":"`+run1+`"},{"session":"s2","updated_at":0}]}`, body)
	for _, q := range []string{"?limit=7", "?limit=99999"} {
		status, _ = s.call("GET", "/v1/sessions"+q, "", nil)
		assert.Equal(t, 200, status)
	}
	assert.Equal(t, []int{50, 7, 1000}, asked)
	for _, q := range []string{"?limit=0", "?limit=-1", "?limit=x"} {
		status, body = s.call("GET", "/v1/sessions"+q, "", nil)
		assert.Equal(t, 400, status)
		assert.Contains(t, body, `"code":"bad_request"`)
	}
}

// A read over HTTP shows what an attach would, and pages back without a revision.
// contract: A1
func TestReadSession(t *testing.T) {
	s := newSite(t, nil)
	rows := []regen.Row{
		{ID: "a0", Turn: run2, Role: regen.RoleAssistant, Content: regen.Text("so"), At: 0.5},
		{ID: "u1", Turn: turn, Role: regen.RoleUser, Content: regen.Text("hi"), At: 1},
		{ID: "a1", Turn: turn, Role: regen.RoleAssistant, Content: regen.Text("yes"), At: 2},
	}
	doc, _, err := regen.NewDocument("s1", regen.Fields{Title: "T"}, rows, rows)
	require.NoError(t, err)
	doc.RowsBelow = 4
	s.reader.read = func(key regen.Key, q stream.Query) (stream.Snapshot, error) {
		if key.Session != "s1" {
			return stream.Snapshot{}, nil
		}
		if q.Before == 4 {
			older := *doc
			older.RowsBelow = 0
			return stream.Snapshot{Head: stream.Head{Version: 3}, Document: &older, Total: 7}, nil
		}
		require.Zero(t, q.Before)
		return stream.Snapshot{
			Head:     stream.Head{Version: 3, Incarnation: "inc", Before: stream.EntryID{Epoch: 9}, Fences: stream.Fences{{Epoch: 9, First: 1}}},
			Document: doc, Total: 7, Top: stream.EntryID{Epoch: 9, Seq: 8},
		}, nil
	}
	status, body := s.call("GET", "/v1/sessions/s1", "", nil)
	assert.Equal(t, 200, status)
	rev, ok := doc.Minted()
	require.True(t, ok)
	const shown = `{"id":"a0","turn":"` + run2 + `","role":"assistant","content":"so","at":0.5},{"id":"u1","turn":"` + turn + `","role":"user","content":"hi","at":1},{"id":"a1","turn":"` + turn + `","role":"assistant","content":"yes","at":2}`
	assert.Equal(t, `{"session":"s1","document":{"rows":[`+shown+`],"revision":"`+rev+`","title":"T","total":7,"before":"4"},"run":null,"cursor":"inc.9:8"}`, body)
	status, body = s.call("GET", "/v1/sessions/s1?before=4", "", nil)
	assert.Equal(t, 200, status)
	assert.Equal(t, `{"session":"s1","document":{"rows":[`+shown+`],"title":"T","total":7}}`, body)
	for path, want := range map[string]int{
		"/v1/sessions/nope": 404, "/v1/sessions/..%2Fx": 400, "/v1/sessions/-x": 400, "/v1/sessions/s1?before=0": 400,
		"/v1/sessions/s1?before=-1": 400, "/v1/sessions/s1?before=x": 400, "/v1/nothing": 404, "/elsewhere": 404,
	} {
		status, _ := s.call("GET", path, "", nil)
		assert.Equal(t, want, status, path)
	}
}

// While a run is active its prompt is marked, nothing may be regenerated, and no private field is shown.
func TestReadActiveSession(t *testing.T) {
	s := newSite(t, nil)
	empty := &regen.Document{Session: "s1"}
	plan, err := empty.Plan(regen.Command{Op: regen.OpSend, Key: "k", Content: regen.Text("hi")})
	require.NoError(t, err)
	c, err := plan.Commit(regen.Mint{Run: run1, Turn: turn, Row: run2, Generation: turn, At: 1})
	require.NoError(t, err)
	s.reader.read = func(regen.Key, stream.Query) (stream.Snapshot, error) {
		return stream.Snapshot{
			Head:     stream.Head{Version: 1, Run: run1, Active: c.Document.Active, Incarnation: "inc", Before: stream.EntryID{Epoch: 9}},
			Document: c.Document, Total: 1,
		}, nil
	}
	status, body := s.call("GET", "/v1/sessions/s1", "", nil)
	assert.Equal(t, 200, status)
	assert.Contains(t, body, `"active":true`)
	assert.Contains(t, body, `"run":{"run":"`+run1+`"`)
	assert.NotContains(t, body, `"_`)
	assert.NotContains(t, body, `"revision"`)
}

// The commands that start and stop runs work over HTTP, with the status of their answer.
func TestPostCommand(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) { c.MaxFrame = 1000 })
	s.engine.do = func(_ context.Context, key regen.Key, cmd regen.Command) (stream.Receipt, error) {
		assert.Equal(t, "s1", key.Session)
		assert.Equal(t, "hi", cmd.Content.Text())
		return stream.Receipt{Session: "s1", Turn: turn, Run: run1, Cursor: "inc.1:0"}, nil
	}
	s.engine.cancel = func(context.Context, regen.Key, stream.Stop) (stream.StopResult, error) {
		return stream.StopResult{Answer: stream.StopAccepted, Run: run1, Seq: 5}, nil
	}
	post := func(body string) (int, string) { return s.call("POST", "/v1/sessions/s1/commands", body, nil) }
	status, body := post(`{"id":1,"op":"send","session":"s1","key":"k","content":"hi"}`)
	assert.Equal(t, 200, status)
	assert.Equal(t, receipt1, body)
	status, body = post(`{"op":"cancel","run":"` + run1 + `"}`)
	assert.Equal(t, 200, status)
	assert.Equal(t, `{"re":null,"ok":{"run":"`+run1+`","cancel":"accepted","seq":5}}`, body)
	for in, want := range map[string]int{
		`{"id":1,"op":"send","session":"s2","content":"hi"}`: 400,
		`{"id":1,"op":"send"}`:                               400,
		`{"id":1,"op":"attach"}`:                             400,
		`{"id":1,"op":"hello"}`:                              400,
		``:                                                   400,
		"{\"op\":\"ping\"}\n{\"op\":\"ping\"}":               400,
		`{"id":1,"op":"send","content":"` + strings.Repeat("x", 1000) + `"}`: 413,
	} {
		status, body := post(in)
		assert.Equal(t, want, status, in)
		assert.Contains(t, body, `"error"`)
	}
	status, body = s.call("POST", "/v1/sessions/..%2Fx/commands", `{"op":"cancel","of":"k"}`, nil)
	assert.Equal(t, 400, status)
	assert.Contains(t, body, "bad_request")
	status, _ = s.call("POST", "/v1/sessions/s1/commands", `{}`, http.Header{"Origin": {"http://evil.example"}})
	assert.Equal(t, 403, status)
}

// A wrong method is named as such, and the right one with it.
func TestMethods(t *testing.T) {
	s := newSite(t, nil)
	for path, method := range map[string]string{
		"/v1/sessions": "DELETE", "/v1/sessions/s1": "PATCH", "/v1/sessions/s1/commands": "GET", "/v1/ws": "POST", "/livez": "POST", "/readyz": "PUT",
	} {
		status, body := s.call(method, path, "", nil)
		assert.Equal(t, 405, status, path)
		assert.Contains(t, body, `"code":"method_not_allowed"`)
	}
	status, body := s.call("HEAD", "/v1/sessions", "", nil)
	assert.Equal(t, 200, status)
	assert.Empty(t, body)
	status, _ = s.call("GET", "/v1/ws", "", nil)
	assert.Equal(t, 426, status)
}

// Pages are served beside the protocol, and only by a name that is ours.
func TestPages(t *testing.T) {
	s := newSite(t, func(c *gateway.Config) {
		c.Pages = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("page")) })
	})
	status, body := s.call("GET", "/", "", nil)
	assert.Equal(t, 200, status)
	assert.Equal(t, "page", body)
	status, _ = s.call("GET", "/", "", http.Header{"Host": {"evil.example"}})
	assert.Equal(t, 403, status)
	status, _ = s.call("GET", "/v1/none", "", nil)
	assert.Equal(t, 404, status)
}
