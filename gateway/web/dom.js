// Making nodes without markup: text is always text.

/** h makes an element: h("p.note", {testid: "x", onclick: f}, "text", node). Attributes that are null or false are left out. */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const e = document.createElement(tag);
  if (classes.length) e.className = classes.join(" ");
  const [first] = rest;
  if (first && typeof first === "object" && !(first instanceof Node) && !Array.isArray(first)) set(e, rest.shift());
  e.append(...rest.flat().filter((x) => x !== null && x !== undefined && x !== false));
  return e;
}

function set(e, attributes) {
  for (const [k, v] of Object.entries(attributes)) {
    if (v === null || v === undefined || v === false) continue;
    if (k === "testid") e.dataset.testid = v;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  }
}

/** byId finds an element of the page. */
export const byId = (id) => document.getElementById(id);

/** copyText copies, also where the clipboard is not offered (plain HTTP on another host). */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = h("textarea.off-screen", { "aria-hidden": "true", tabindex: "-1" });
    const focus = document.activeElement;
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    focus?.focus?.();
    return done;
  }
}

/** nextFrame calls f once, with the first frame after ms; where no frames come (a tab behind another) half a second later. */
export function nextFrame(ms, f) {
  setTimeout(() => {
    let done = false;
    const once = () => {
      if (done) return;
      done = true;
      f();
    };
    requestAnimationFrame(once);
    setTimeout(once, 500);
  }, ms);
}
