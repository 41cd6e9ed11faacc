// The box one writes in: Enter sends, Shift+Enter starts a new line; drafts belong to their session; the demo model's commands.

import { byId, h } from "./dom.js";

const EXAMPLES = [
  ["Tell me about the tides", "streams some of everything"],
  ["/long 600", "a long answer: reload in the middle of it"],
  ["/think Why is the sea salty?", "thinks first, then answers"],
  ["/stall", "falls silent until you press Stop"],
  ["/error-mid", "fails in the middle"],
];
const CHIPS = [
  ["/help", "lists the commands"], ["/echo ", "answers with exactly your text"], ["/long 400", "answers with so many words"],
  ["/think ", "thinks aloud first"], ["/slow ", "answers slowly"], ["/fast ", "answers without waiting"], ["/tool ", "calls a tool"],
  ["/stall", "falls silent until you stop it"], ["/error", "fails before the first word"],
  ["/error-mid", "fails in the middle of the answer"], ["/overload", "fails as a busy provider does"],
];

/** Composer owns the form. act: {send(text), stop()}. */
export class Composer {
  #act;
  #box = byId("composer");
  #id = "";
  #busy = false;
  #drafts = new Map();

  constructor(act) {
    this.#act = act;
    byId("form").addEventListener("submit", (e) => {
      e.preventDefault();
      this.#submit();
    });
    this.#box.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" || e.shiftKey || e.isComposing || e.keyCode === 229) return;
      e.preventDefault();
      if (!e.repeat) this.#submit();
    });
    this.#box.addEventListener("input", () => this.#changed());
    byId("stop").addEventListener("click", () => this.#act.stop());
    byId("chips").append(...CHIPS.map(([text, help]) => this.#chip(text, help)));
    byId("starters").append(...EXAMPLES.map(([text, help]) =>
      h("li", h("button.starter", { type: "button", onclick: () => this.fill(text) }, h("span", text), h("span.note", help)))));
  }

  #chip(text, help) {
    return h("button.chip", { type: "button", testid: "chip", title: help, "aria-label": `${text.trim()}: ${help}`, onclick: () => this.fill(text) }, text.trim().split(" ")[0]);
  }

  #submit() {
    const text = this.#box.value;
    if (this.#busy || byId("send").disabled || !text.trim()) return;
    this.#box.value = "";
    this.#changed();
    this.#act.send(text);
  }

  /** show gives the box to a session, with the draft that was left there. */
  show(id) {
    this.#id = id;
    this.#box.value = this.#drafts.get(id) ?? "";
    this.#changed();
  }

  /** fill puts an example into the box and sends nothing. */
  fill(text) {
    this.#box.value = text;
    this.#changed();
    this.focus();
    this.#box.setSelectionRange(text.length, text.length);
  }

  /** giveBack returns a refused prompt, unless something new was written there. */
  giveBack(id, text) {
    if (id !== this.#id) {
      if (!this.#drafts.get(id)) this.#drafts.set(id, text);
    } else if (!this.#box.value) {
      this.#box.value = text;
      this.#changed();
    }
  }

  focus() {
    this.#box.focus({ preventScroll: true });
  }

  /** state brings the buttons in line: while an answer is under way there is Stop in the place of Send. */
  state({ busy, stopping, ended }) {
    const stop = byId("stop");
    const hadFocus = document.activeElement === stop;
    this.#busy = busy;
    this.ended = ended;
    stop.hidden = !busy;
    stop.disabled = stopping;
    stop.textContent = stopping ? "Stopping" : "Stop";
    byId("send").hidden = busy;
    this.#changed();
    if (hadFocus && (stop.hidden || stop.disabled)) this.focus();
  }

  #changed() {
    this.#drafts.set(this.#id, this.#box.value);
    byId("send").disabled = this.ended || !this.#box.value.trim();
    if (CSS.supports("field-sizing", "content")) return;
    this.#box.style.height = "auto";
    this.#box.style.height = `${Math.min(this.#box.scrollHeight, 200)}px`;
  }
}
