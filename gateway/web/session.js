// One session as a client sees it: its rows, its running answer, its cursor. It folds the server's events and knows no page.
//
// Events (CustomEvent, see detail): "change" {why} after anything that a page shows has changed; "delta" after running text grew;
// and for people who watch: "accepted" "started" "first" "settled" "stop" "refused" "joined" "resumed" "takeover" "reset" "gone".

import { clean, formatCursor, newKey, parseCursor } from "./words.js";

const ATTACH_RETRY_MS = 1000;

/** Session is made by Holdfast.session. Everything public is for reading; methods change it. */
export class Session extends EventTarget {
  #client;
  #attachNo = 0; // answers to an older attach are void

  /** state: new, attaching, live, absent (no such session, yet or any more), refused. */
  state = "new";
  wanted = false;
  title = "";
  rows = [];
  earlier = []; // rows above the document that were paged in; they carry no revision
  total = 0;
  before = null;
  /** revision is what a regenerate sends back; null: nothing may be regenerated. */
  revision = null;
  /** run is the active run {run, turn, startedAt, node, model, text, reasoning, tools} or null. */
  run = null;
  owner = "";
  cursor = null;
  /** stopping is the run or the key that a stop is under way for. */
  stopping = null;
  /** pending are commands without a visible effect yet, by key: {key, op, content, turn, run, at}. */
  pending = new Map();
  /** outcomes and variants of turns, as far as this object saw them: turn → word; turn → [{id, at, rows}], oldest first. */
  outcomes = new Map();
  variants = new Map();

  constructor(client, id) {
    super();
    this.#client = client;
    this.id = id;
  }

  get busy() {
    return this.run !== null || this.pending.size > 0;
  }

  get canRegenerate() {
    return this.state === "live" && !this.busy && Boolean(this.revision);
  }

  /** canSelect: whether a replaced answer may be made current; a gateway says so in its hello. */
  get canSelect() {
    return this.canRegenerate && Boolean(this.#client.info.ops?.includes("select"));
  }

  // ---- commands

  /** attach subscribes; again it asks anew where the session was absent. */
  attach() {
    this.wanted = true;
    if (this.state === "new" || this.state === "absent" || this.state === "refused") this.resume();
  }

  /** send asks; the promise gives the receipt. */
  send(content, more = {}) {
    const key = newKey();
    return this.#command({ key, op: "send", content: clean(content), turn: null }, { content: clean(content), ...more });
  }

  /** regenerate replaces the last answer. */
  regenerate(more = {}) {
    const turn = this.rows.at(-1)?.turn ?? null;
    return this.#command({ key: newKey(), op: "regenerate", turn }, { revision: this.revision ?? "", ...more });
  }

  /** select makes a replaced answer the current one. */
  select(turn, variant) {
    return this.#command({ key: newKey(), op: "select", turn }, { turn, variant, revision: this.revision ?? "" });
  }

  /** stop ends the active run, or the command that has not been accepted yet. What was said stays; the end comes as "settled". */
  async stop() {
    const waiting = [...this.pending.values()].at(-1);
    const run = this.run?.run ?? waiting?.run;
    if (!run && !waiting) return null;
    const mark = run ?? waiting.key;
    this.stopping = mark;
    this.#changed("stop");
    this.#emit("stop", { run, phase: "asked" });
    try {
      const ok = await this.#client.request({ op: "cancel", session: this.id, ...(run ? { run } : { of: waiting.key }) });
      this.#emit("stop", { run: ok.run ?? run, phase: ok.cancel, seq: ok.seq });
      if (ok.cancel !== "accepted" && this.stopping === mark) this.stopping = null;
      return ok;
    } catch (error) {
      if (this.stopping === mark) this.stopping = null;
      this.#emit("refused", { op: "cancel", error });
      return null;
    } finally {
      this.#changed("stop");
    }
  }

  async #command(p, fields) {
    p.at = Date.now();
    p.run = null;
    this.wanted = true;
    this.pending.set(p.key, p);
    this.#changed("pending");
    try {
      const ok = await this.#client.request({ op: p.op, session: this.id, key: p.key, ...fields });
      this.#receipt(p, ok);
      return ok;
    } catch (error) {
      this.pending.delete(p.key);
      if (this.stopping === p.key) this.stopping = null;
      if (error.code === "stale_regeneration_revision") this.#refresh();
      this.#emit("refused", { op: p.op, key: p.key, content: p.content, error });
      this.#changed("refused");
      throw error;
    }
  }

  #receipt(p, ok) {
    p.run = ok.run ?? null;
    p.turn = ok.turn ?? p.turn;
    if (this.stopping === p.key && p.run) this.stopping = p.run;
    this.#emit("accepted", { op: p.op, key: p.key, run: p.run, turn: p.turn, repeat: Boolean(ok.repeat), content: p.content });
    if (this.state === "absent") {
      // The send made the session and attached this socket from just before its start; a repeat did neither.
      if (ok.repeat || !parseCursor(ok.cursor)) this.resume();
      else this.#live(parseCursor(ok.cursor));
    }
    if (!p.run || this.#shows(p)) this.pending.delete(p.key);
    this.#changed("accepted");
  }

  /** shows says whether the rows or the run already hold what p started. */
  #shows(p) {
    if (this.run?.run === p.run) return true;
    return this.rows.some((r) => r.run === p.run || (p.op === "send" && r.turn === p.turn));
  }

  // ---- attaching

  /** resume attaches at the cursor, or from nothing; the client calls it after each connect. */
  resume() {
    const no = ++this.#attachNo;
    const from = this.cursor;
    if (this.state !== "absent") this.state = "attaching";
    this.#client.tell({ op: "attach", session: this.id, ...(from ? { cursor: formatCursor(from) } : {}) }, (error, ok) => {
      if (no !== this.#attachNo) return;
      if (error) this.#notAttached(error, no);
      else this.#attached(ok, from);
    });
    this.#changed("attach");
  }

  /** offline: the socket is gone; the rows stay. */
  offline() {
    if (this.state === "live") this.state = "attaching";
    this.#changed("offline");
  }

  #attached(ok, from) {
    const at = parseCursor(ok.cursor);
    if (ok.document) {
      this.#document(ok.document, ok.run ?? null, at);
      this.state = "live";
      this.#emit(from ? "reset" : "joined", { run: this.run?.run, seq: at?.seq });
    } else {
      this.state = "live";
      if (!this.cursor) this.cursor = at;
      if (ok.run?.node) this.owner = ok.run.node;
      this.#emit("resumed", { seq: this.cursor?.seq });
    }
    this.#changed("attached");
  }

  #notAttached(error, no) {
    if (error.code === "not_found") {
      const gone = this.rows.length > 0;
      this.state = "absent";
      this.cursor = null;
      this.run = null;
      this.revision = null;
      if (gone) this.#emit("gone", {});
    } else if (error.retryable || error.code === "unavailable" || error.code === "timeout") {
      setTimeout(() => no === this.#attachNo && this.resume(), ATTACH_RETRY_MS);
    } else {
      this.state = "refused";
      this.#emit("refused", { op: "attach", error });
    }
    this.#changed("attach");
  }

  /** refresh reads the document anew: for a hole, or a revision that was stale. */
  #refresh() {
    if (!this.wanted) return;
    this.cursor = null;
    this.resume();
  }

  #live(cursor) {
    this.state = "live";
    this.#attachNo++;
    this.cursor = cursor;
  }

  #document(doc, run, cursor) {
    this.rows = doc.rows ?? [];
    this.earlier = [];
    this.revision = doc.revision ?? null;
    if (doc.title) this.title = doc.title;
    this.total = doc.total ?? this.rows.length;
    this.before = this.total > this.rows.length ? doc.before ?? null : null;
    this.cursor = cursor;
    this.run = run ? newRun(run.run, run.turn, run) : null;
    if (run?.node) this.owner = run.node;
    if (!run || (this.stopping && this.stopping !== run.run && !this.pending.has(this.stopping))) this.stopping = null;
    this.#settlePending();
  }

  /** settlePending: what was accepted is in the document, or was and is gone again. */
  #settlePending() {
    for (const [key, p] of this.pending) if (p.run) this.pending.delete(key);
  }

  /** addEarlier puts a page of older rows above the ones known. */
  addEarlier(doc) {
    const known = new Set([...this.earlier, ...this.rows].map((r) => r.id));
    this.earlier = [...(doc.rows ?? []).filter((r) => !known.has(r.id)), ...this.earlier];
    this.before = doc.before ?? null;
    this.#changed("earlier");
  }

  // ---- events

  /** event applies one event of the server: in order, once. */
  event(f) {
    if (f.event === "reset") {
      this.#document(f.document ?? {}, f.run ?? null, parseCursor(f.cursor));
      this.state = "live";
      this.#emit("reset", { run: this.run?.run, seq: this.cursor?.seq });
      this.#changed("reset");
      return;
    }
    if (!this.#advance(f)) return;
    switch (f.event) {
      case "started":
        return this.#started(f);
      case "delta":
        return this.#delta(f);
      case "settled":
        return this.#settled(f);
      case "session":
        return this.#session(f);
    }
  }

  /** advance moves the cursor over f; false: f is a repeat, or shows a hole. */
  #advance(f) {
    const seq = Number(f.seq);
    if (!Number.isFinite(seq)) return false;
    const from = Number(f.from ?? f.seq);
    const whole = parseCursor(f.cursor);
    const at = this.cursor;
    if (at && seq <= at.seq) return false;
    if (at && from !== at.seq + 1) {
      this.#refresh();
      return false;
    }
    if (!at && this.state === "attaching") return false; // the document on its way holds it
    if (at && whole && whole.prefix !== at.prefix && this.run) {
      this.#emit("takeover", { run: this.run.run, seq, node: f.node });
    }
    this.cursor = { prefix: whole?.prefix ?? at?.prefix ?? "", seq };
    if (!whole && !at) this.cursor = null;
    return true;
  }

  #started(f) {
    if (!this.#cut(f.keep, f.turn)) return;
    this.rows = [...this.rows, ...(f.rows ?? [])];
    this.#nameVariants(f.turn, f.rows?.[0]?.variants);
    this.total = this.earlier.length + this.rows.length;
    this.revision = null;
    this.run = newRun(f.run, f.turn, { ...f, started_at: f.at });
    if (f.node) this.owner = f.node;
    this.outcomes.delete(f.turn);
    for (const [key, p] of this.pending) {
      if (p.run === f.run) this.pending.delete(key);
    }
    if (this.state === "absent") this.#live(this.cursor);
    this.#emit("started", { run: f.run, turn: f.turn, seq: f.seq, node: f.node });
    this.#changed("started");
  }

  /** cut keeps the rows up to keep; what goes from this turn is remembered as a variant. False: keep is not known here. */
  #cut(keep, turn) {
    const at = keep ? this.rows.findIndex((r) => r.id === keep) : -1;
    if (keep && at < 0) {
      const above = this.earlier.findIndex((r) => r.id === keep);
      if (above < 0) {
        this.#refresh();
        return false;
      }
      this.earlier = this.earlier.slice(0, above + 1);
    }
    if (!keep) this.earlier = [];
    this.#remember(turn, this.rows.slice(at + 1));
    this.rows = this.rows.slice(0, at + 1);
    return true;
  }

  #remember(turn, gone) {
    const rows = gone.filter((r) => r.turn === turn && r.role !== "user");
    if (!rows.some((r) => !r.error)) return;
    const list = this.variants.get(turn) ?? [];
    if (list.some((v) => v.rows[0].id === rows[0].id)) return;
    this.variants.set(turn, [...list, { id: null, at: Date.now(), rows, outcome: this.outcomes.get(turn) }]);
  }

  /** nameVariants gives the newest nameless variant the newest id that no other has, and forgets what became current again. */
  #nameVariants(turn, ids) {
    let list = this.variants.get(turn);
    if (!list) return;
    const current = new Set(this.rows.filter((r) => r.turn === turn).map((r) => r.id));
    list = list.filter((v) => !v.rows.some((r) => current.has(r.id)));
    const free = (ids ?? []).filter((id) => !list.some((v) => v.id === id));
    for (const v of [...list].reverse()) if (!v.id) v.id = free.pop() ?? null;
    this.variants.set(turn, list);
  }

  #delta(f) {
    if (this.run?.run !== f.run) this.run = newRun(f.run, null, {});
    const first = !this.run.text && !this.run.reasoning && this.run.tools.length === 0;
    if (f.kind === "reasoning") this.run.reasoning += f.text;
    else if (f.kind === "tool") this.run.tools = [...this.run.tools, f.text];
    else this.run.text += f.text;
    if (first) this.#emit("first", { run: f.run, seq: f.from ?? f.seq });
    this.#emit("delta", { run: f.run, kind: f.kind, seq: f.seq });
  }

  #settled(f) {
    const turn = f.turn ?? f.rows?.[0]?.turn ?? this.run?.turn;
    const at = this.rows.findIndex((r) => r.turn === turn);
    this.rows = [...(at < 0 ? this.rows : this.rows.slice(0, at)), ...(f.rows ?? [])];
    this.total = Math.max(this.total, this.rows.length);
    this.revision = f.revision ?? null;
    this.outcomes.set(turn, f.outcome);
    this.#nameVariants(turn, f.variants ?? f.rows?.[0]?.variants);
    if (f.node) this.owner = f.node;
    if (this.run?.run === f.run) this.run = null;
    if (this.stopping === f.run) this.stopping = null;
    for (const [key, p] of this.pending) if (p.run === f.run) this.pending.delete(key);
    this.#emit("settled", { run: f.run, turn, seq: f.seq, outcome: f.outcome, rows: f.rows ?? [], node: f.node });
    this.#changed("settled");
  }

  #session(f) {
    if (f.change === "title") this.title = f.title ?? "";
    if (f.change === "rows") {
      const turn = f.rows?.find((r) => r.role === "user")?.turn ?? this.rows.at(-1)?.turn;
      if (!this.#cut(f.keep, turn)) return;
      this.rows = [...this.rows, ...(f.rows ?? [])];
      this.total = this.earlier.length + this.rows.length;
      this.revision = f.revision ?? null;
      this.#nameVariants(turn, this.rows.find((r) => r.turn === turn && r.role === "user")?.variants);
    }
    for (const [key, p] of this.pending) if (p.op === "select") this.pending.delete(key);
    this.#changed("session");
  }

  #changed(why) {
    this.#emit("change", { why });
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

function newRun(run, turn, f) {
  return { run, turn, startedAt: f.started_at ?? null, node: f.node ?? "", model: f.model ?? "", text: "", reasoning: "", tools: [] };
}
