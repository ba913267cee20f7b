/** One paper, whole, in a dialog: its abstract, what it cites and what cites it, and the same things to do as on a card. */

import { $, byline, counted, h } from "./dom.js";
import { complain } from "./notices.js";
import { get } from "./server.js";

const SHOWN = 12;
const AUTHORS = 20;

export class PaperDialog {
  /** `acts` has what its buttons do, `cite(paper)` and `related(paper)`, `isChosen(id)` and `where()`, which says for what place; it is set when the desk is there. */
  constructor() {
    this.dialog = $("paper");
    this.acts = null;
    $("paper-cite").addEventListener("click", () => (this.acts.cite(this.paper), this.#buttons()));
    $("paper-related").addEventListener("click", () => {
      this.dialog.close();
      this.acts.related(this.paper);
    });
  }

  /** Show a paper, of which the title at least is known. */
  async open(paper) {
    this.paper = paper;
    $("paper-title").textContent = paper.title || paper.id;
    $("paper-byline").textContent = byline(paper);
    $("paper-body").replaceChildren(h("p", { class: "empty" }, "Reading …"));
    this.#buttons();
    if (!this.dialog.open) this.dialog.showModal();
    else $("paper-title").focus(); // the link that led here is gone
    this.dialog.scrollTop = 0;
    try {
      const whole = await get(`papers/${encodeURIComponent(paper.id)}`);
      if (this.paper.id !== paper.id) return;
      $("paper-byline").textContent = byline(whole, AUTHORS);
      $("paper-body").replaceChildren(...this.#body(whole));
    } catch (error) {
      this.dialog.close();
      complain(error);
    }
  }

  #buttons() {
    const chosen = this.acts.isChosen(this.paper.id);
    $("paper-cite").textContent = chosen ? "Cited" : "Cite";
    $("paper-cite").setAttribute("aria-pressed", String(chosen));
    $("paper-where").textContent = this.acts.where();
  }

  #body(whole) {
    const address = addressOf(whole.ids ?? []);
    return [
      whole.abstract
        ? h("p", { class: "abstract" }, whole.abstract)
        : h("p", { class: "empty" }, "The library has no abstract of it."),
      whole.keywords?.length > 0 &&
        h("p", { class: "words" }, h("span", { class: "label" }, "Keywords "), whole.keywords.join(", ")),
      address && h("p", {}, h("a", { href: address, target: "_blank", rel: "noreferrer" }, address)),
      this.#papers("Cited by", whole.cited_by ?? []),
      this.#papers("Cites", whole.references ?? []),
    ].filter(Boolean);
  }

  #papers(heading, papers) {
    if (!papers.length) return null;
    const lines = papers.slice(0, SHOWN).map((each) => h("li", {}, this.#name(each), each.year ? ` (${each.year})` : ""));
    const more = papers.length > SHOWN && h("p", { class: "byline" }, `and ${counted(papers.length - SHOWN, "more", "more")}`);
    return h("section", {}, h("h3", {}, `${heading} ${papers.length}`), h("ul", {}, lines), more);
  }

  #name(each) {
    const title = each.title || (each.ids ?? []).join(", ") || each.id;
    return each.id ? h("button", { type: "button", class: "link", click: () => this.open(each) }, title) : title;
  }
}

/** Where the paper itself can be read, by its DOI or arXiv number. */
function addressOf(ids) {
  const found = (kind) => ids.find((id) => id.startsWith(`${kind}:`))?.slice(kind.length + 1);
  if (found("doi")) return `https://doi.org/${encodeURI(found("doi"))}`;
  return found("arxiv") && `https://arxiv.org/abs/${encodeURI(found("arxiv"))}`;
}
