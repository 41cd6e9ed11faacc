// The list of conversations: what the server knows, and before it knows it what this tab has just begun.

import { byId, h } from "./dom.js";
import { shortTitle } from "./turns.js";
import { textOf } from "./words.js";

const SOON_MS = 400;

/** Sidebar draws GET /v1/sessions. choose(id) opens one. */
export class Sidebar {
  #known = new Map(); // id → {id, title, at, running}
  #timer = 0;
  #choose;
  #look = "";

  constructor(choose) {
    this.#choose = choose;
    setInterval(() => this.draw(), 60_000); // "3 min ago" ages
  }

  /** refreshSoon asks the server, at most once in a while. */
  refreshSoon() {
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      this.#refresh();
    }, SOON_MS);
  }

  async #refresh() {
    try {
      const r = await fetch("/v1/sessions", { headers: { Accept: "application/json" } });
      if (!r.ok) return;
      const body = await r.json();
      for (const item of Array.isArray(body) ? body : body.sessions ?? []) {
        const id = item.session ?? item.id;
        if (typeof id !== "string") continue;
        this.#known.set(id, { id, title: item.title || this.#known.get(id)?.title || "", at: item.updated_at ?? item.at ?? 0, running: Boolean(item.run) });
      }
      this.draw();
    } catch {
      // away; the next refresh tries again
    }
  }

  /** update takes what this tab knows of a session. */
  update(s) {
    if (s.rows.length === 0 && !s.busy) return this.draw();
    const old = this.#known.get(s.id);
    const at = s.busy ? Date.now() / 1000 : Math.max(old?.at ?? 0, s.rows.at(-1)?.at ?? 0);
    this.#known.set(s.id, { id: s.id, title: s.title || this.titleOf(s), at, running: s.run !== null });
    this.draw();
  }

  /** titleOf is the session's title, or what the server will make of its first prompt. */
  titleOf(s) {
    const known = this.#known.get(s.id)?.title;
    if (s.title || known) return s.title || known;
    const first = [...s.earlier, ...s.rows].find((r) => r.role === "user");
    const pending = [...s.pending.values()].find((p) => p.op === "send");
    return shortTitle(first ? textOf(first.content) : pending?.content ?? "") || "New chat";
  }

  /** draw brings the list in line; it costs nothing where nothing changed. */
  draw() {
    const current = document.body.dataset.session;
    const list = [...this.#known.values()].sort((a, b) => b.at - a.at).slice(0, 100);
    const look = JSON.stringify([current, list.map((s) => [s.id, s.title, ago(s.at), s.running])]);
    if (look === this.#look) return;
    this.#look = look;
    const focused = document.activeElement?.closest?.("#sessions a")?.dataset.session;
    byId("sessions").replaceChildren(...list.map((s) => h("li", this.#link(s, s.id === current))));
    byId("sessions-none").hidden = list.length > 0;
    if (focused) byId("sessions").querySelector(`a[data-session="${CSS.escape(focused)}"]`)?.focus();
  }

  #link(s, current) {
    return h("a", {
      href: `?session=${encodeURIComponent(s.id)}`, "data-session": s.id, testid: "session-link", "aria-current": current ? "page" : null,
      onclick: (e) => {
        if (e.metaKey || e.ctrlKey || e.shiftKey || e.button !== 0) return;
        e.preventDefault();
        this.#choose(s.id);
      },
    }, h("span.name", { dir: "auto" }, s.title || "Untitled"), h("span.note", s.running ? "answering" : ago(s.at)));
  }
}

function ago(at) {
  const s = Date.now() / 1000 - at;
  if (!at || s < 60) return "now";
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}
