// On narrow screens the two side columns are drawers: one at a time, closed by Escape, the shade or a choice.

import { byId } from "./dom.js";

/** wirePanels wires the buttons that open a drawer and gives the function that closes it. */
export function wirePanels() {
  let opener = null;
  const mark = (name) => {
    for (const b of document.querySelectorAll("[data-panel]")) {
      if (b.tagName === "BUTTON") b.setAttribute("aria-expanded", String(b.dataset.panel === name));
    }
  };
  const close = () => {
    if (!document.body.dataset.panelOpen) return;
    delete document.body.dataset.panelOpen;
    byId("shade").hidden = true;
    mark("");
    opener?.focus();
    opener = null;
  };
  for (const b of document.querySelectorAll("button[data-panel]")) {
    b.addEventListener("click", () => {
      if (document.body.dataset.panelOpen === b.dataset.panel) return close();
      document.body.dataset.panelOpen = b.dataset.panel;
      byId("shade").hidden = false;
      mark(b.dataset.panel);
      opener = b;
      byId(b.dataset.panel).querySelector("button, a")?.focus();
    });
  }
  byId("shade").addEventListener("click", close);
  addEventListener("keydown", (e) => e.key === "Escape" && close());
  return close;
}
