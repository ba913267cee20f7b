/**
 * The papers that the user chose, and their places in the draft. They can be saved as a bibliography in three formats or inserted
 * into the draft.
 */

import { $, byline, counted, h } from "./dom.js";
import { shifted } from "./edits.js";
import { load, store } from "./storage.js";
import { showError, notify } from "./notices.js";
import { download } from "./download.js";
import { postRaw } from "./server.js";

const FORMATS = { bibtex: "references.bib", ris: "references.ris", csl: "references.json" };

export class Chosen {
  /** @type {() => void} */
  changed;
  /** @type {(place: any) => void} */
  go;
  /** @type {(paper: any) => void} */
  open;
  /** @type {(id: string, mark: string, queries: string[]) => void} */
  remark;
  /** @type {any} */
  draft;

  /**
   * Calls `remark(id, mark, queries)` when a removal changes recorded marks, `changed()` when the list changes, `go(place)` to show a place and `open(paper)` to show a paper. `draft` has
   * `nameOf(place)`, a place in words, `statusOf(id)`, the status of a paper without a place, and `has()`, what can be saved.
   */
  constructor({ changed, go, open, remark, draft }) {
    Object.assign(this, { changed, go, open, remark, draft });
    this.removed = null;
    /** The papers, each with its `places` in the draft: `{file, begin, end}` in UTF-16 units. */
    this.papers = load("chosen", []);
    for (const [format, name] of Object.entries(FORMATS)) {
      $(`save-${format}`).addEventListener("click", () => this.#save(format, name).catch(showError));
    }
  }

  get ids() {
    return this.papers.map(({ id }) => id);
  }

  has(id) {
    return this.papers.some((paper) => paper.id === id);
  }

  /** Whether a paper was chosen for exactly this place. */
  isAt(id, place) {
    return this.papers.some((paper) => paper.id === id && paper.places.some((each) => same(each, place)));
  }

  /** The queries for which a paper is recorded as cited, at one place or anywhere. */
  marked(id, place) {
    const paper = this.papers.find((each) => each.id === id);
    const places = (paper?.places ?? []).filter((each) => !place || same(each, place));
    return [...places.map(({ marked }) => marked), !place && paper?.marked].filter(Boolean);
  }

  /** Choose a paper, for a place if there is one; `marked` is the query for which it was recorded as cited. */
  add({ id, title, authors, year, venue }, place, marked) {
    const paper = this.papers.find((each) => each.id === id) ?? { id, title, authors, year, venue, places: [] };
    if (!this.has(id)) this.papers.push(paper);
    if (place && !this.isAt(id, place)) paper.places.push({ file: place.file, begin: place.begin, end: place.end, marked });
    if (!place) paper.marked = marked;
    this.#update();
  }

  /** Remove a paper from one place, or from all; the paper itself is removed when it has no place left. */
  remove(id, place) {
    const paper = this.papers.find((each) => each.id === id);
    if (!paper) return;
    if (place) paper.places = paper.places.filter((each) => !same(each, place));
    if (!place || !paper.places.length) this.papers = this.papers.filter((each) => each !== paper);
    this.#update();
  }

  /** Clear the list; returns the papers for an undo. */
  clear() {
    const before = this.papers;
    this.papers = [];
    this.#update();
    return before;
  }

  restore(papers) {
    this.papers = papers;
    this.#update();
  }

  /** Update the places after an edit of a file; a deleted place is dropped, its paper stays. */
  follow(edit, file) {
    for (const paper of this.#all) {
      paper.places = paper.places.map((place) => (place.file === file ? movedPlace(place, edit) : place)).filter(Boolean);
    }
    store("chosen", this.papers);
    this.show();
  }

  /** Drop all places, because another draft was opened or the citations were inserted. */
  unplace() {
    for (const paper of this.#all) paper.places = [];
    this.#update();
  }

  /** The places of each paper in a file, to be restored by `replace`. */
  placesIn(file) {
    return new Map(this.papers.map(({ id, places }) => [id, places.filter((place) => place.file === file)]));
  }

  /** Restore the places of papers in a file; a paper that was chosen since keeps its own. */
  replace(file, places) {
    for (const paper of this.papers) {
      const here = places.get(paper.id);
      if (here) paper.places = [...paper.places.filter((place) => place.file !== file), ...here];
    }
    this.#update();
  }

  /** The files in which papers have places. */
  get files() {
    return [...new Set(this.papers.flatMap(({ places }) => places.map(({ file }) => file)))];
  }

  /** The choices for a file, as POST /api/accept takes them, but in UTF-16 units. */
  choices(file) {
    const choices = new Map();
    for (const { id, places } of this.papers) {
      for (const { begin, end } of places.filter((place) => place.file === file)) {
        const name = `${begin}-${end}`;
        if (!choices.has(name)) choices.set(name, { begin, end, ids: [] });
        choices.get(name).ids.push(id);
      }
    }
    return [...choices.values()].sort((a, b) => a.begin - b.begin);
  }

  /** Draw the list. */
  show() {
    const none = !this.papers.length;
    const placed = this.files.length > 0;
    const has = this.draft.has();
    const ready = { insert: placed, "save-draft": has.text, "save-bibliography": placed || has.bibliography };
    $("chosen-title").textContent = none ? "Chosen papers" : `Chosen: ${counted(this.papers.length, "paper")}`;
    $("chosen-empty").hidden = !none;
    $("chosen-list").replaceChildren(...this.papers.map((paper) => this.#line(paper)));
    for (const button of $("chosen-actions").querySelectorAll("button")) {
      button.disabled = !(ready[button.id] ?? !none);
    }
  }

  #line(paper) {
    const places = paper.places.map((place) =>
      h("button", { type: "button", class: "link", click: () => this.go(place) }, this.draft.nameOf(place)),
    );
    return h(
      "li",
      {},
      h("button", { type: "button", class: "title", click: () => this.open(paper) }, paper.title || paper.id),
      h("span", { class: "byline" }, byline(paper)),
      h("span", { class: "places" }, places.length ? places : this.draft.statusOf(paper.id)),
      h(
        "button",
        { type: "button", class: "close", "aria-label": `Remove ${paper.title}`, click: () => this.#removeWithUndo(paper) },
        "×",
      ),
    );
  }

  /** Remove a paper by its button, with undo; the focus moves to the next paper. */
  #removeWithUndo(paper) {
    const at = this.papers.indexOf(paper);
    const marked = this.marked(paper.id);
    this.remark(paper.id, "unclear", marked);
    this.remove(paper.id);
    this.removed = paper;
    /** @type {NodeListOf<HTMLElement>} */
    const closing = $("chosen-list").querySelectorAll(".close");
    (closing[Math.min(at, closing.length - 1)] ?? $("draft")).focus({ preventScroll: true });
    const act = () => {
      if (!this.has(paper.id)) {
        this.papers.splice(at, 0, paper);
        this.remark(paper.id, "relevant", marked);
      }
      this.#update();
    };
    notify(`Removed: ${paper.title || paper.id}`, { name: "Undo", act });
  }

  /** The papers, including one whose removal can be undone. */
  get #all() {
    return this.removed && !this.papers.includes(this.removed) ? [...this.papers, this.removed] : this.papers;
  }

  async #save(format, name) {
    const response = await postRaw("export", { ids: this.ids, format });
    download(name, await response.blob());
  }

  #update() {
    store("chosen", this.papers);
    this.show();
    this.changed();
  }
}

const same = (one, other) => one.file === other.file && one.begin === other.begin && one.end === other.end;

/** A place after an edit. An empty place stays next to its character, and is dropped when the text around it is deleted. */
function movedPlace(place, edit) {
  if (place.begin === place.end && edit.begin < place.begin && place.begin < edit.end) return null;
  return shifted(place, edit);
}
