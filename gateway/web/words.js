// Small pure helpers of the protocol: clean text, fresh keys, cursors.

/** clean gives text that the gateway takes: no NUL, and no half of a surrogate pair (it becomes U+FFFD). */
export function clean(text) {
  const s = String(text).replaceAll("\u0000", "");
  return s.replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, (m) => (m.length === 2 ? m : "\ufffd"));
}

/** cleanAll cleans every string inside a JSON value. */
export function cleanAll(value) {
  if (typeof value === "string") return clean(value);
  if (Array.isArray(value)) return value.map(cleanAll);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [clean(k), cleanAll(v)]));
  }
  return value;
}

/** newKey gives a fresh UUID. Plain HTTP on another host than loopback has no randomUUID, old engines have no crypto at all. */
export function newKey(source = globalThis.crypto) {
  if (typeof source?.randomUUID === "function") return source.randomUUID();
  const b = new Uint8Array(16);
  if (typeof source?.getRandomValues === "function") source.getRandomValues(b);
  else for (let i = 0; i < b.length; i++) b[i] = Math.floor(Math.random() * 256);
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  const hex = Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** parseCursor splits a cursor into its opaque prefix and its seq; null for what is none. */
export function parseCursor(text) {
  const m = /^(.+):(\d+)$/.exec(typeof text === "string" ? text : "");
  return m ? { prefix: m[1], seq: Number(m[2]) } : null;
}

/** formatCursor is the inverse of parseCursor; undefined for null. */
export function formatCursor(cursor) {
  return cursor ? `${cursor.prefix}:${cursor.seq}` : undefined;
}

/** textOf gives the text of a row's content: a string, or an array of parts. */
export function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((p) => (typeof p === "string" ? p : typeof p?.text === "string" ? p.text : "")).filter(Boolean).join("\n\n");
}

/** backoff gives a wait in milliseconds with full jitter: somewhere from 0 to min(cap, base · 2^attempt). */
export function backoff(attempt, base, cap, random = Math.random) {
  return Math.round(random() * Math.min(cap, base * 2 ** Math.min(attempt, 30)));
}
