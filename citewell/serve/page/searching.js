/**
 * Looking into the library: a question is answered by papers and the sentences in them that bear on it; without one the
 * papers are simply listed, a page at a time.
 */

import { $, byline, counted, h } from "./dom.js";
import { rest } from "./asking.js";
import { year } from "./filters.js";
import { announce, complain } from "./notices.js";
import { get, post } from "./server.js";
import { highlighted } from "./words.js";

const PAGE = 25;
const FOUND = 15;
const REST = 180;

export class Searching {
  constructor({ open }) {
    this.open = open;
    this.going = null;
    $("search-form").addEventListener("submit", (event) => (event.preventDefault(), this.look(0)));
    for (const name of ["question", "from", "until"]) $(name).addEventListener("input", () => this.look(REST));
    $("more").addEventListener("click", () => this.#more());
  }

  /** Only papers of some years. */
  within(since, before) {
    $("from").value = since;
    $("until").value = before;
    this.look(0);
  }

  /** Answer the question, or list the papers where there is none. */
  async look(after = 0) {
    this.going?.abort();
    const { signal } = (this.going = new AbortController());
    try {
      await rest(after, signal);
      if ($("question").value.trim()) await this.#search(signal);
      else await this.#browse(0, signal);
    } catch (error) {
      if (error.name !== "AbortError") $("found-count").textContent = "No answer.";
      complain(error);
    }
  }

  /** List the next page, once however often the button is pressed; a question that is asked meanwhile calls it off. */
  async #more() {
    if (this.paging === this.shown) return;
    this.paging = this.shown;
    const first = this.shown;
    try {
      await this.#browse(first, this.going.signal);
      if ($("more").hidden) $("found").children[first]?.querySelector("button").focus();
    } catch (error) {
      complain(error);
    } finally {
      this.paging = null;
    }
  }

  get #years() {
    return { since: year($("from").value), before: year($("until").value) };
  }

  async #search(signal) {
    const question = $("question").value.trim();
    const ask = async (pipeline) => {
      const { papers } = await post("search", { question, k: FOUND, snippets: 2, ...this.#years, pipeline }, signal);
      const words = question.match(/[\p{L}\p{N}]+/gu) ?? [];
      $("found").replaceChildren(...papers.map((paper) => this.#line(paper, paper.sentences, words)));
      return papers.length;
    };
    $("found-count").textContent = "Looking …";
    $("more").hidden = true;
    await ask("fast");
    $("found-count").textContent = "Quick answer, refining …";
    await rest(REST, signal);
    const count = await ask("best");
    $("found-count").textContent = count
      ? `The best ${counted(count, "paper")}, with the sentences that bear on it`
      : "Nothing in the library matches; use other words, or other years.";
    announce($("found-count").textContent);
  }

  async #browse(offset, signal) {
    const { since, before } = this.#years;
    const address = new URLSearchParams({ offset, limit: PAGE });
    if (since) address.set("since", since);
    if (before) address.set("before", before);
    const { total, papers } = await get(`papers?${address}`, signal);
    const lines = papers.map((paper) => this.#line(paper, [], []));
    if (offset) $("found").append(...lines);
    else $("found").replaceChildren(...lines);
    this.shown = offset + papers.length;
    $("more").hidden = this.shown >= total;
    $("found-count").textContent = total
      ? `${this.shown.toLocaleString("en")} of ${counted(total, "paper")}`
      : since || before
        ? "No paper of these years."
        : "The library is empty. Add files to it.";
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
          before && h("span", { class: "beside" }, `${before} `),
          highlighted(text, matched?.length ? matched : words),
          after && h("span", { class: "beside" }, ` ${after}`),
        ),
      ),
    );
  }
}
