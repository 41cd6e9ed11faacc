// One line above the composer for what a person should know now: a refusal, or a connection that is away.

import { byId } from "./dom.js";

/** Notice shows one message at a time. A lost connection goes by itself when it is found again. */
export class Notice {
  #about = "";
  #tick = 0;
  #act = null;

  constructor() {
    byId("notice-close").addEventListener("click", () => this.clear());
    byId("notice-act").addEventListener("click", () => this.#act?.());
  }

  /** show: text, and if there is something to do its word and function. kept: it also outlives a change of session. */
  show(text, word = "", act = null, kept = false) {
    this.#put(kept ? "kept" : "message", text, word, act);
  }

  /** lost counts down to the next attempt. running: an answer is under way. */
  lost(ms, running, retry) {
    const until = Date.now() + ms;
    const what = running ? "Connection lost. The answer goes on, and you will catch up." : "Connection lost.";
    const count = () => {
      const s = Math.ceil((until - Date.now()) / 1000);
      byId("notice-count").textContent = s > 1 ? ` in ${s} s` : "";
    };
    this.#put("lost", `${what} Trying again`, "Try now", retry);
    count();
    this.#tick = setInterval(count, 1000);
  }

  found() {
    if (this.#about === "lost" || this.#about === "kept") this.#hide();
  }

  clear() {
    if (this.#about === "message") this.#hide();
    else if (this.#about === "kept" || this.#about === "lost") byId("notice").hidden = true;
  }

  #put(about, text, word, act) {
    clearInterval(this.#tick);
    this.#about = about;
    this.#act = act;
    byId("notice").dataset.about = about;
    byId("notice-text").textContent = text;
    byId("notice-count").textContent = "";
    byId("notice-act").hidden = !word;
    byId("notice-act").textContent = word;
    byId("notice").hidden = false;
  }

  #hide() {
    clearInterval(this.#tick);
    this.#about = "";
    byId("notice").hidden = true;
  }
}
