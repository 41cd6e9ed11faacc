package regen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/regen"
)

// Only a turn that was taken here may be answered again; a chat from elsewhere stays as it was.
// contract: A6, A7, A9
func TestOwnership(t *testing.T) {
	proof := regen.Token("r", 5)
	for _, c := range []struct {
		name   string
		fields regen.Fields
		user   regen.Row
		ok     bool
	}{
		{"native", regen.Fields{}, regen.Row{}, true},
		{"native webui", regen.Fields{Source: "webui", RawSource: "webui", SourceTag: "fork"}, regen.Row{Source: " WebUI "}, true},
		{"row of cron", regen.Fields{}, regen.Row{Source: "cron"}, false},
		{"row of cron with proof", regen.Fields{}, regen.Row{Source: "cron", Token: proof}, false},
		{"row of webhook", regen.Fields{}, regen.Row{Source: "webhook"}, false},
		{"row of a stranger", regen.Fields{}, regen.Row{Source: "x"}, false},
		{"raw source cli", regen.Fields{RawSource: "cli"}, regen.Row{}, false},
		{"tag telegram", regen.Fields{SourceTag: "telegram"}, regen.Row{}, false},
		{"read-only", regen.Fields{ReadOnly: true}, regen.Row{Token: proof}, false},
		{"imported with proof", regen.Fields{Imported: true}, regen.Row{Token: proof}, true},
		{"imported with proof, row source ignored", regen.Fields{Source: "tui"}, regen.Row{Token: proof, Source: "cron"}, true},
		{"imported without proof", regen.Fields{Imported: true}, regen.Row{}, false},
		{"imported with bad proof", regen.Fields{Source: "api_server"}, regen.Row{Token: "r:05"}, false},
		{"imported read-only with proof", regen.Fields{Imported: true, ReadOnly: true}, regen.Row{Token: proof}, false},
		{"chat network without proof", regen.Fields{Source: "slack"}, regen.Row{}, false},
		{"kanban without proof", regen.Fields{Source: "kanban"}, regen.Row{}, false},
		{"fork, own turn", regen.Fields{Source: "fork", Parent: "p"}, regen.Row{Source: "fork", ForkChild: "s1"}, true},
		{"fork by parent alone", regen.Fields{Parent: "p"}, regen.Row{ForkChild: "s1"}, true},
		{"fork, copied turn", regen.Fields{Source: "fork", Parent: "p"}, regen.Row{Source: "fork", ForkChild: "p"}, false},
		{"fork, unmarked turn", regen.Fields{Source: "fork", Parent: "p"}, regen.Row{}, false},
		{"fork without parent", regen.Fields{Source: "fork"}, regen.Row{ForkChild: "s1"}, false},
		{"fork, foreign row", regen.Fields{Source: "fork", Parent: "p"}, regen.Row{Source: "cron", ForkChild: "s1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.user.ID, c.user.Turn, c.user.Role, c.user.Content = "u", "t", regen.RoleUser, regen.Text("hi")
			rows := []regen.Row{c.user, {ID: "a", Turn: "t", Role: regen.RoleAssistant, Content: regen.Text("ho")}}
			k := importTalk(t, c.fields, rows, rows)
			_, minted := k.d.Minted()
			require.Equal(t, c.ok, minted, "reader and planner agree")
			_, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, regen.ErrReadOnly)
			if c.fields.ReadOnly {
				_, err = k.do(regen.Command{Op: regen.OpSend, Content: regen.Text("x")})
				require.ErrorIs(t, err, regen.ErrReadOnly)
			}
		})
	}
}

// In an import only the last turn's proof counts, an earlier one proves nothing.
// contract: A7
func TestEarlierProofIsNoProof(t *testing.T) {
	rows := []regen.Row{
		{ID: "u1", Turn: "t1", Role: regen.RoleUser, Content: regen.Text("hi"), Token: regen.Token("r", 1)},
		{ID: "a1", Turn: "t1", Role: regen.RoleAssistant, Content: regen.Text("ho")},
		{ID: "u2", Turn: "t2", Role: regen.RoleUser, Content: regen.Text("hi")},
		{ID: "a2", Turn: "t2", Role: regen.RoleAssistant, Content: regen.Text("ho")},
	}
	k := importTalk(t, regen.Fields{Imported: true}, rows, rows)
	_, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
	require.ErrorIs(t, err, regen.ErrReadOnly)

	// A turn taken here can be regenerated, also after a reload and however it ended.
	for _, kind := range []regen.OutcomeKind{regen.Completed, regen.Failed, regen.Cancelled, regen.Interrupted} {
		k.send("again")
		k.settle(kind, "x")
		k.d = k.store.load(t, k.d, 100)
		k.regenerate()
		k.settle(regen.Completed, "y")
	}
}

// A turn taken in a fork belongs to it, whenever its row was written, and can be regenerated there.
// contract: S13, A9
func TestForkTurnsAreMarked(t *testing.T) {
	parent := []regen.Row{
		{ID: "u1", Turn: "t1", Role: regen.RoleUser, Content: regen.Text("hi"), Source: "fork", ForkChild: "parent"},
		{ID: "a1", Turn: "t1", Role: regen.RoleAssistant, Content: regen.Text("ho")},
	}
	k := importTalk(t, regen.Fields{Source: "fork", Parent: "parent"}, parent, parent)
	_, err := k.do(regen.Command{Op: regen.OpRegenerate, Revision: k.d.Revision()})
	require.ErrorIs(t, err, regen.ErrReadOnly)
	c := k.send("new")
	require.Equal(t, "s1", c.Rows[0].ForkChild)
	require.Equal(t, "fork", c.Rows[0].Source)
	require.Equal(t, "fork", c.Document.Active.Source)
	k.settle(regen.Cancelled, "")
	c = k.regenerate()
	require.Equal(t, "s1", c.Rows[0].ForkChild)

	// Written late, from the log, because the document lost it.
	lost := *k.d
	lost.Rows, lost.Context = lost.Rows[:2], lost.Context[:2]
	o := regen.Outcome{Run: c.Run, Kind: regen.Interrupted, At: 300, AnswerRow: id('a', 900), ErrorRow: id('e', 900)}
	_, err = lost.Settle(o)
	require.ErrorIs(t, err, regen.ErrTurnMissing)
	o.User = &regen.Row{Content: regen.Text("new")}
	s, err := lost.Settle(o)
	require.NoError(t, err)
	require.Equal(t, "s1", s.Rows[0].ForkChild)
	require.Equal(t, c.Rows[0].Token, s.Rows[0].Token)
	require.Equal(t, []string{"user:new", "assistant:The answer was interrupted."}, show(s.Rows))
}
