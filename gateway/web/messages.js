// The conversation on the page: one list item per turn. A change of structure rebuilds the turns whose look changed and nothing
// else; running text is drawn at most once per frame and touches only its own element.

import { copyText, h, nextFrame } from "./dom.js";
import { LiveMarkdown, render } from "./markdown.js";
import { textOf } from "./words.js";
import { endOf, endText, turnsOf } from "./turns.js";

/** MessagesView draws a session into an ordered list. act: {regenerate, select, example}. */
export class MessagesView {
  #list;
  #act;
  #session = null;
  #turns = new Map(); // key → {element, look, rows: Map}
  #live = null; // {run, element, text, thought}
  #waiting = false;
  #cost = 0; // milliseconds of the last live drawing
  #drawnAt = 0;

  constructor(list, act) {
    this.#list = list;
    this.#act = act;
  }

  /** afterDraw is called after each drawing, for scrolling. */
  afterDraw = () => {};

  /** show changes the session that is drawn. */
  show(session) {
    this.#session = session;
    this.#turns.clear();
    this.#live = null;
    this.#list.replaceChildren();
    this.draw();
  }

  /** grow asks for the running text to be drawn with the next frame; a costly text waits longer. */
  grow() {
    if (this.#waiting) return;
    this.#waiting = true;
    nextFrame(Math.max(0, this.#drawnAt + this.#cost * 4 - performance.now()), () => {
      this.#waiting = false;
      this.#drawLive();
      this.afterDraw();
    });
  }

  /** draw brings the list in line with the session. */
  draw() {
    const s = this.#session;
    const turns = turnsOf(s);
    const keys = new Set(turns.map((t) => t.key));
    for (const [key, t] of this.#turns) {
      if (keys.has(key)) continue;
      t.element.remove();
      this.#turns.delete(key);
    }
    if (!s.run || this.#live?.run !== s.run.run) this.#dropLive(s);
    turns.forEach((turn, i) => this.#place(turn, i));
    if (!s.run) this.#live = null;
    this.#drawLive();
    this.afterDraw();
  }

  #place(turn, index) {
    let t = this.#turns.get(turn.key);
    if (!t) {
      t = { element: h("li.turn", { tabindex: "-1", testid: "turn" }), look: "", rows: new Map() };
      this.#turns.set(turn.key, t);
    }
    if (this.#list.children[index] !== t.element) this.#list.insertBefore(t.element, this.#list.children[index] ?? null);
    if (t.look === turn.look) return;
    const focused = t.element.contains(document.activeElement) && document.activeElement !== t.element;
    t.look = turn.look;
    t.element.dataset.turn = turn.id ?? "";
    t.element.dataset.outcome = turn.outcome ?? "";
    t.element.setAttribute("aria-busy", String(Boolean(turn.run)));
    t.element.replaceChildren(...this.#parts(turn, t));
    if (focused && !t.element.contains(document.activeElement)) t.element.focus({ preventScroll: true });
  }

  #parts(turn, t) {
    const parts = [];
    const rows = new Map();
    for (const row of turn.rows) {
      if (row.error) continue;
      const look = `${row.run}/${textOf(row.content).length}/${row.partial}/${row.reasoning?.length}`;
      const old = t.rows.get(row.id);
      const kept = old?.look === look ? old : { look, element: this.#row(row) };
      rows.set(row.id, kept);
      if (kept.element) parts.push(kept.element);
    }
    t.rows = rows;
    if (turn.pending) parts.push(pendingPrompt(turn.pending));
    if (turn.run) parts.push(this.#liveElement(turn.run));
    else if (turn.waiting) parts.push(waiting(turn.waiting));
    const end = endOf(turn);
    if (end) parts.push(endNote(end));
    if (turn.id && !turn.run && !turn.waiting) parts.push(this.#actions(turn) ?? "");
    if (turn.variants.length || turn.storedVariants > 0) parts.push(this.#variants(turn));
    return parts;
  }

  #row(row) {
    if (row.role === "user") return prompt(row);
    if (row.role === "system") return h("p.system", textOf(row.content));
    if (row.role === "tool") return fold("Tool result", h("pre", { tabindex: "0" }, textOf(row.content)));
    const adopted = this.#adopt(row);
    const body = adopted ?? answerBody(textOf(row.content));
    return h("div.answer", { testid: "answer", "data-partial": row.partial ? "true" : null },
      row.reasoning ? thought(row.reasoning) : null, ...(row.tool_calls ?? []).map(toolCall), body);
  }

  /** adopt reuses the drawing of the running text where the stored answer is the same: no flicker, no lost selection. */
  #adopt(row) {
    const live = this.#live;
    if (!live || live.run !== row.run || !live.text.exact(textOf(row.content))) return null;
    const body = live.text.element;
    body.removeAttribute("data-live");
    body.removeAttribute("data-testid");
    return body;
  }

  // ---- the running answer

  #liveElement(run) {
    if (this.#live?.run !== run.run) {
      const body = h("div.prose", { "data-live": true, testid: "live" });
      const hint = h("p.waiting", h("span.pulse", { "aria-hidden": "true" }), "Waiting for the first words…");
      const tools = h("div");
      const thoughts = thought("", "Thinking…");
      thoughts.hidden = true;
      const element = h("div.answer", { testid: "answer", "data-streaming": "true" }, thoughts, tools, hint, body);
      this.#live = { run: run.run, element, body, hint, tools, drawnTools: 0, thoughts, text: new LiveMarkdown(body) };
    }
    return this.#live.element;
  }

  #drawLive() {
    const run = this.#session?.run;
    const live = this.#live;
    if (!run || live?.run !== run.run) return;
    const begin = performance.now();
    live.hint.hidden = Boolean(run.text || run.reasoning || run.tools.length);
    if (run.reasoning) {
      live.thoughts.hidden = false;
      live.thoughts.firstChild.textContent = run.text ? "Thinking" : "Thinking…";
      live.thoughts.lastChild.firstChild.data = run.reasoning;
    }
    for (; live.drawnTools < run.tools.length; live.drawnTools++) live.tools.append(toolCall(run.tools[live.drawnTools]));
    live.text.set(run.text);
    this.#drawnAt = performance.now();
    this.#cost = this.#drawnAt - begin;
  }

  #dropLive(s) {
    // The settled row may adopt the drawing while its turn is placed; afterwards it is forgotten.
    if (this.#live && !s.rows.some((r) => r.run === this.#live.run && r.role === "assistant" && !r.error)) this.#live = null;
  }

  // ---- below an answer

  #actions(turn) {
    const text = turn.rows.filter((r) => r.role === "assistant" && !r.error).map((r) => textOf(r.content)).join("\n\n");
    const model = turn.rows.findLast((r) => r.role === "assistant" && r.model)?.model;
    const parts = [];
    if (turn.last && turn.canRegenerate) {
      parts.push(h("button.quiet", { type: "button", testid: "regenerate", onclick: () => this.#act.regenerate() }, "Regenerate"));
    }
    if (text) parts.push(h("button.quiet", { type: "button", testid: "copy", onclick: (e) => copied(e.currentTarget, text) }, "Copy"));
    if (model) parts.push(h("span.model", model));
    return parts.length ? h("div.actions", ...parts) : null;
  }

  #variants(turn) {
    const n = turn.variants.length + turn.storedVariants;
    const items = turn.variants.map((v, i) => this.#variant(turn, v, i));
    const stored = turn.storedVariants > 0
      ? h("p.note", `${turn.storedVariants} more ${turn.storedVariants === 1 ? "is" : "are"} kept on the server, replaced before this tab was opened.`)
      : null;
    return h("details.variants", { testid: "variants", "data-count": String(n) },
      h("summary", n === 1 ? "1 earlier answer" : `${n} earlier answers`), h("ol", ...items), stored);
  }

  #variant(turn, v, i) {
    const end = endOf({ rows: v.rows, outcome: v.outcome });
    const select = turn.canSelect && v.id
      ? h("button.quiet", { type: "button", testid: "select-variant", onclick: () => this.#act.select(turn.id, v.id) }, "Use this answer")
      : null;
    return h("li", { testid: "variant", "data-variant": v.id ?? "" },
      h("p.note", `Answer ${i + 1}${end ? ` · ${end.title.toLowerCase()}` : ""}`),
      ...v.rows.filter((r) => !r.error && r.role === "assistant").map((r) => answerBody(textOf(r.content))), select);
  }
}

function prompt(row) {
  const files = row.attachments?.length ?? 0;
  return h("div.prompt", { testid: "prompt" }, h("span.off-screen", "You: "), h("p", { dir: "auto" }, textOf(row.content)),
    files ? h("p.note", files === 1 ? "1 attachment" : `${files} attachments`) : null);
}

function pendingPrompt(p) {
  return h("div.prompt.pending", { testid: "pending" }, h("span.off-screen", "You: "), h("p", { dir: "auto" }, p.content));
}

function waiting(text) {
  return h("p.waiting", h("span.pulse", { "aria-hidden": "true" }), text);
}

function answerBody(text) {
  const body = h("div.prose");
  body.append(render(text));
  return body;
}

function thought(text, title = "Thinking") {
  return fold(title, h("p", { dir: "auto" }, document.createTextNode(text)), "thought");
}

function toolCall(raw) {
  let call = raw;
  try {
    if (typeof raw === "string") call = JSON.parse(raw);
  } catch {
    // shown as it came
  }
  const name = call?.function?.name ?? call?.name ?? "unknown";
  const input = call?.function?.arguments ?? call?.arguments ?? call?.input ?? call;
  return fold(`Tool call: ${name}`, h("pre", { tabindex: "0" }, typeof input === "string" ? input : JSON.stringify(input, null, 2)));
}

function fold(title, body, kind = "tool") {
  return h(`details.fold.${kind}`, { testid: kind }, h("summary", title), body);
}

function endNote(end) {
  return h(`div.end.${end.kind}`, { testid: "outcome", "data-outcome": end.kind },
    h("span.mark", { "aria-hidden": "true" }), h("p", h("strong", end.title), " ", endText(end)));
}

async function copied(button, text) {
  const done = await copyText(text);
  const before = button.textContent;
  button.textContent = done ? "Copied" : "Could not copy";
  setTimeout(() => (button.textContent = before), 1500);
}
