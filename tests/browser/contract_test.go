package browser_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/stream/upstream/demo"
)

// A page that does not know yet that another tab was quicker clicks on regenerate: the answer that it took away is back, nothing is
// doubled, and in the end both tabs show the same.
// contract: F8, F9
// case: FC01
func TestRefusedClickGivesTheAnswerBack(t *testing.T) {
	url := start(t)
	chrome := browser(t)
	a := open(t, chrome, url+"/?session=s1")
	b := open(t, a.ctx, url+"/?session=s1")
	a.send("/fast /echo hello there")
	for _, p := range []*tab{a, b} {
		p.idle("completed")
	}
	// Both tabs click at one moment; the second finds no button any more if it has heard of the first already.
	click := `document.querySelector('[data-testid="regenerate"]')?.click()`
	a.do(click)
	b.do(click)
	for _, p := range []*tab{a, b} {
		p.until(`document.querySelectorAll('[data-testid="variants"]').length === 1`)
		p.idle("completed")
		p.until(`document.querySelectorAll('[data-testid="answer"]').length === 1`)
	}
	rows := stored(t, url, "s1")
	require.Len(t, rows, 2)
	for _, p := range []*tab{a, b} {
		require.Equal(t, []string{words(rows[1].Content)}, p.answers())
	}
}

// Another conversation answers in the background: the one on the page stays idle, and shows nothing of it; a stop on the page ends the
// page's run and no other.
// contract: F10, F11
func TestBackgroundRunStaysInTheBackground(t *testing.T) {
	url := start(t)
	chrome := browser(t)
	a := open(t, chrome, url+"/?session=s1")
	b := open(t, a.ctx, url+"/?session=s2")
	a.send("/fast /echo mine")
	a.idle("completed")
	b.send("/long 300")
	b.until(`document.body.dataset.busy === "true" && Number(document.body.dataset.seq) > 5`)
	require.Equal(t, []string{"mine"}, a.answers())
	a.idle("completed")
	a.send("/stall")
	a.until(`document.body.dataset.busy === "true" && Number(document.body.dataset.seq) > 4`)
	a.click("stop")
	a.idle("cancelled")
	b.idle("completed")
	rows := stored(t, url, "s2")
	require.Equal(t, demo.Script("/long 300", rows[0].Run), rows[1].Content)
	require.Equal(t, []string{words(rows[1].Content)}, b.answers())
}
