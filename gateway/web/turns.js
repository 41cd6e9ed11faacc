// From a session to what a page shows: turns, and in words how each one ended. Pure: no page, no protocol.

import { textOf } from "./words.js";

const STOPPED = "The answer was stopped."; // the gateway's own sentence: stored rows carry no outcome
const PLAIN = new Set([STOPPED, "The answer was interrupted.", "The answer failed."]);

/**
 * turnsOf groups a session's rows by turn and adds what is under way. Each turn: {key, id, rows, run, pending, waiting, last,
 * canRegenerate, canSelect, outcome, variants, storedVariants, look}; look changes whenever the turn must be drawn anew.
 */
export function turnsOf(s) {
  const turns = [];
  for (const row of [...s.earlier, ...s.rows]) {
    const open = turns.at(-1);
    const same = open && (row.turn ? open.id === row.turn : open.id === null && row.role !== "user");
    if (same) open.rows.push(row);
    else turns.push({ key: `${row.turn}/${row.id}`, id: row.turn ?? null, rows: [row], variants: [], storedVariants: 0 });
  }
  addRun(s, turns);
  addPending(s, turns);
  turns.forEach((t, i) => finish(s, t, i === turns.length - 1));
  return turns;
}

function addRun(s, turns) {
  if (!s.run) return;
  let t = turns.findLast((x) => x.id === s.run.turn);
  if (!t) turns.push((t = { key: `run/${s.run.run}`, id: s.run.turn, rows: [], variants: [], storedVariants: 0 }));
  t.run = s.run;
}

/** addPending shows a command before its answer: a new prompt at once, and a regenerate with the old answer taken away. */
function addPending(s, turns) {
  for (const p of s.pending.values()) {
    if (p.op === "send") {
      if (s.run && !p.run) continue; // somebody else's turn began; ours will be refused and its words given back
      const words = s.stopping ? "Stopping…" : "Sending…";
      turns.push({ key: `pending/${p.key}`, id: null, rows: [], pending: p, waiting: words, variants: [], storedVariants: 0 });
    } else if (p.op === "regenerate" && !s.run) {
      const t = turns.at(-1);
      if (!t) continue;
      t.rows = t.rows.filter((r) => r.role === "user");
      t.waiting = s.stopping ? "Stopping…" : "Asking again…";
    }
  }
}

function finish(s, t, last) {
  t.last = last;
  t.canRegenerate = last && s.canRegenerate;
  t.outcome = t.run || t.waiting ? null : t.id === null ? null : s.outcomes.get(t.id) ?? storedOutcome(t.rows);
  if (t.id !== null) {
    const known = s.variants.get(t.id) ?? [];
    const ids = t.rows.find((r) => r.role === "user")?.variants ?? [];
    t.variants = known;
    t.storedVariants = ids.filter((id) => !known.some((v) => v.id === id)).length;
    t.canSelect = Boolean(s.canSelect) && t.canRegenerate;
  }
  t.look = JSON.stringify([
    t.rows.map((r) => [r.id, r.run, r.error, r.partial, textOf(r.content).length]), t.run?.run, t.pending?.key, t.waiting, t.outcome,
    t.canRegenerate, t.canSelect, t.variants.map((v) => [v.id, v.rows[0].id]), t.storedVariants,
  ]);
}

/** storedOutcome reads an outcome off the rows of a turn that this tab did not see end. */
export function storedOutcome(rows) {
  const error = rows.findLast((r) => r.error);
  if (!error) return rows.some((r) => r.role === "assistant") ? "completed" : null;
  if (error.outcome) return error.outcome;
  if (error.interrupted) return "interrupted";
  return textOf(error.content) === STOPPED ? "cancelled" : "failed";
}

/** endOf says how a turn ended where that needs a word: {kind, title, message, partial, cause}; null for a plain answer. */
export function endOf(turn) {
  const outcome = turn.outcome ?? (turn.run || turn.waiting ? null : storedOutcome(turn.rows));
  const error = turn.rows.findLast((r) => r.error);
  const partial = turn.rows.some((r) => r.role === "assistant" && !r.error && textOf(r.content) !== "");
  const message = error && !PLAIN.has(textOf(error.content)) ? textOf(error.content) : "";
  const titles = { failed: "Failed", cancelled: "Stopped", interrupted: "Interrupted", length: "Cut at the length limit", filtered: "Filtered" };
  if (!titles[outcome]) return null;
  return { kind: outcome, title: titles[outcome], message, partial, cause: error?.interrupted };
}

/** endText is the sentence behind the title. */
export function endText(end) {
  const kept = end.partial ? " What was said is kept." : "";
  switch (end.kind) {
    case "cancelled":
      return end.partial ? "What was said so far is kept." : "Nothing had been said yet.";
    case "interrupted": {
      const why = end.cause === "restart" ? "The server was restarted while it wrote." : "The node that wrote this answer was lost.";
      return `${why}${kept} Regenerate to try again.`;
    }
    case "length":
      return "The model had more to say than its limit allows.";
    case "filtered":
      return "The model's provider ended this answer.";
    default:
      return `${end.message || "The model could not finish this answer."}${kept}`;
  }
}

/** preview is the start of an answer in one line, for a screen reader. */
export function preview(rows, most = 400) {
  const text = rows.filter((r) => r.role === "assistant" && !r.error).map((r) => textOf(r.content)).join(" ");
  const words = text.replace(/```[\s\S]*?```/g, " (code) ").replace(/[#*_`>|]+/g, " ").replace(/\s+/g, " ").trim();
  return words.length > most ? `${words.slice(0, words.lastIndexOf(" ", most) + 1 || most)}…` : words;
}

/** shortTitle is a prompt as the server would title it: 60 characters, cut at a word. */
export function shortTitle(prompt) {
  const chars = [...prompt.replace(/\s+/g, " ").trim()];
  if (chars.length <= 60) return chars.join("");
  const head = chars.slice(0, 60).join("");
  return head.slice(0, head.lastIndexOf(" ") > 20 ? head.lastIndexOf(" ") : undefined) + "…";
}
