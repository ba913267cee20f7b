/** A dialog with one paper: abstract, references, citing papers, and the same buttons as on a card. */

import { $, byline, counted, h } from "./dom.js";
import { showError } from "./notices.js";
import { get } from "./server.js";

const SHOWN = 12;
const AUTHORS = 20;

export class PaperDialog {
  /** `acts`, set after the editor view exists, has `cite(paper)`, `related(paper)`, `isChosen(id)` and `where()`, a description of the place. */
  constructor() {
    this.dialog = $("paper");
    this.acts = null;
    $("paper-cite").addEventListener("click", () => (this.acts.cite(this.paper), this.#buttons()));
    $("paper-related").addEventListener("click", () => {
      this.dialog.close();
      this.acts.related(this.paper);
    });
  }

  /** Show a paper of which at least the title is known. */
  async open(paper) {
    this.paper = paper;
    $("paper-title").textContent = paper.title || paper.id;
    $("paper-byline").textContent = byline(paper);
    $("paper-body").replaceChildren(h("p", { class: "empty" }, "Loading …"));
    this.#buttons();
    if (!this.dialog.open) this.dialog.showModal();
    else $("paper-title").focus(); // the link that was clicked is gone
    this.dialog.scrollTop = 0;
    try {
      const record = await get(`papers/${encodeURIComponent(paper.id)}`);
      if (this.paper.id !== paper.id) return;
      $("paper-byline").textContent = byline(record, AUTHORS);
      $("paper-body").replaceChildren(...this.#body(record));
    } catch (error) {
      this.dialog.close();
      showError(error);
    }
  }

  #buttons() {
    const chosen = this.acts.isChosen(this.paper.id);
    $("paper-cite").textContent = chosen ? "Cited" : "Cite";
    $("paper-cite").setAttribute("aria-pressed", String(chosen));
    $("paper-where").textContent = this.acts.where();
  }

  #body(record) {
    const address = addressOf(record.ids ?? []);
    return [
      record.abstract
        ? h("p", { class: "abstract" }, record.abstract)
        : h("p", { class: "empty" }, "The library has no abstract of this paper."),
      record.keywords?.length > 0 &&
        h("p", { class: "words" }, h("span", { class: "label" }, "Keywords "), record.keywords.join(", ")),
      address && h("p", {}, h("a", { href: address, target: "_blank", rel: "noreferrer" }, address)),
      this.#papers("Cited by", record.cited_by ?? []),
      this.#papers("Cites", record.references ?? []),
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

/** The web address of the paper, from its DOI or arXiv id. */
function addressOf(ids) {
  const value = (kind) => ids.find((id) => id.startsWith(`${kind}:`))?.slice(kind.length + 1);
  if (value("doi")) return `https://doi.org/${encodeURI(value("doi"))}`;
  return value("arxiv") && `https://arxiv.org/abs/${encodeURI(value("arxiv"))}`;
}
