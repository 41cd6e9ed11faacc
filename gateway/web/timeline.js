// What just happened: one line per event of the protocol, with times, and never a word of the conversation.

const MOST = 60;

/** Timeline keeps lines and gives each the time since the last acceptance. */
export class Timeline {
  lines = [];
  #startedAt = null;

  constructor(now = () => Date.now()) {
    this.now = now;
  }

  /** add notes an event: kind is a stable word, text is for people. begin starts the turn's clock. */
  add(kind, text, { begin = false } = {}) {
    const at = this.now();
    if (begin) this.#startedAt = at;
    const since = this.#startedAt === null ? null : (at - this.#startedAt) / 1000;
    this.lines.unshift({ kind, text, at, since });
    if (this.lines.length > MOST) this.lines.length = MOST;
  }
}

/** clock writes a time of day with tenths of a second. */
export function clock(ms) {
  const d = new Date(ms);
  const two = (n) => String(n).padStart(2, "0");
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${Math.floor(d.getMilliseconds() / 100)}`;
}

/** follow writes a session's events into a timeline and calls changed after each. */
export function follow(session, timeline, changed) {
  const on = (name, f) => session.addEventListener(name, (e) => {
    f(e.detail);
    changed();
  });
  const short = (id) => (id ? id.slice(0, 8) : "");
  let owner = "";
  on("accepted", (d) => timeline.add("accepted", d.repeat ? "Accepted before: the first receipt again" : `Accepted: ${d.op}`, { begin: !session.run }));
  on("started", (d) => {
    timeline.add("started", `Started run ${short(d.run)} at seq ${d.seq}`, { begin: true });
    if (d.node && d.node !== owner) timeline.add("owner", `Owner is ${d.node}`);
    owner = d.node || owner;
  });
  on("first", (d) => timeline.add("first-token", `First words at seq ${d.seq}`));
  on("stop", (d) => timeline.add("stop", { asked: "Stop asked", accepted: "Stop accepted", late: "Stop came late: it had ended", unknown: "Stop: no such run" }[d.phase] ?? `Stop: ${d.phase}`));
  on("settled", (d) => timeline.add("settled", `Settled: ${d.outcome} at seq ${d.seq}${d.node && owner && d.node !== owner ? ` by ${d.node}` : ""}`));
  on("takeover", (d) => timeline.add("takeover", `Take-over${d.node ? ` by ${d.node}` : ""} at seq ${d.seq}`));
  on("resumed", (d) => timeline.add("resumed", `Resumed behind seq ${d.seq ?? 0}`));
  on("joined", (d) => timeline.add("joined", d.run ? `Joined run ${short(d.run)} behind seq ${d.seq}` : `Read at seq ${d.seq ?? 0}`));
  on("reset", (d) => timeline.add("reset", `Reset: read anew at seq ${d.seq ?? 0}`));
  on("gone", () => timeline.add("gone", "The server no longer knows this session"));
  on("refused", (d) => timeline.add("refused", `Refused: ${d.op}, ${d.error.code}`));
}
