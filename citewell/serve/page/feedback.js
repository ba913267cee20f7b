/**
 * Feedback: with the user's consent the server records which suggestions were cited or dismissed, in the library's folder. Marks
 * are sent in the background, one after the other; a mark that cannot be recorded changes nothing else on the page.
 */

import { $, counted } from "./dom.js";
import { notify, showError } from "./notices.js";
import { get, post, remove } from "./server.js";

const OFF = { available: false, on: false, since: "", file: "", relevant: 0, irrelevant: 0 };

export class Feedback {
  constructor() {
    this.status = OFF;
    this.sending = Promise.resolve();
    this.warned = false;
    $("feedback-open").addEventListener("click", () => (this.load(), $("feedback").showModal()));
    $("feedback-on").addEventListener("change", () => this.#change(post("feedback/consent", { on: $("feedback-on").checked })));
    $("feedback-delete").addEventListener("click", () => this.#delete());
  }

  /** Ask the server whether the user consents, and what is recorded. */
  load() {
    return this.#change(get("feedback"));
  }

  /**
   * Record that a paper was cited (`relevant`) or dismissed (`irrelevant`) for a query; returns the id of the query, by which the
   * mark can be changed, or undefined without consent.
   */
  mark(paper, mark, { task, title, abstract, context, authors, known }) {
    if (!this.status.on) return undefined;
    const query = `page-${hash(JSON.stringify([task, title, abstract, context]))}`;
    this.#send({ paper, mark, query, task, title, abstract, context, authors, known });
    return query;
  }

  /** Change the mark of a paper for an earlier query; `unclear` takes it back. */
  change(paper, mark, query) {
    if (query && this.status.on) this.#send({ paper, mark, query });
  }

  #send(body) {
    this.sending = this.sending
      .then(() => post("feedback", body))
      .then(({ recorded }) => {
        this.warned = false;
        if (!recorded) this.load(); // turned off elsewhere
      })
      .catch((error) => {
        if (!this.warned && error.name !== "OfflineError") notify(`${error.message} Suggestions are not affected.`);
        this.warned = true;
      });
  }

  #delete() {
    const { relevant, irrelevant } = this.status;
    if (confirm(`Delete all feedback (${counted(relevant + irrelevant, "mark")})? This cannot be undone.`))
      this.#change(this.sending.then(() => remove("feedback")));
  }

  async #change(response) {
    try {
      this.status = await response;
    } catch (error) {
      showError(error);
    }
    const { available, on, file, relevant, irrelevant } = this.status;
    $("feedback-open").hidden = !available;
    $("feedback-open").textContent = on ? "Feedback on" : "Feedback off";
    $("feedback-on").checked = on;
    $("feedback-file").textContent = file;
    $("feedback-count").textContent = `Recorded so far: ${relevant} cited, ${irrelevant} dismissed.`;
    $("feedback-delete").disabled = !(relevant + irrelevant);
  }
}

/** A 53-bit hash of a text (cyrb53), in hexadecimal. */
function hash(text) {
  let [one, two] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 2654435761);
    two = Math.imul(two ^ code, 1597334677);
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909);
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
  return (4294967296 * (2097151 & two) + (one >>> 0)).toString(16).padStart(14, "0");
}
