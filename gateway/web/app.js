// The page: one client, the session in the address (?session=), and the parts that show them.

import { Composer } from "./composer.js";
import { byId, copyText, h } from "./dom.js";
import { Holdfast } from "./holdfast.js";
import { MessagesView } from "./messages.js";
import { Notice } from "./notice.js";
import { wirePanels } from "./panels.js";
import { Sidebar } from "./sidebar.js";
import { clock, follow, Timeline } from "./timeline.js";
import { endOf, endText, preview } from "./turns.js";
import { newKey } from "./words.js";

const HOLD_MS = 1500; // a drop by hand stays long enough to be seen
const MOST_SESSIONS = 20; // followed by one tab
const VALID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

const socketURL = () => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/ws`;
const client = new Holdfast({ url: socketURL });
const timelines = new Map(); // session id → Timeline
const tabs = typeof BroadcastChannel === "function" ? new BroadcastChannel("holdfast") : null;
const notice = new Notice();
const closePanels = wirePanels();
const fresh = new Set(); // ids made here: nothing of them can be on the server yet
let session = null;
let downSince = null;
let stuck = true; // the conversation is scrolled to its end, and stays there

const view = new MessagesView(byId("messages"), {
  regenerate: () => session.regenerate().catch(() => {}),
  select: (turn, variant) => session.select(turn, variant).catch(() => {}),
});
const composer = new Composer({
  send: (text) => {
    stuck = true;
    session.send(text).catch(() => {});
  },
  stop: () => session.stop(),
});
const sidebar = new Sidebar((id) => open(id, true));

// ---- which session

function fromAddress() {
  const id = new URLSearchParams(location.search).get("session") ?? "";
  return VALID.test(id) ? id : null;
}

function freshId() {
  const id = newKey();
  fresh.add(id);
  return id;
}

const addressOf = (id) => `?session=${encodeURIComponent(id)}`;

/** open shows a session. push: as a new entry of the tab's history. */
function open(id, push) {
  if (session?.id === id) return closePanels();
  const known = timelines.has(id);
  history[push ? "pushState" : "replaceState"](null, "", addressOf(id));
  session = client.session(id);
  if (!known) observe(session);
  tidy();
  composer.show(id);
  byId("second-tab").href = addressOf(id);
  notice.clear();
  stuck = true;
  view.show(session);
  session.attach();
  refresh();
  sidebar.draw();
  drawTimeline();
  closePanels();
}

function startChat() {
  if (session && session.rows.length === 0 && !session.busy) closePanels();
  else open(freshId(), true);
  composer.focus();
}

/** tidy forgets the idle sessions that were opened longest ago. */
function tidy() {
  for (const id of timelines.keys()) {
    if (timelines.size <= MOST_SESSIONS) return;
    if (id === session.id || client.session(id).busy) continue;
    client.forget(id);
    timelines.delete(id);
  }
}

/** observe wires a session once; a session in the background draws nothing. */
function observe(s) {
  const timeline = new Timeline();
  timelines.set(s.id, timeline);
  follow(s, timeline, () => s === session && drawTimeline());
  const on = (name, f) => s.addEventListener(name, (e) => f(e.detail));
  on("change", () => {
    sidebar.update(s);
    if (s !== session) return;
    view.draw();
    refresh();
  });
  on("delta", () => {
    if (s !== session) return;
    view.grow();
    drawPosition();
  });
  on("accepted", () => {
    tabs?.postMessage({ session: s.id });
    sidebar.refreshSoon();
  });
  on("settled", (d) => {
    sidebar.refreshSoon();
    if (s === session) announce(d);
  });
  on("refused", (d) => refused(s, d));
  on("gone", () => s === session && notice.show("The server no longer knows this conversation. What you see is only in this tab."));
}

const REFUSALS = {
  session_active: "An answer is already under way here. Stop it, or wait for its end.",
  stale_regeneration_revision: "This conversation changed in the meantime, so nothing was replaced. Here is how it stands now.",
  no_regenerable_turn: "There is no answer here that could be replaced.",
  regeneration_read_only: "This conversation is read-only.",
  rate_limited: "That was too fast for the server. Wait a moment and try again.",
  too_large: "This message is too large to send.",
  unavailable: "The server cannot store anything right now, so nothing was sent. Try again in a moment.",
  closed: "Not connected, so nothing was sent.",
};

/** refused tells a person, and gives a refused prompt back to the box it came from. */
function refused(s, { op, content, error }) {
  if (op === "send" && content) composer.giveBack(s.id, content);
  if (s !== session) return;
  notice.show(REFUSALS[error.code] ?? error.message);
}

// ---- drawing

function refresh() {
  const titled = session.title || (session.rows.length || session.busy ? sidebar.titleOf(session) : "New chat");
  byId("title").textContent = titled;
  document.title = titled === "New chat" ? "holdfast" : `${titled} · holdfast`;
  const empty = session.rows.length === 0 && session.earlier.length === 0 && !session.busy
    && (fresh.has(session.id) || session.state !== "attaching");
  byId("empty").hidden = !empty;
  byId("earlier").hidden = !session.before;
  composer.state({ busy: session.busy, stopping: session.stopping !== null, ended: client.state === "ended" });
  document.body.dataset.session = session.id;
  document.body.dataset.busy = String(session.busy);
  document.body.dataset.attached = session.state;
  byId("status-session").textContent = session.id.slice(0, 8);
  byId("status-session").title = session.id;
  byId("status-session").dataset.value = session.id;
  byId("status-owner").textContent = session.owner || "–";
  byId("status-owner").title = session.owner;
  byId("status-run").textContent = session.run ? session.run.run.slice(0, 8) : "idle";
  byId("status-run").dataset.value = session.run?.run ?? "";
  byId("kill").disabled = session.rows.length === 0;
  drawPosition();
}

function drawPosition() {
  const seq = session.cursor?.seq ?? 0;
  byId("status-seq").textContent = String(seq);
  document.body.dataset.seq = String(seq);
}

function drawTimeline() {
  const lines = timelines.get(session.id)?.lines ?? [];
  byId("timeline").replaceChildren(...lines.map((l) =>
    h("li", { "data-kind": l.kind, title: clock(l.at) },
      h("span.when", l.since === null ? clock(l.at).slice(0, 8) : `+${l.since.toFixed(l.since < 100 ? 2 : 0)} s`), h("span", l.text))));
}

function note(kind, text) {
  timelines.get(session.id)?.add(kind, text);
  drawTimeline();
}

function announce(d) {
  const end = endOf({ rows: d.rows, outcome: d.outcome });
  byId("announce").textContent = end ? `${end.title}. ${endText(end)}` : `Answer: ${preview(d.rows)}`;
}

const WORDS = { idle: "Starting", connecting: "Connecting", open: "Live", waiting: "Reconnecting", ended: "Ended", closed: "Closed" };

client.addEventListener("state", ({ detail: d }) => {
  const shown = client.degraded && d.state === "open" ? "degraded" : d.state;
  document.body.dataset.connection = d.state;
  byId("status-connection").dataset.state = shown;
  byId("connection-text").textContent = WORDS[d.state];
  byId("drop").disabled = d.state !== "open";
  if (!session) return;
  if (d.state === "waiting") {
    downSince ??= Date.now();
    note("drop", `Connection lost${d.reason ? `: ${d.reason}` : d.code ? ` (${d.code})` : ""}`);
    notice.lost(d.retryInMs, session.run !== null, () => client.retry());
  } else if (d.state === "open") {
    note("connected", downSince ? `Connected again after ${((Date.now() - downSince) / 1000).toFixed(1)} s` : "Connected");
    downSince = null;
    notice.found();
  } else if (d.state === "ended") {
    note("ended", `The server ended the connection (${d.code})`);
    notice.show(`The server ended this connection${d.reason ? `: ${d.reason}` : ""}.`, "Try again", () => client.retry(), true);
  }
  refresh();
});

client.addEventListener("degraded", ({ detail: d }) => {
  byId("status-connection").dataset.state = d.on ? "degraded" : client.state;
  byId("connection-text").textContent = d.on ? "Store away" : WORDS[client.state];
  note("degraded", d.on ? "The store does not answer; the answer waits" : "The store answers again");
});
client.addEventListener("goaway", ({ detail: d }) => note("goaway", `The server asks to move in ${(d.inMs / 1000).toFixed(1)} s`));

// ---- scrolling

const scroll = byId("scroll");
view.afterDraw = () => {
  if (stuck) scroll.scrollTop = scroll.scrollHeight;
  byId("jump").hidden = stuck;
};
scroll.addEventListener("scroll", () => {
  stuck = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 48;
  byId("jump").hidden = stuck;
}, { passive: true });
byId("jump").addEventListener("click", () => {
  stuck = true;
  view.afterDraw();
  composer.focus();
});
new ResizeObserver(() => view.afterDraw()).observe(scroll);

// ---- buttons

byId("new-chat").addEventListener("click", startChat);
byId("drop").addEventListener("click", () => client.drop(HOLD_MS));
byId("earlier").addEventListener("click", async (e) => {
  const s = session;
  e.target.disabled = true;
  try {
    const r = await fetch(`/v1/sessions/${encodeURIComponent(s.id)}?before=${encodeURIComponent(s.before)}`);
    if (!r.ok) throw new Error(String(r.status));
    const height = scroll.scrollHeight;
    stuck = false;
    s.addEarlier((await r.json()).document ?? {});
    if (s === session) scroll.scrollTop += scroll.scrollHeight - height;
  } catch {
    notice.show("Earlier messages could not be read. Try again.");
  } finally {
    e.target.disabled = false;
  }
});
byId("messages").addEventListener("click", async (e) => {
  const button = e.target.closest("[data-copy-code]");
  if (!button) return;
  const done = await copyText(button.closest(".code-box").querySelector("pre").textContent);
  button.textContent = done ? "Copied" : "Could not copy";
  setTimeout(() => (button.textContent = "Copy"), 1500);
});

byId("kill").addEventListener("click", async () => {
  note("kill", session.owner ? `Kill asked: ${session.owner}` : "Kill asked: the owner");
  try {
    const r = await fetch("/demo/kill", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ session: session.id }),
    });
    const { killed, error } = await r.json();
    if (r.ok) note("kill", `Killed ${killed ?? "the owner"}`);
    else notice.show(`The owner was not killed: ${error ?? r.status}.`);
  } catch {
    note("kill", "The node went away while it answered");
  }
});

async function askDemo() {
  try {
    const r = await fetch("/demo/info");
    const info = r.ok ? await r.json() : {};
    byId("kill-box").hidden = !(info.demo === true && Array.isArray(info.nodes));
  } catch {
    byId("kill-box").hidden = true;
  }
}

// ---- other tabs, the tab's history, a tab that comes back

tabs?.addEventListener("message", (e) => {
  if (e.data?.session === session?.id && session.state === "absent") session.attach();
  sidebar.refreshSoon();
});
addEventListener("popstate", () => open(fromAddress() ?? freshId(), false));
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "visible") return;
  if (session.state === "absent") session.attach();
  sidebar.refreshSoon();
});

open(fromAddress() ?? freshId(), false);
client.watch(window, document);
client.connect();
sidebar.refreshSoon();
askDemo();
if (matchMedia("(hover: hover)").matches) composer.focus();
