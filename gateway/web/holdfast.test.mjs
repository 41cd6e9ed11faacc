// What holdfast.js promises, against a socket that the test plays. Run: node --test gateway/web
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { backoff, clean, comesBack, CommandError, Holdfast, newKey, parseCursor } from "./holdfast.js";
import { follow, Timeline } from "./timeline.js";
import { endOf, endText, shortTitle, turnsOf } from "./turns.js";

const INC = "00ff.17";
let sockets, clients;

class FakeSocket {
  constructor(url, protocols) {
    Object.assign(this, { url, protocols, sent: [], closed: null });
    sockets.push(this);
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close(code, reason) {
    this.closed = { code, reason };
  }
  // the server's side
  async accept() {
    this.onopen?.();
    await settle();
    return this;
  }
  tell(...frames) {
    this.onmessage?.({ data: frames.map((f) => JSON.stringify(f)).join("\n") });
    return settle();
  }
  cut(code = 1006, reason = "") {
    this.onclose?.({ code, reason });
    return settle();
  }
  of(op) {
    return this.sent.filter((f) => f.op === op);
  }
  ok(op, ok, i = -1) {
    return this.tell({ re: this.of(op).at(i).id, ok });
  }
  refuse(op, error) {
    return this.tell({ re: this.of(op).at(-1).id, error });
  }
}

/** settle lets promises run; the clock is the test's. */
const settle = async () => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};
const pass = async (ms) => {
  mock.timers.tick(ms);
  await settle();
};
const last = () => sockets.at(-1);

function newClient(options = {}) {
  const c = new Holdfast({ url: "ws://here/v1/ws", WebSocket: FakeSocket, random: () => 1, now: () => Date.now(), ...options });
  clients.push(c);
  return c;
}

/** live gives a client whose session s1 has this document. */
async function live(document = {}, more = {}) {
  const client = newClient();
  const s = client.session("s1");
  s.attach();
  client.connect();
  await last().accept();
  await last().ok("hello", { protocol: 1, ops: ["send", "regenerate", "cancel"] });
  await last().ok("attach", { session: "s1", document: { rows: [], total: 0, ...document }, run: null, cursor: `${INC}:10`, ...more });
  return { client, s };
}

const user = (id, turn, content = "hi", more = {}) => ({ id, turn, role: "user", content, at: 1, ...more });
const answer = (id, turn, content, more = {}) => ({ id, turn, role: "assistant", content, at: 2, ...more });
const started = (seq, run, turn, keep, rows) => ({ event: "started", session: "s1", seq, run, turn, keep, rows, cursor: `${INC}:${seq}` });
const delta = (seq, run, text, more = {}) => ({ event: "delta", session: "s1", seq, run, kind: "text", text, ...more });
const settled = (seq, run, outcome, rows, more = {}) => ({ event: "settled", session: "s1", seq, run, outcome, rows, cursor: `${INC}:${seq}`, ...more });

beforeEach(() => {
  clients?.forEach((c) => c.close());
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  sockets = [];
  clients = [];
});

// ---- connecting and coming back

test("it offers the subprotocol, says hello and attaches without waiting for answers", async () => {
  const client = newClient({ token: async () => "t0" });
  client.session("s1").attach();
  client.session("s2").attach();
  client.connect();
  await last().accept();
  assert.deepEqual(last().protocols, ["holdfast.v1"]);
  assert.deepEqual(last().sent.map((f) => [f.op, f.session ?? f.token]), [["hello", "t0"], ["attach", "s1"], ["attach", "s2"]]);
});

test("back-off is exponential with full jitter, from half a second to twenty", () => {
  assert.deepEqual([0, 1, 2, 5, 6, 60].map((n) => backoff(n, 500, 20_000, () => 1)), [500, 1000, 2000, 16_000, 20_000, 20_000]);
  assert.equal(backoff(6, 500, 20_000, () => 0), 0);
});

test("each failed attempt waits longer, and a connection that lived resets that", async () => {
  const client = newClient();
  const waits = [];
  client.addEventListener("state", (e) => e.detail.state === "waiting" && waits.push(e.detail.retryInMs));
  client.connect();
  for (const ms of [500, 1000, 2000]) {
    await last().cut();
    await pass(ms);
  }
  await last().accept();
  await pass(6000);
  await last().cut();
  assert.deepEqual(waits, [500, 1000, 2000, 500]);
  assert.equal(sockets.length, 4);
});

test("a connection that dies young does not reset the back-off", async () => {
  const client = newClient();
  client.connect();
  await last().cut();
  await pass(500);
  await last().accept();
  let wait;
  client.addEventListener("state", (e) => (wait = e.detail.retryInMs));
  await last().cut();
  assert.equal(wait, 1000);
});

test("the range of the close code decides whether it comes back", async () => {
  assert.deepEqual([1000, 1006, 1012, 4000, 4003, 4499].map(comesBack), Array(6).fill(true));
  assert.deepEqual([4500, 4501, 4999].map(comesBack), [false, false, false]);
  const client = newClient();
  client.connect();
  await last().accept();
  await last().cut(4502, "forbidden");
  await pass(60_000);
  assert.equal(client.state, "ended");
  assert.equal(sockets.length, 1);
  await assert.rejects(client.request({ op: "send" }), CommandError);
  client.retry();
  assert.equal(sockets.length, 2);
});

test("the server's hint wins over the formula", async () => {
  const client = newClient({ random: () => 0 });
  client.connect();
  await last().accept();
  await last().tell({ event: "goaway", reconnect_in_ms: 1200 });
  let wait;
  client.addEventListener("state", (e) => (wait = e.detail.retryInMs));
  await pass(200);
  await last().cut(4000, "draining");
  assert.equal(wait, 1000);
  await pass(999);
  assert.equal(sockets.length, 1);
  await pass(1);
  assert.equal(sockets.length, 2);
});

test("a goaway in the middle of an answer is followed when the answer has ended", async () => {
  const { client } = await live();
  await last().tell(started(11, "r1", "t1", null, [user("u1", "t1")]));
  await last().tell({ event: "goaway", reconnect_in_ms: 100 });
  await pass(5000);
  assert.equal(sockets.length, 1);
  await last().tell(delta(12, "r1", "a"), settled(13, "r1", "completed", [user("u1", "t1"), answer("a1", "t1", "a")], { revision: "v" }));
  assert.equal(client.state, "waiting");
  await pass(0);
  assert.equal(sockets.length, 2);
});

test("a drop by hand cuts the socket and resumes at the cursor", async () => {
  const { client, s } = await live();
  await last().tell(started(11, "r1", "t1", null, [user("u1", "t1")]), delta(12, "r1", "Hal"));
  client.drop(1500);
  assert.ok(sockets[0].closed);
  await sockets[0].tell(delta(13, "r1", "ghost")); // the dead socket may say what it likes
  await pass(1500);
  await last().accept();
  assert.equal(last().of("attach")[0].cursor, `${INC}:12`);
  await last().ok("attach", { session: "s1", run: { run: "r1", turn: "t1" }, cursor: `${INC}:12` });
  await last().tell(delta(14, "r1", "lo", { from: 13 }));
  assert.equal(s.run.text, "Hallo");
  assert.equal(s.cursor.seq, 14);
});

test("silence is probed after the ping interval and slack, and a silent server is left", async () => {
  const client = newClient();
  client.connect();
  await last().accept();
  await pass(25_000);
  assert.equal(last().of("ping").length, 1);
  await last().tell({ event: "ping" });
  await pass(5_000);
  assert.equal(client.state, "open");
  await pass(20_000);
  assert.equal(last().of("ping").length, 2);
  await pass(5_000);
  assert.equal(client.state, "waiting");
});

test("traffic alone keeps it quiet", async () => {
  const client = newClient();
  client.connect();
  await last().accept();
  for (let i = 0; i < 10; i++) {
    await pass(20_000);
    await last().tell({ event: "ping" });
  }
  assert.equal(last().of("ping").length, 0);
});

test("a page or a network that comes back is probed at once", async () => {
  const client = newClient();
  const target = new EventTarget();
  const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
  client.watch(target, page);
  client.connect();
  await last().accept();
  target.dispatchEvent(new Event("online"));
  assert.equal(last().of("ping").length, 1);
  await pass(5000); // no answer: half open
  assert.equal(client.state, "waiting");
  page.dispatchEvent(new Event("visibilitychange"));
  assert.equal(client.state, "connecting");
  client.close();
  target.dispatchEvent(new Event("online"));
  assert.equal(sockets.length, 2);
});

test("a handshake that hangs is given up", async () => {
  const client = newClient();
  client.connect();
  await pass(10_000);
  assert.equal(client.state, "waiting");
});

// ---- commands

// case: FC08
test("a command without an answer is sent again with the same key, and its repeat is one turn", async () => {
  const { s } = await live();
  const sent = s.send("hi");
  const key = last().of("send")[0].key;
  await last().cut();
  await pass(500);
  await last().accept();
  assert.deepEqual(last().sent.map((f) => f.op), ["hello", "attach", "send"]);
  assert.equal(last().of("send")[0].key, key);
  await last().ok("attach", {
    session: "s1", document: { rows: [user("u1", "t1", "hi", { run: "r1" }), answer("a1", "t1", "yes", { run: "r1" })], total: 2, revision: "v" }, run: null, cursor: `${INC}:14`,
  });
  await last().ok("send", { session: "s1", turn: "t1", run: "r1", cursor: `${INC}:10`, repeat: true });
  assert.equal((await sent).repeat, true);
  assert.equal(s.rows.length, 2);
  assert.equal(s.busy, false);
  assert.equal(s.cursor.seq, 14);
});

test("an answered command is never sent again", async () => {
  const { s } = await live();
  s.send("hi");
  await last().ok("send", { session: "s1", turn: "t1", run: "r1", cursor: `${INC}:10`, repeat: false });
  await last().cut();
  await pass(500);
  await last().accept();
  assert.equal(last().of("send").length, 0);
});

test("what the server cannot do now is tried again with the same key, then told", async () => {
  const { s } = await live();
  const sent = s.send("hi");
  for (let i = 0; i < 5; i++) {
    await last().refuse("send", { code: "unavailable", status: 503, message: "not now", retryable: true });
    await pass(10_000);
  }
  await assert.rejects(sent, { code: "unavailable" });
  const keys = last().of("send").map((f) => f.key);
  assert.equal(keys.length, 5);
  assert.equal(new Set(keys).size, 1);
});

test("a message that ends the socket is not sent to the next one", async () => {
  const { s } = await live();
  const big = s.send("x".repeat(5000));
  await last().cut(1009, "too big");
  await assert.rejects(big, { code: "too_large" });
  await pass(500);
  await last().accept();
  assert.equal(last().of("send").length, 0);
});

test("a message above the server's limit is refused before it is sent", async () => {
  const client = newClient();
  client.connect();
  await last().accept();
  await last().ok("hello", { limits: { max_frame: 100 } });
  await assert.rejects(client.request({ op: "send", content: "é".repeat(60) }), { code: "too_large" });
  assert.equal(last().of("send").length, 0);
});

test("text is cleaned of NUL and halves of surrogate pairs", () => {
  assert.equal(clean("a\u0000b\ud800c\udc00d😀"), "ab\ufffdc\ufffdd😀");
});

test("keys are fresh UUIDs, also without a secure context", () => {
  const form = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const poor = { getRandomValues: (b) => crypto.getRandomValues(b) };
  for (const source of [globalThis.crypto, poor, undefined]) {
    assert.match(newKey(source ?? {}), form);
    assert.notEqual(newKey(source ?? {}), newKey(source ?? {}));
  }
});

test("cursors: the prefix is opaque", () => {
  assert.deepEqual(parseCursor("a:b.7:42"), { prefix: "a:b.7", seq: 42 });
  assert.equal(parseCursor("nothing"), null);
});

// ---- a session

test("a send shows at once, streams, and settles into the server's rows", async () => {
  const { s } = await live();
  s.send("hi");
  assert.equal(turnsOf(s)[0].pending.content, "hi");
  await last().ok("send", { session: "s1", turn: "t1", run: "r1", cursor: `${INC}:10`, repeat: false });
  await last().tell(started(11, "r1", "t1", null, [user("u1", "t1", "hi", { run: "r1" })]), delta(12, "r1", "Hel"), delta(14, "r1", "lo", { from: 13 }));
  assert.deepEqual(turnsOf(s).map((t) => [t.pending, t.run?.text]), [[undefined, "Hello"]]);
  await last().tell(settled(15, "r1", "completed", [user("u1", "t1"), answer("a1", "t1", "Hello", { run: "r1" })], { revision: "v2" }));
  assert.equal(s.revision, "v2");
  assert.equal(s.canRegenerate, true);
  assert.equal(s.rows[1].content, "Hello");
});

// case: FC36
test("an event that comes twice is applied once, and a hole is read anew", async () => {
  const { s } = await live();
  const first = [started(11, "r1", "t1", null, [user("u1", "t1")]), delta(12, "r1", "a")];
  await last().tell(...first, ...first);
  assert.equal(s.run.text, "a");
  assert.equal(s.rows.length, 1);
  await last().tell(delta(14, "r1", "c"));
  assert.equal(s.run.text, "a");
  assert.equal(last().of("attach").length, 2);
  assert.equal(last().of("attach")[1].cursor, undefined);
  await last().tell(delta(15, "r1", "d")); // void: the document will hold it
  await last().ok("attach", { session: "s1", document: { rows: [user("u1", "t1")], total: 1 }, run: { run: "r1", turn: "t1" }, cursor: `${INC}:11` });
  await last().tell(delta(15, "r1", "abcd", { from: 12 }));
  assert.equal(s.run.text, "abcd");
});

test("a reload in the middle of an answer attaches without a cursor and has the text in the next deltas", async () => {
  const { s } = await live({ rows: [user("u1", "t1")], total: 1 }, { run: { run: "r1", turn: "t1", node: "n1" }, cursor: `${INC}:11` });
  assert.equal(last().of("attach")[0].cursor, undefined);
  assert.equal(s.run.text, "");
  await last().tell(delta(40, "r1", "all so far", { from: 12 }));
  assert.equal(s.run.text, "all so far");
  assert.equal(s.owner, "n1");
});

test("a reset replaces everything with its document", async () => {
  const { s } = await live({ rows: [user("u1", "t1")], total: 1 });
  await last().tell({ event: "reset", session: "s1", document: { rows: [user("u9", "t9")], total: 1, revision: "v9" }, run: null, cursor: "other.1:3" });
  assert.deepEqual([s.rows[0].id, s.revision, s.cursor], ["u9", "v9", { prefix: "other.1", seq: 3 }]);
});

test("a change of epoch in the middle of a run is a take-over", async () => {
  const { s } = await live();
  const seen = [];
  s.addEventListener("takeover", (e) => seen.push(e.detail));
  await last().tell(started(11, "r1", "t1", null, [user("u1", "t1")]), delta(12, "r1", "a"));
  await last().tell(settled(13, "r1", "interrupted", [user("u1", "t1"), answer("a1", "t1", "a", { partial: true }), answer("e1", "t1", "", { error: true, interrupted: "owner_lost" })], { cursor: "00ff.18:13", node: "n2" }));
  assert.equal(seen.length, 1);
  assert.equal(s.owner, "n2");
  assert.deepEqual(s.cursor, { prefix: "00ff.18", seq: 13 });
});

const exchange = { rows: [user("u1", "t1"), answer("a1", "t1", "old", { run: "r0" })], total: 2, revision: "v1" };

// contract: F8
test("a regenerate takes the old answer away at once, and a refusal gives it back", async () => {
  const { s } = await live(exchange);
  const asked = s.regenerate();
  assert.deepEqual(Object.keys(last().of("regenerate")[0]).sort(), ["id", "key", "op", "revision", "session"]);
  assert.deepEqual(turnsOf(s)[0].rows.map((r) => r.id), ["u1"]);
  await last().refuse("regenerate", { code: "stale_regeneration_revision", status: 409, message: "stale", retryable: false });
  await assert.rejects(asked, { code: "stale_regeneration_revision" });
  assert.deepEqual(turnsOf(s)[0].rows.map((r) => r.id), ["u1", "a1"]);
  assert.equal(last().of("attach").length, 2); // and it reads how things stand
});

// case: FC01
test("a regenerate keeps one prompt and makes a variant of the old answer, in every tab", async () => {
  const { s } = await live(exchange);
  const again = user("u1", "t1", "hi", { run: "r1", variants: ["x1"] });
  await last().tell(started(11, "r1", "t1", null, [again])); // another tab asked
  assert.deepEqual(s.rows.map((r) => r.id), ["u1"]);
  await last().tell(delta(12, "r1", "new"), settled(13, "r1", "completed", [again, answer("a2", "t1", "new")], { revision: "v2", variants: ["x1"] }));
  const [turn] = turnsOf(s);
  assert.deepEqual(turn.variants.map((v) => [v.id, v.rows[0].content]), [["x1", "old"]]);
  assert.equal(turn.storedVariants, 0);
});

test("an attempt that left nothing but its error is no variant", async () => {
  const { s } = await live({ rows: [user("u1", "t1"), answer("e1", "t1", "no", { error: true })], total: 2, revision: "v" });
  await last().tell(started(11, "r1", "t1", null, [user("u1", "t1")]));
  assert.deepEqual(turnsOf(s)[0].variants, []);
});

// contract: F9
test("without a revision nothing can be regenerated", async () => {
  const { s } = await live({ ...exchange, revision: undefined });
  assert.equal(s.canRegenerate, false);
  await last().tell({ event: "session", session: "s1", seq: 11, change: "rows", keep: "u1", rows: [answer("a3", "t1", "x")], revision: "v3" });
  assert.equal(s.revision, "v3");
  assert.deepEqual(s.rows.map((r) => r.id), ["u1", "a3"]);
});

// contract: F10
test("a stop names the run, keeps the text coming, and ends with the settled event", async () => {
  const { s } = await live();
  await last().tell(started(11, "r1", "t1", null, [user("u1", "t1")]), delta(12, "r1", "par"));
  s.stop();
  assert.equal(last().of("cancel")[0].run, "r1");
  await last().ok("cancel", { run: "r1", cancel: "accepted", seq: 12 });
  assert.equal(s.run.run, "r1");
  await last().tell(delta(13, "r1", "t"));
  assert.equal(s.run.text, "part");
  await last().tell(settled(14, "r1", "cancelled", [user("u1", "t1"), answer("a1", "t1", "part", { partial: true }), answer("e1", "t1", "The answer was stopped.", { error: true })]));
  assert.equal(s.run, null);
  assert.equal(s.stopping, null);
  assert.equal(endOf(turnsOf(s)[0]).kind, "cancelled");
});

// case: FC52
test("a stop before the receipt names the command's key", async () => {
  const { s } = await live();
  s.send("hi");
  s.stop();
  assert.equal(last().of("cancel")[0].of, last().of("send")[0].key);
  await last().ok("send", { session: "s1", turn: "t1", run: "r1", cursor: `${INC}:10`, repeat: false });
  assert.equal(s.stopping, "r1");
});

test("a stop that finds no run changes nothing", async () => {
  const { s } = await live();
  await last().tell(started(11, "r1", "t1", null, [user("u1", "t1")]));
  s.stop();
  await last().ok("cancel", { run: null, cancel: "unknown", seq: 11 });
  assert.equal(s.stopping, null);
  assert.equal(s.run.run, "r1");
});

test("the first send makes the session and follows it from just before its start", async () => {
  const client = newClient();
  const s = client.session("s1");
  s.attach();
  client.connect();
  await last().accept();
  await last().refuse("attach", { code: "not_found", status: 404, message: "no such session", retryable: false });
  assert.equal(s.state, "absent");
  s.send("hi");
  await last().ok("send", { session: "s1", turn: "t1", run: "r1", cursor: `${INC}:0`, repeat: false });
  assert.equal(s.state, "live");
  await last().tell(started(1, "r1", "t1", null, [user("u1", "t1")]), delta(2, "r1", "x"));
  assert.equal(s.run.text, "x");
  assert.equal(last().of("attach").length, 1);
});

// contract: F11
test("sessions on one socket do not touch each other", async () => {
  const { client, s } = await live();
  const other = client.session("s2");
  other.attach();
  await last().ok("attach", { session: "s2", document: { rows: [], total: 0 }, run: null, cursor: `${INC}:5` });
  await last().tell({ ...started(6, "r9", "t9", null, [user("u9", "t9")]), session: "s2" }, { ...delta(7, "r9", "two"), session: "s2" });
  assert.equal(other.run.text, "two");
  assert.equal(s.run, null);
  assert.equal(s.cursor.seq, 10);
  client.forget("s2");
  assert.equal(last().of("detach")[0].session, "s2");
  await last().tell({ ...delta(8, "r9", "?"), session: "s2" });
});

// ---- what a page makes of it

test("ends are told in words, also after a reload", () => {
  const ends = (rows) => endOf({ rows });
  const text = answer("a", "t", "half", { partial: true });
  assert.equal(ends([user("u", "t"), answer("a", "t", "all")]), null);
  assert.equal(ends([text, answer("e", "t", "The answer was stopped.", { error: true })]).title, "Stopped");
  assert.equal(ends([answer("e", "t", "Too much to do.", { error: true })]).message, "Too much to do.");
  const lost = ends([text, answer("e", "t", "The answer was interrupted.", { error: true, interrupted: "owner_lost" })]);
  assert.match(endText(lost), /node .* lost\. What was said is kept\./);
});

// case: FC10
test("equal prompts are different turns", async () => {
  const { s } = await live({ rows: [user("u1", "t1"), answer("a1", "t1", "x"), user("u2", "t2"), answer("a2", "t2", "x")], total: 4 });
  assert.equal(turnsOf(s).length, 2);
});

test("the timeline says what happened and no word of the conversation", async () => {
  const { s } = await live();
  const timeline = new Timeline();
  follow(s, timeline, () => {});
  s.send("a secret");
  await last().ok("send", { session: "s1", turn: "t1", run: "r1", cursor: `${INC}:10`, repeat: false });
  await last().tell({ ...started(11, "r1", "t1", null, [user("u1", "t1", "a secret")]), node: "n1" }, delta(12, "r1", "another"));
  await last().tell(settled(13, "r1", "completed", [user("u1", "t1"), answer("a1", "t1", "another")], { revision: "v" }));
  assert.deepEqual(timeline.lines.map((l) => l.kind).reverse(), ["accepted", "started", "owner", "first-token", "settled"]);
  assert.ok(!/secret|another/.test(JSON.stringify(timeline.lines)));
});

test("a title is cut at a word", () => {
  assert.equal(shortTitle("short"), "short");
  assert.equal(shortTitle("word ".repeat(30)).length <= 61, true);
});
