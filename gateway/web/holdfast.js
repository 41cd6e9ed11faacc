// holdfast.js speaks the protocol holdfast.v1 and knows no page.
//
// What holds. One socket carries any number of sessions. A command that got no answer is sent again with the same key on the next
// socket, so it happens once. A session goes on at its cursor: no event is applied twice and none is left out; where that cannot be,
// the session's document is read anew. Whether to come back after a close is decided by the range of its code: 4500–4999 end the
// client, everything else comes back.
//
// Events of a Holdfast (CustomEvent, see detail): "state" {state, code, reason, retryInMs}, "degraded" {on}, "goaway" {inMs},
// "hello" {…}. States: idle, connecting, open, waiting, ended (the server said: do not come back), closed (by us).

import { Session } from "./session.js";
import { backoff, cleanAll } from "./words.js";

export { Session } from "./session.js";
export { backoff, clean, newKey, parseCursor, textOf } from "./words.js";

export const SUBPROTOCOL = "holdfast.v1";

/** CommandError is a refusal. code, status, retryable and run are the server's words. */
export class CommandError extends Error {
  constructor(error = {}) {
    super(error.message || error.code || "refused");
    this.name = "CommandError";
    this.code = error.code || "internal";
    this.status = error.status || 0;
    this.retryable = Boolean(error.retryable);
    this.run = error.run;
  }
}

const DEFAULTS = {
  pingMs: 20_000, // the server speaks at least this often
  slackMs: 5_000, // how much later than that is a silence
  probeMs: 5_000, // how long a probe may stay unanswered
  connectMs: 10_000, // how long a handshake may take
  baseMs: 500,
  capMs: 20_000,
  stableMs: 5_000, // a socket that lived so long resets the back-off
  hintCapMs: 600_000,
  tries: 5, // how often a command that the server calls retryable is sent
  maxFrame: 4 << 20,
};

/** comesBack says whether a close code asks the client to come back. */
export function comesBack(code) {
  return !(code >= 4500 && code <= 4999);
}

/** Holdfast is one connection that renews itself. */
export class Holdfast extends EventTarget {
  #ws = null;
  #timers = new Map();
  #open = new Map(); // unanswered commands by id, in the order in which they were given
  #nextId = 1;
  #attempt = 0;
  #openedAt = 0;
  #seenAt = 0;
  #hintAt = null; // when the server asked us to come back, on our own clock
  #leaving = false;
  #sessions = new Map();
  #unwatch = [];

  /** state is the state's word; info is the last hello's answer. */
  state = "idle";
  info = {};
  degraded = false;

  /**
   * options: url (string or function), token (string or function, may be async), WebSocket, and for tests random, now, and any of
   * the times above.
   */
  constructor(options = {}) {
    super();
    this.o = { WebSocket: globalThis.WebSocket, random: Math.random, now: () => performance.now(), ...DEFAULTS, ...options };
  }

  /** connect opens the connection and keeps it up; calling it again is harmless. */
  connect() {
    if (this.state === "connecting" || this.state === "open") return;
    this.#clear("retry");
    this.#dial();
  }

  /** retry connects now instead of at the end of the wait, also after an end. */
  retry() {
    if (this.state === "closed") return;
    this.#hintAt = null;
    this.connect();
  }

  /** close ends the client for good. What was not answered is rejected. */
  close() {
    this.#unwatch.splice(0).forEach((f) => f());
    this.#unhook(1000, "done");
    this.#clear();
    this.#set("closed");
    this.#rejectAll("closed", "the connection was closed");
  }

  /** drop cuts the socket as a network would, and comes back after holdMs (else after the usual back-off). */
  drop(holdMs) {
    if (this.#ws) this.#lost({ code: 1006, reason: "dropped by hand", delay: holdMs });
  }

  /** probe finds out at once whether the connection still works: after sleep, a change of network, a return to the tab. */
  probe() {
    if (this.state === "waiting" && this.#hintAt === null) this.connect();
    if (this.state !== "open" || this.#timers.has("probe")) return;
    this.#send({ id: this.#nextId++, op: "ping" });
    // Whatever is received ends the probe.
    this.#after("probe", this.o.probeMs, () => this.#lost({ code: 1006, reason: "silence" }));
  }

  /** watch probes when the network or the page comes back. target is a window, page its document. */
  watch(target, page) {
    const probe = () => this.probe();
    const visible = () => page.visibilityState !== "hidden" && this.probe();
    const on = (t, name, f) => {
      t.addEventListener(name, f);
      this.#unwatch.push(() => t.removeEventListener(name, f));
    };
    on(target, "online", probe);
    on(target, "pageshow", probe);
    if (page) on(page, "visibilitychange", visible);
  }

  /** session gives the session with this id; the same object each time. It is attached when attach is called or by its first send. */
  session(id) {
    let s = this.#sessions.get(id);
    if (!s) this.#sessions.set(id, (s = new Session(this, id)));
    return s;
  }

  /** forget detaches a session and drops what this client knows of it. */
  forget(id) {
    const s = this.#sessions.get(id);
    if (!s) return;
    this.#sessions.delete(id);
    if (s.wanted) this.tell({ op: "detach", session: id });
  }

  /** request sends a command until it has an answer; it resolves with ok or rejects with a CommandError. */
  request(command) {
    return new Promise((resolve, reject) => {
      if (this.state === "closed" || this.state === "ended") {
        reject(new CommandError({ code: "closed", message: "not connected", retryable: true }));
        return;
      }
      const entry = { id: this.#nextId++, command: cleanAll(command), resolve, reject, tries: 0, size: 0 };
      if (this.#size(entry) > this.#maxFrame) {
        reject(new CommandError({ code: "too_large", status: 413, message: "This message is too large to send." }));
        return;
      }
      this.#open.set(entry.id, entry);
      this.#transmit(entry);
    });
  }

  /** tell sends a command that is worth nothing on a later socket, such as attach; answer may be left out. */
  tell(command, answer) {
    if (this.state !== "open") return false;
    const id = this.#nextId++;
    if (answer) this.#open.set(id, { id, once: true, resolve: (ok) => answer(null, ok), reject: (e) => answer(e) });
    this.#send({ id, ...cleanAll(command) });
    return true;
  }

  // ---- the socket

  #dial() {
    this.#hintAt = null;
    this.#set("connecting");
    let ws;
    try {
      const url = typeof this.o.url === "function" ? this.o.url() : this.o.url;
      ws = new this.o.WebSocket(url, [SUBPROTOCOL]);
    } catch (e) {
      this.#lost({ code: 1006, reason: String(e?.message || e) });
      return;
    }
    this.#ws = ws;
    this.#after("connect", this.o.connectMs, () => this.#lost({ code: 1006, reason: "the handshake took too long" }));
    ws.onopen = () => ws === this.#ws && this.#opened();
    ws.onmessage = (m) => ws === this.#ws && this.#received(m.data);
    ws.onclose = (c) => ws === this.#ws && this.#lost({ code: c.code, reason: c.reason, closed: true });
    ws.onerror = () => {};
  }

  async #opened() {
    this.#clear("connect");
    const ws = this.#ws;
    this.#openedAt = this.#seenAt = this.o.now();
    const token = typeof this.o.token === "function" ? await this.o.token() : this.o.token;
    if (ws !== this.#ws) return;
    this.#set("open");
    this.#silence();
    const hello = { op: "hello", protocol: 1, ...(token ? { token } : {}) };
    this.tell(hello, (err, ok) => {
      if (err) return;
      this.info = ok || {};
      this.#emit("hello", this.info);
    });
    for (const s of this.#sessions.values()) if (s.wanted) s.resume();
    for (const entry of [...this.#open.values()]) if (!entry.once && !this.#timers.has(entry)) this.#transmit(entry);
  }

  /** lost ends this socket and decides what follows. */
  #lost({ code = 1006, reason = "", delay, closed = false }) {
    const lived = this.#openedAt ? this.o.now() - this.#openedAt : 0;
    if (lived >= this.o.stableMs) this.#attempt = 0;
    this.#openedAt = 0;
    this.#leaving = false;
    this.#unhook(undefined, undefined, closed);
    for (const name of ["connect", "probe", "silence", "goaway"]) this.#clear(name);
    for (const [id, e] of this.#open) if (e.once) this.#open.delete(id);
    this.#refuseOversize(code);
    if (!comesBack(code)) {
      this.#set("ended", { code, reason });
      this.#rejectAll("closed", reason || `the server closed the connection (${code})`);
      return;
    }
    let wait = delay ?? backoff(this.#attempt, this.o.baseMs, this.o.capMs, this.o.random);
    if (this.#hintAt !== null) wait = Math.max(0, this.#hintAt - this.o.now());
    this.#attempt++;
    this.#set("waiting", { code, reason, retryInMs: wait });
    for (const s of this.#sessions.values()) s.offline();
    this.#after("retry", wait, () => this.#dial());
  }

  /** refuseOversize gives up the largest unanswered command after a 1009 or 1007: sent again it would end the next socket too. */
  #refuseOversize(code) {
    if (code !== 1009 && code !== 1007) return;
    let worst = null;
    for (const e of this.#open.values()) if (e.sent && (!worst || e.size > worst.size)) worst = e;
    if (!worst) return;
    this.#open.delete(worst.id);
    worst.reject(new CommandError({ code: code === 1009 ? "too_large" : "bad_request", message: "The server refused this message." }));
  }

  #unhook(code, reason, closed = false) {
    const ws = this.#ws;
    this.#ws = null;
    if (!ws || closed) return;
    ws.onopen = ws.onmessage = ws.onclose = null;
    try {
      ws.close(code, reason);
    } catch {
      // it was not open yet
    }
  }

  #send(frame) {
    try {
      this.#ws?.send(JSON.stringify(frame));
    } catch {
      // a socket that fails here also closes
    }
  }

  #transmit(entry) {
    if (this.state !== "open") return;
    entry.sent = true;
    this.#send({ id: entry.id, ...entry.command });
  }

  get #maxFrame() {
    return this.info.limits?.max_frame || this.o.maxFrame;
  }

  #size(entry) {
    const text = JSON.stringify({ id: entry.id, ...entry.command });
    entry.size = text.length * 3 <= this.#maxFrame ? text.length : new TextEncoder().encode(text).length;
    return entry.size;
  }

  // ---- what comes in

  #received(data) {
    this.#seenAt = this.o.now();
    this.#clear("probe");
    if (typeof data !== "string") return;
    for (const line of data.split("\n")) {
      if (!line.trim()) continue;
      let frame;
      try {
        frame = JSON.parse(line);
      } catch {
        this.#lost({ code: 1006, reason: "an unreadable frame" });
        return;
      }
      this.#frame(frame);
    }
    this.#leave();
  }

  #frame(f) {
    if (f.re !== undefined && f.re !== null) return this.#answered(f);
    switch (f.event) {
      case "ping":
        return;
      case "degraded":
        if (!f.session) this.degraded = Boolean(f.on);
        return this.#emit("degraded", { on: Boolean(f.on), session: f.session });
      case "goaway":
        return this.#goaway(f);
      default:
        this.#sessions.get(f.session)?.event(f);
    }
  }

  #goaway(f) {
    const ms = Math.min(Math.max(0, Number(f.reconnect_in_ms) || 0), this.o.hintCapMs);
    this.#hintAt = this.o.now() + ms;
    this.#emit("goaway", { inMs: ms });
    this.#after("goaway", ms, () => {
      this.#leaving = true;
      this.#leave();
    });
  }

  /** leave goes where the server asked us to go, but not in the middle of an answer: a draining node keeps its socket until then. */
  #leave() {
    if (!this.#leaving || [...this.#sessions.values()].some((s) => s.wanted && s.busy)) return;
    this.#lost({ code: 1012, reason: "the server asked us to move" });
  }

  #answered(f) {
    const entry = this.#open.get(f.re);
    if (!entry) return;
    if (!f.error) {
      this.#open.delete(f.re);
      entry.resolve(f.ok ?? {});
      return;
    }
    const error = new CommandError(f.error);
    const again = !entry.once && error.retryable && (error.code === "unavailable" || error.code === "timeout");
    if (again && ++entry.tries < this.o.tries) {
      this.#after(entry, this.#retryWait(entry.tries), () => this.#transmit(entry));
      return;
    }
    this.#open.delete(f.re);
    entry.reject(error);
  }

  #retryWait(tries) {
    return 50 + backoff(tries, this.o.baseMs / 2, this.o.capMs / 4, this.o.random);
  }

  #rejectAll(code, message) {
    const all = [...this.#open.values()];
    this.#open.clear();
    for (const e of all) e.reject(new CommandError({ code, message, retryable: true }));
  }

  // ---- time

  /** silence watches for a server that says nothing: one timer that looks back, not one per frame. */
  #silence() {
    const limit = (this.info.ping_ms || this.o.pingMs) + this.o.slackMs;
    const left = limit - (this.o.now() - this.#seenAt);
    if (left <= 0) this.probe();
    this.#after("silence", left <= 0 ? limit : left, () => this.#silence());
  }

  #after(name, ms, f) {
    this.#clear(name);
    this.#timers.set(name, setTimeout(() => {
      this.#timers.delete(name);
      f();
    }, ms));
  }

  #clear(name) {
    if (name === undefined) {
      for (const t of this.#timers.values()) clearTimeout(t);
      this.#timers.clear();
      return;
    }
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }

  #set(state, detail = {}) {
    this.state = state;
    this.#emit("state", { state, ...detail });
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
