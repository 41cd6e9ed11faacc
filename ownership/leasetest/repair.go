package leasetest

import "github.com/stretchr/testify/require"

var repairCases = map[string]func(*rig){
	"a log missing beside a head is a new incarnation":  logLost,
	"a head missing beside a log is a new incarnation":  headLost,
	"a log that lost its end goes on from what is left": tailLost,
}

func logLost(r *rig) {
	g := r.acquire(r.request("a"))
	require.NoError(r, r.append(g.Epoch, 1))
	r.set("head", "ver", "2", "seq", "41", "run", "r1", "rev", "x")
	r.drop("log")
	require.Error(r, r.append(g.Epoch, 2), "an append makes no log anew")
	require.False(r, r.exists("log"))
	b := r.acquire(r.request("a"))
	require.True(r, b.Fresh)
	require.NotEqual(r, g.Incarnation, b.Incarnation)
	require.Equal(r, uint64(41), b.Seq)
	require.Equal(r, "r1", b.Run, "the new owner ends it")
	require.Equal(r, []string{id(b.Epoch, 41) + "m"}, r.log())
	require.Equal(r, id(b.Epoch, 41), r.get("head", "before"))
	require.Equal(r, text(b.Epoch)+":42", r.get("head", "fences"))
	require.Equal(r, b.Incarnation, r.get("head", "inc"))
	require.Equal(r, "2", r.get("head", "ver"))
	require.Equal(r, "x", r.get("head", "rev"))
}

func headLost(r *rig) {
	g := r.acquire(r.request("a"))
	require.NoError(r, r.append(g.Epoch, 1))
	require.NoError(r, r.append(g.Epoch, 2))
	r.accept("r1")
	r.drop("head")
	b := r.acquire(r.request("b"))
	require.True(r, b.Fresh)
	require.NotEqual(r, g.Incarnation, b.Incarnation)
	require.Equal(r, uint64(2), b.Seq)
	require.Empty(r, b.Run)
	require.Equal(r, "0", r.get("head", "ver"))
	require.Equal(r, id(b.Epoch, 2), r.get("head", "before"), "nobody is served what belongs to the other life")
	require.Equal(r, text(b.Epoch)+":3", r.get("head", "fences"))
}

func tailLost(r *rig) {
	g := r.acquire(r.request("a"))
	for seq := uint64(1); seq <= 3; seq++ {
		require.NoError(r, r.append(g.Epoch, seq))
	}
	r.set("head", "ver", "1", "seq", "3")
	require.NoError(r, r.client.XDel(r.ctx, r.name("log"), id(g.Epoch, 3)).Err())
	b := r.acquire(r.request("b"))
	require.Equal(r, uint64(2), b.Seq)
	require.False(r, b.Fresh)
	require.Equal(r, text(g.Epoch)+":1,"+text(b.Epoch)+":3", r.get("head", "fences"))
}
