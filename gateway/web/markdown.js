// Model text to safe nodes. What a model or a person wrote is never trusted: marked makes HTML of it, DOMPurify keeps an allow-list
// of tags and attributes, and this file decides about links and images. Nothing else in the page makes nodes of text.

import { Marked } from "./vendor/marked.esm.js";
import DOMPurify from "./vendor/purify.es.mjs";

const TAGS = [
  "a", "b", "blockquote", "br", "code", "del", "details", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "input", "kbd",
  "li", "mark", "ol", "p", "pre", "s", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
];
const CONFIG = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ["href", "src", "alt", "title", "align", "start", "class", "checked", "disabled", "type", "open"],
  ADD_URI_SAFE_ATTR: ["align", "start", "type"], // or their values would have to look like addresses
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/(?:png|jpeg|gif|webp);)/i,
  RETURN_DOM_FRAGMENT: true,
};
const INLINE = /^<(\/?(?:b|br|code|del|details|em|i|kbd|mark|s|strong|sub|summary|sup|u))(?:\s[^>]*)?\/?>$/i;
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);/i;

const escape = (s) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    // Raw HTML that is more than a little formatting is shown as what was written: nothing may vanish from an answer. What passes
    // passes without its attributes.
    html({ text }) {
      return text.split(/(<[^>]*>)/).map((part) => {
        const tag = INLINE.exec(part)?.[1];
        return tag ? `<${tag}>` : escape(part);
      }).join("");
    },
  },
});

const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") link(node);
  else if (node.tagName === "IMG") picture(node);
  else if (node.tagName === "INPUT") checkbox(node);
  if (node.hasAttribute("class") && !(node.tagName === "CODE" && /^language-[\w+#-]{1,40}$/.test(node.className))) {
    node.removeAttribute("class");
  }
  if (/^(?:P|LI|H[1-6]|TD|TH|BLOCKQUOTE|UL|OL|SUMMARY)$/.test(node.tagName)) node.setAttribute("dir", "auto");
});

function link(node) {
  if (!/^(?:https?|mailto):/i.test(node.getAttribute("href") ?? "")) {
    node.removeAttribute("href");
    return;
  }
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
}

/** picture: an image of another host would tell that host who reads what; its words and address stay, as a link. */
function picture(node) {
  const src = node.getAttribute("src") ?? "";
  if (PICTURE.test(src)) return;
  const a = document.createElement("a");
  a.textContent = `Image: ${node.getAttribute("alt") || src || "without an address"}`;
  if (/^https?:/i.test(src)) a.href = src;
  link(a);
  node.replaceWith(a);
}

function checkbox(node) {
  if (node.getAttribute("type") !== "checkbox") node.remove();
  else node.setAttribute("disabled", "");
}

/** render gives the fragment of a whole markdown text. */
export function render(text) {
  return fragment(marked.parse(text));
}

function fragment(html) {
  const f = purify.sanitize(html, CONFIG);
  for (const pre of f.querySelectorAll("pre")) dressCode(pre);
  for (const table of f.querySelectorAll("table")) {
    const box = document.createElement("div");
    box.className = "table-box";
    box.tabIndex = 0;
    table.replaceWith(box);
    box.append(table);
  }
  return f;
}

function dressCode(pre) {
  const code = pre.querySelector("code");
  const box = document.createElement("div");
  box.className = "code-box";
  const head = document.createElement("div");
  head.className = "code-head";
  const name = document.createElement("span");
  name.textContent = /language-(\S+)/.exec(code?.className ?? "")?.[1] ?? "text";
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "quiet";
  copy.dataset.copyCode = "";
  copy.textContent = "Copy";
  copy.setAttribute("aria-label", "Copy code");
  head.append(name, copy);
  pre.replaceWith(box);
  pre.tabIndex = 0;
  pre.dir = "ltr";
  box.append(head, pre);
}

/**
 * LiveMarkdown draws a text that grows. Blocks that can no longer change are drawn once; only the tail is parsed again, so a frame
 * costs what the last blocks cost and not what the answer costs.
 */
export class LiveMarkdown {
  #done = 0; // length of the text that is drawn for good
  #tail = [];
  #text = "";

  constructor(element) {
    this.element = element;
  }

  /** exact says whether what is drawn is what render would give: no reference definition, no odd line ends. */
  exact(text) {
    return text === this.#text && !text.includes("]:") && !text.includes("\r");
  }

  set(text) {
    if (text === this.#text) return;
    if (!text.startsWith(this.#text)) this.#restart();
    this.#text = text;
    const rest = text.slice(this.#done);
    const tokens = marked.lexer(rest);
    for (const node of this.#tail) node.remove();
    const keep = text.includes("\r") ? 0 : stable(tokens);
    if (keep > 0) {
      this.element.append(this.#draw(tokens.slice(0, keep), tokens.links));
      for (const t of tokens.slice(0, keep)) this.#done += t.raw.length;
    }
    const f = this.#draw(tokens.slice(keep), tokens.links);
    this.#tail = [...f.childNodes];
    this.element.append(f);
  }

  #draw(tokens, links) {
    tokens.links = links;
    return fragment(marked.parser(tokens));
  }

  #restart() {
    this.element.replaceChildren();
    this.#done = 0;
    this.#tail = [];
  }
}

/** stable counts the leading tokens that later text cannot change: all before the last two blocks. */
function stable(tokens) {
  let blocks = 0;
  for (let i = tokens.length - 1; i >= 0; i--) {
    if (tokens[i].type !== "space" && ++blocks === 2) return i;
  }
  return 0;
}
