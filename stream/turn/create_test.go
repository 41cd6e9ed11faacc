package turn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
	"holdfast/stream"
	"holdfast/stream/turn"
)

func imported(n int) []regen.Row {
	rows := make([]regen.Row, n)
	for i := range rows {
		rows[i] = regen.Row{ID: fmt.Sprintf("%032x", i+1), Turn: fmt.Sprintf("%032x", 9000+i/2), Role: regen.RoleUser, At: float64(i + 1), Content: regen.Text(fmt.Sprintf("row %d", i))}
		if i%2 == 1 {
			rows[i].Role = regen.RoleAssistant
		}
	}
	return rows
}

// A conversation that came from elsewhere is there at once and whole, goes on, and can be regenerated; it cannot be made twice.
func TestImportedSessionGoesOn(t *testing.T) {
	store := newStore(t)
	a, b := newNode(t, "a", store, nodeOptions{}), newNode(t, "b", store, nodeOptions{})
	rows := imported(1201) // more than one piece
	rows = rows[:1200]
	require.NoError(t, a.Create(t.Context(), key, regen.Fields{Title: "from elsewhere", UpdatedAt: 1}, rows, rows))
	require.ErrorIs(t, b.Create(t.Context(), key, regen.Fields{}, nil, nil), turn.ErrExists)
	r := b.read(t, "")
	require.Equal(t, 1200, r.view.Total)
	require.NotEmpty(t, r.view.Revision)
	_, err := b.do(t, regen.Command{Op: regen.OpRegenerate, Key: "k1", Revision: r.view.Revision})
	require.NoError(t, err)
	c := b.model.next(t)
	require.Equal(t, "row 1198", c.prompt.Rows[len(c.prompt.Rows)-1].Content.Text())
	c.text(t, "better")
	c.end(t)
	require.Equal(t, "completed", r.settled().Outcome)
	require.Equal(t, 1200, a.snapshot(t).Total)
}

// A read-only import can be seen and not changed.
// contract: A7
func TestReadOnlyImport(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	require.NoError(t, n.Create(t.Context(), key, regen.Fields{ReadOnly: true}, imported(2), imported(2)))
	r := n.read(t, "")
	require.Len(t, r.view.Document.Rows, 2)
	require.Empty(t, r.view.Revision)
	_, err := n.do(t, regen.Command{Op: regen.OpSend, Key: "k1", Content: regen.Text("hello")})
	require.ErrorIs(t, err, regen.ErrReadOnly)
	_, err = n.do(t, regen.Command{Op: regen.OpRegenerate, Key: "k2", Revision: n.snapshot(t).Head.Revision})
	require.ErrorIs(t, err, regen.ErrReadOnly)
}

// Rows that make no sense are refused, and nothing comes into being.
func TestBadImportLeavesNothing(t *testing.T) {
	n := newNode(t, "a", newStore(t), nodeOptions{})
	twice := append(imported(2), imported(1)...)
	require.ErrorIs(t, n.Create(t.Context(), key, regen.Fields{}, twice, nil), regen.ErrRows)
	require.Equal(t, stream.Head{}, n.snapshot(t).Head)
}
