package demo

// The words the demo model is made of. %s is the person's prompt, shortened and escaped.

var openings = []string{
	"You asked about “%s”. Here is what the demo model makes of it.",
	"“%s”: a good thing to start from. Let me take it in steps.",
	"Let us look at “%s” from three sides.",
	"On “%s” there is a short answer and a longer one. This is the longer one.",
	"I read “%s” and this came to mind.",
}

var remarks = []string{
	"I am built into the gateway and know nothing of the world; what I do know is how to send an answer piece by piece.",
	"Nothing here left your machine: no key, no network, no cost.",
	"Reload the page while I write, and I go on where you left me.",
	"Open this conversation in a second tab, and both will show the same words at the same time.",
	"Press stop at any moment; the words you have seen stay.",
	"Press regenerate, and I find other words for the same question.",
}

var points = []string{
	"**Begin small.** One question, one answer, and a look at what came back.",
	"**Name things once.** A word that means two things will be read the wrong way by somebody.",
	"**Keep what people saw.** Text on a screen is a promise.",
	"**Ask who decides.** If two parts of a system may both say yes, one day both will.",
	"**Measure before you tune.** A guess costs an afternoon; a number costs a minute.",
	"**Fail in the open.** An error with a reason is kinder than silence.",
	"**Try it twice.** What works once may have been luck.",
	"**Leave a way back.** An old answer is worth keeping until the new one is there.",
}

var tableRows = []string{
	"| a page reloaded | nothing is lost | 🔁 |",
	"| a second tab | both show the same | 👯‍♀️ |",
	"| stop pressed | the text so far stays | ✋🏽 |",
	"| regenerate pressed | another answer, the old one kept | ♻️ |",
	"| a node gone | another one takes over | 👩🏽‍🚒 |",
	"| a network cut | the page catches up | 🧑‍🔧 |",
}

var snippets = []string{
	"```go\npackage main\n\nimport \"fmt\"\n\nfunc main() {\n\tfor i := range 3 {\n\t\tfmt.Println(\"piece\", i+1) // one at a time\n\t}\n}\n```",
	"```python\ndef pieces(text, size=4):\n    \"\"\"Cut a text as a model would.\"\"\"\n    for i in range(0, len(text), size):\n        yield text[i:i + size]\n```",
	"```js\nlet shown = \"\";\nfor await (const piece of answer) {\n  shown += piece; // append, never replace\n  render(shown);\n}\n```",
	"```sh\n# two tabs, one answer\ncurl -sN \"$HERE/v1/sessions/s1/events\"\n```",
}

var rightToLeft = []string{
	"مرحباً! هذا السطر يُقرأ من اليمين إلى اليسار، وفيه رقم 42.",
	"שלום! השורה הזו נקראת מימין לשמאל, ויש בה גם המספר 42.",
}

var closings = []string{
	"That is all I have. Write `/help` to see what else I can do. 👨‍👩‍👧‍👦",
	"Ask again, or press regenerate for another take. 🏳️‍🌈",
	"For a longer one try `/long 500`; to see me think, `/think`. 👩🏽‍💻",
	"To see what a failure looks like, write `/error-mid`. 🧑🏾‍🚀",
}

var thoughts = []string{
	"The question is “%s”.",
	"First, what is asked? Something that a person wants to see answered while they watch.",
	"Then, how much to say? A heading, a few points, one table, some code.",
	"I could be brief, but then there would be little to look at.",
	"I could be long, but then nobody would read it.",
	"A middle way, then, and a smile at the end. 🙂",
}

var sentences = []string{
	"Every answer begins with a single word and ends when there is nothing left to say.",
	"The gateway writes each piece down before anybody sees it.",
	"A reader who comes late gets the same words as a reader who was there from the start.",
	"Somewhere a node stops, another looks up, and the story goes on.",
	"Numbers rise and never fall, so nobody can mistake the old for the new.",
	"Between two pieces there is a short silence in which a page may draw.",
	"Whoever presses stop keeps what was said so far.",
	"A question asked twice is still one question.",
	"Rain fell on the roof of the small house while the kettle began to sing.",
	"The letters arrived in order, one after the other, like beads on a thread.",
	"It takes patience to wait for a long text and trust to believe it complete.",
	"Nothing was doubled, nothing was lost, and the last word came last.",
}
