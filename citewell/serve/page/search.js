/**
 * Search in the library: papers that answer a question, with the sentences that do. Without a question all papers are listed,
 * a page at a time.
 */

import { $, byline, counted, h } from "./dom.js";
import { delay } from "./delay.js";
import { year } from "./filters.js";
import { showNotes } from "./heading.js";
import { announce, showError } from "./notices.js";
import { get, post } from "./server.js";
import { highlight } from "./highlight.js";

const PAGE = 25;
const RESULTS = 15;
const PAUSE = 180;

export class Search {
  constructor({ open }) {
    this.open = open;
    this.controller = null;
    $("search-form").addEventListener("submit", (event) => (event.preventDefault(), this.update(0)));
    for (const name of ["question", "from", "until"]) $(name).addEventListener("input", () => this.update(PAUSE));
    $("more").addEventListener("click", () => this.#more());
  }

  /** Show only papers of some years. */
  within(since, before) {
    $("from").value = since;
    $("until").value = before;
    this.update(0);
  }

  /** Search for the question, or list all papers if there is none. */
  async update(after = 0) {
    this.controller?.abort();
    const { signal } = (this.controller = new AbortController());
    try {
      await delay(after, signal);
      if ($("question").value.trim()) await this.#search(signal);
      else await this.#browse(0, signal);
    } catch (error) {
      if (error.name !== "AbortError") $("result-count").textContent = "No results.";
      showError(error);
    }
  }

  /** List the next page, once even if the button is clicked several times; a new search cancels it. */
  async #more() {
    if (this.paging === this.shown) return;
    this.paging = this.shown;
    const first = this.shown;
    try {
      await this.#browse(first, this.controller.signal);
      if ($("more").hidden) $("results").children[first]?.querySelector("button").focus();
    } catch (error) {
      showError(error);
    } finally {
      this.paging = null;
    }
  }

  get #years() {
    return { since: year($("from").value), before: year($("until").value) };
  }

  async #search(signal) {
    const question = $("question").value.trim();
    const run = async (pipeline) => {
      const body = { question, k: RESULTS, sentences: 2, ...this.#years, pipeline };
      const { notes, suggestions } = await post("search", body, signal);
      const words = question.match(/[\p{L}\p{N}]+/gu) ?? [];
      $("results").replaceChildren(...suggestions.map((paper) => this.#line(paper, paper.sentences, words)));
      showNotes("search-notes", notes);
      return suggestions.length;
    };
    $("result-count").textContent = "Searching …";
    $("more").hidden = true;
    await run("fast");
    $("result-count").textContent = "Fast results, refining …";
    await delay(PAUSE, signal);
    const count = await run("best");
    $("result-count").textContent = count
      ? `The best ${counted(count, "paper")}, with matching sentences`
      : "No paper matches. Try other words or years.";
    announce($("result-count").textContent);
  }

  async #browse(offset, signal) {
    const { since, before } = this.#years;
    const address = new URLSearchParams({ offset: String(offset), limit: String(PAGE) });
    if (since) address.set("since", String(since));
    if (before) address.set("before", String(before));
    const { total, papers } = await get(`papers?${address}`, signal);
    const lines = papers.map((paper) => this.#line(paper, [], []));
    showNotes("search-notes");
    if (offset) $("results").append(...lines);
    else $("results").replaceChildren(...lines);
    this.shown = offset + papers.length;
    $("more").hidden = this.shown >= total;
    $("result-count").textContent = total
      ? `${this.shown.toLocaleString("en")} of ${counted(total, "paper")}`
      : since || before
        ? "No papers in these years."
        : "The library is empty. Add files to start.";
  }

  #line(paper, sentences, words) {
    return h(
      "li",
      {},
      h("h3", {}, h("button", { type: "button", class: "title", click: () => this.open(paper) }, paper.title || paper.id)),
      h("p", { class: "byline" }, byline(paper)),
      sentences.map(({ text, before, after, words: matched }) =>
        h(
          "blockquote",
          {},
          before && h("span", { class: "neighbour" }, `${before} `),
          highlight(text, matched?.length ? matched : words),
          after && h("span", { class: "neighbour" }, ` ${after}`),
        ),
      ),
    );
  }
}
