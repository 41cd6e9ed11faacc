package logtest

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/ownership"
	"holdfast/regen"
	"holdfast/stream"
)

// Store is what is tested.
type Store interface {
	Read(ctx context.Context, key regen.Key, q stream.Query) (stream.Snapshot, error)
	Page(ctx context.Context, key regen.Key, after stream.EntryID, limit int) (stream.Page, error)
	Write(ctx context.Context, key regen.Key, c *stream.Change) (stream.WriteResult, error)
	Append(key regen.Key, e stream.Entry, done func(stream.AppendResult))
	Check(ctx context.Context, key regen.Key) (stream.Tail, error)
	Cancel(ctx context.Context, key regen.Key, stop stream.Stop) (stream.StopResult, error)
	Touch(ctx context.Context, key regen.Key, at float64) error
	Sessions(ctx context.Context, tenant string, limit int) ([]stream.SessionInfo, error)
	Follow(key regen.Key, fn func(stream.Wake)) (stop func())
	FollowNode(node string, fn func(key regen.Key, run string)) (stop func())
}

// Backend is a running store with its surroundings.
type Backend struct {
	// Store runs; it publishes wakes.
	Store Store
	// Leases shares the store's keys.
	Leases ownership.Store
	// Do runs one raw command on the server.
	Do func(ctx context.Context, args ...any) error
	// Unsure says that the store cannot tell a refusal from the refusal of its own repeat, and answers AppendUnknown for both.
	Unsure bool
	// Dump gives everything that the server holds of a session, in any comparable form.
	Dump func(t testing.TB, key regen.Key) any
}

// Run runs the suite. The backend is used by many sessions; it need not be empty.
func Run(t *testing.T, b Backend) {
	for _, group := range []struct {
		name  string
		cases map[string]func(*testing.T, Backend)
	}{
		{"batch", batchCases}, {"guard", guardCases}, {"edit", editCases}, {"read", readCases},
		{"stop", stopCases}, {"append", appendCases}, {"wake", wakeCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for name, f := range group.cases {
				t.Run(name, func(t *testing.T) { f(t, b) })
			}
		})
	}
}

// hexID gives a fresh run, turn or row id.
func hexID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

func newKey() regen.Key { return regen.Key{Tenant: "logtest", Session: "s" + hexID()} }

// unchanged runs f and requires that the server holds the same as before.
func unchanged(t *testing.T, b Backend, key regen.Key, f func()) {
	t.Helper()
	before := b.Dump(t, key)
	f()
	require.Equal(t, before, b.Dump(t, key), "a refused call must change nothing")
}
