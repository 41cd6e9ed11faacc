package browser_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"holdfast/stream/upstream/demo"
)

// A newcomer sends, reads along, reloads in mid-answer and loses the connection: the words are the model's, all of them, once.
func TestReloadAndDropInMidAnswer(t *testing.T) {
	url := start(t)
	p := open(t, browser(t), url+"/?session=s1")
	p.send("/long 150")
	p.until(`document.body.dataset.busy === "true" && Number(document.body.dataset.seq) > 8`)
	p.shot("streaming")
	p.run(chromedp.Reload())
	p.until(`document.body.dataset.busy === "true" && Number(document.body.dataset.seq) > 14`)
	for range 3 {
		p.click("drop")
		p.until(`document.querySelector("#status-connection").dataset.state !== "open"`)
		p.until(`document.querySelector("#status-connection").dataset.state === "open"`)
	}
	p.idle("completed")
	rows := stored(t, url, "s1")
	require.Len(t, rows, 2)
	script := demo.Script("/long 150", rows[0].Run)
	require.Equal(t, script, rows[1].Content)
	require.Equal(t, []string{words(script)}, p.answers())
	p.shot("settled")
	p.run(chromedp.Reload())
	p.idle("completed")
	require.Equal(t, []string{words(script)}, p.answers())
}

// Stop keeps what was shown, in both tabs; a regenerate in one tab replaces the answer in both, and the old one stays as a variant.
func TestStopAndRegenerateInTwoTabs(t *testing.T) {
	url := start(t)
	chrome := browser(t)
	a := open(t, chrome, url+"/?session=s1")
	b := open(t, a.ctx, url+"/?session=s1")
	a.send("/slow tides")
	b.until(`document.body.dataset.busy === "true" && Number(document.body.dataset.seq) > 5`)
	b.click("stop")
	for _, p := range []*tab{a, b} {
		p.idle("cancelled")
	}
	kept := a.answers()
	require.Len(t, kept, 1)
	require.Equal(t, kept, b.answers())
	rows := stored(t, url, "s1")
	require.True(t, strings.HasPrefix(demo.Script("/slow tides", rows[0].Run), rows[1].Content))
	a.shot("stopped")

	a.send("/fast /long 60")
	for _, p := range []*tab{a, b} {
		p.idle("completed")
	}
	first := a.answers()[1]
	b.click("regenerate")
	for _, p := range []*tab{a, b} {
		p.until(`document.querySelectorAll('[data-testid="variants"]').length === 1`)
		p.idle("completed")
	}
	rows = stored(t, url, "s1")
	script := words(demo.Script("/fast /long 60", rows[len(rows)-1].Run))
	require.NotEqual(t, first, script)
	for _, p := range []*tab{a, b} {
		require.Equal(t, script, p.answers()[1])
		require.Equal(t, []string{"cancelled", "completed"}, p.outcomes())
		require.Equal(t, first, words(value[string](p, `document.querySelector('[data-testid="variant"] .prose').textContent`)))
	}
	a.do(id("variants") + ".open = true")
	a.shot("variants")

	a.click("select-variant") // the replaced answer comes back, in both tabs
	for _, p := range []*tab{a, b} {
		p.until(`[...document.querySelectorAll('[data-testid="answer"] > .prose')].at(-1).innerText.replace(/\s+/g, " ").trim() === ` + strconv.Quote(first))
	}
	require.Equal(t, first, words(stored(t, url, "s1")[4].Content))
}

// Failed answers look failed, say why, and can be tried again with one click.
func TestFailedAnswers(t *testing.T) {
	url, end := startNode(t)
	p := open(t, browser(t), url+"/?session=s1")
	p.send("/error")
	p.idle("failed")
	require.Contains(t, value[string](p, id("outcome")+".innerText"), "Failed")
	p.send("/error-mid")
	p.until(`document.querySelectorAll('[data-testid="turn"]').length === 2`)
	p.idle("failed")
	p.shot("failed")
	p.click("regenerate")
	p.until(`document.querySelectorAll('[data-testid="variants"]').length === 1`)
	p.idle("failed")
	require.Equal(t, []string{"failed", "failed"}, p.outcomes())

	end() // and without a server the page says so, and keeps what it shows
	p.until(`!["open"].includes(document.querySelector("#status-connection").dataset.state)`)
	require.Equal(t, []string{"failed", "failed"}, p.outcomes())
	p.shot("disconnected")
}

// What a model or a person writes cannot run, load or frame anything.
func TestNoScriptFromText(t *testing.T) {
	url := start(t)
	p := open(t, browser(t), url+"/?session=s1")
	evil := "/fast /echo <img src=x onerror=\"window.hit=1\"><script>window.hit=1</script> [x](javascript:window.hit=1) <iframe src=/></iframe> **bold**"
	p.send(evil)
	p.idle("completed")
	require.True(t, value[bool](p, `document.querySelector('[data-testid="answer"] strong').innerText === "bold"`))
	require.False(t, value[bool](p, `"hit" in window`))
	require.Zero(t, value[int](p, `document.querySelectorAll('[data-testid="messages"] script, [data-testid="messages"] iframe, [data-testid="messages"] [onerror], [data-testid="messages"] a[href^="javascript"]').length`))
}

// The node that answers is killed from the page: what was shown stays, another node takes over and says so, and the next answer comes.
func TestKillTheOwner(t *testing.T) {
	url := start(t, "demo", "--nodes", "3")
	chrome := browser(t)
	a := open(t, chrome, url+"/?session=s1")
	b := open(t, a.ctx, url+"/?session=s1")
	a.send("/long 400")
	for _, p := range []*tab{a, b} {
		p.until(`Number(document.body.dataset.seq) > 12`)
	}
	owner := value[string](a, `document.querySelector("#status-owner").innerText`)
	a.click("kill-owner")
	for _, p := range []*tab{a, b} {
		p.idle("interrupted")
	}
	a.shot("interrupted")
	require.NotEqual(t, owner, value[string](a, `document.querySelector("#status-owner").innerText`))
	require.Contains(t, value[string](a, id("timeline")+".innerText"), "Take-over")
	rows := stored(t, url, "s1")
	require.Len(t, rows, 3)
	require.True(t, strings.HasPrefix(demo.Script("/long 400", rows[0].Run), rows[1].Content))
	for _, p := range []*tab{a, b} {
		require.Equal(t, []string{words(rows[1].Content)}, p.answers())
	}
	a.click("regenerate")
	b.until(`document.body.dataset.busy === "true"`)
	a.click("stop")
	b.idle("cancelled")
}

// The page fits a phone, without a scroll bar to the side, and has a dark form.
func TestPhoneAndDark(t *testing.T) {
	url := start(t)
	p := open(t, browser(t), url+"/?session=s1")
	p.send("/fast tides and moons")
	p.idle("completed")
	p.shot("wide")
	p.run(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	p.until(`document.documentElement.scrollWidth <= 360 && document.getAnimations().length === 0`)
	p.shot("phone")
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	require.NoError(t, err)
	p.run(chromedp.EmulateViewport(1280, 800))
	p.until(`matchMedia("(prefers-color-scheme: dark)").matches`)
	p.shot("dark")
}

// No request leaves for another host.
func TestNoOtherHost(t *testing.T) {
	url := start(t)
	p := open(t, browser(t), url+"/?session=s1")
	p.send("/fast /echo ![x](http://192.0.2.1/x.png) <img src='http://192.0.2.1/y.png'> done")
	p.idle("completed")
	require.Empty(t, value[[]string](p, `performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith(location.origin))`))
}

// The ten lines of JavaScript in the README show an answer.
func TestReadmeScript(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "```js\n")
	require.True(t, ok)
	script, _, _ := strings.Cut(rest, "```")
	url := start(t)
	p := open(t, browser(t), url+"/?session=other")
	script = strings.ReplaceAll(script, "ws://127.0.0.1:8080", "ws"+strings.TrimPrefix(url, "http"))
	require.Contains(t, script, `content: "hello"`)
	p.do(`(() => {` + strings.ReplaceAll(script, `content: "hello"`, `content: "/fast /echo the words of the readme"`) + `})()`)
	p.until(`document.body.lastChild.textContent.includes("the words of the readme") || document.body.textContent.includes("the words of the readme")`)
}
