/**
 * The papers that were chosen, and where in the draft each of them goes. The list leaves as a bibliography in one of three
 * formats, or inside the draft.
 */

import { $, byline, counted, h } from "./dom.js";
import { shifted } from "./edits.js";
import { keep, recalled } from "./memory.js";
import { complain, tell } from "./notices.js";
import { save } from "./saving.js";
import { posted } from "./server.js";

const FORMATS = { bibtex: "references.bib", ris: "references.ris", csl: "references.json" };

export class Chosen {
  /**
   * Calls `changed()` when the list is another, `go(place)` to show a place, `open(paper)` to show a paper; `draft` tells a place's
   * line, `nameOf(place)`, where else a paper stands, `standing(id)`, and what there is to save, `has()`.
   */
  constructor({ changed, go, open, draft }) {
    Object.assign(this, { changed, go, open, draft });
    this.removed = null;
    /** Papers in brief, each with its `places`: `{file, begin, end}` in units of a file of the draft. */
    this.papers = recalled("chosen", []);
    for (const [format, name] of Object.entries(FORMATS)) {
      $(`save-${format}`).addEventListener("click", () => this.#save(format, name).catch(complain));
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

  /** Choose a paper, for a place where there is one. */
  add({ id, title, authors, year, venue }, place) {
    const paper = this.papers.find((each) => each.id === id) ?? { id, title, authors, year, venue, places: [] };
    if (!this.has(id)) this.papers.push(paper);
    if (place && !this.isAt(id, place)) paper.places.push({ file: place.file, begin: place.begin, end: place.end });
    this.#settle();
  }

  /** Take a choice back: at one place where one is named, and the paper itself when no place is left. */
  remove(id, place) {
    const paper = this.papers.find((each) => each.id === id);
    if (!paper) return;
    if (place) paper.places = paper.places.filter((each) => !same(each, place));
    if (!place || !paper.places.length) this.papers = this.papers.filter((each) => each !== paper);
    this.#settle();
  }

  /** Empty the list; what was in it comes back, for an undo. */
  clear() {
    const before = this.papers;
    this.papers = [];
    this.#settle();
    return before;
  }

  restore(papers) {
    this.papers = papers;
    this.#settle();
  }

  /** Move the places with an edit of a file; one that the edit took away is forgotten, its paper stays. */
  follow(edit, file) {
    for (const paper of this.#all) {
      paper.places = paper.places.map((place) => (place.file === file ? followed(place, edit) : place)).filter(Boolean);
    }
    keep("chosen", this.papers);
    this.show();
  }

  /** Forget all places: the draft is another one, or has the citations in it. */
  unplace() {
    for (const paper of this.#all) paper.places = [];
    this.#settle();
  }

  /** The places that each paper has in a file, to be put back by `replace`. */
  placesIn(file) {
    return new Map(this.papers.map(({ id, places }) => [id, places.filter((place) => place.file === file)]));
  }

  /** Give papers the places in a file that they had; one that was chosen since keeps its own. */
  replace(file, places) {
    for (const paper of this.papers) {
      const here = places.get(paper.id);
      if (here) paper.places = [...paper.places.filter((place) => place.file !== file), ...here];
    }
    this.#settle();
  }

  /** The files that have places. */
  get files() {
    return [...new Set(this.papers.flatMap(({ places }) => places.map(({ file }) => file)))];
  }

  /** What goes where in a file, as POST /api/accept wants it, but in units. */
  choices(file) {
    const found = new Map();
    for (const { id, places } of this.papers) {
      for (const { begin, end } of places.filter((place) => place.file === file)) {
        const name = `${begin}-${end}`;
        if (!found.has(name)) found.set(name, { begin, end, ids: [] });
        found.get(name).ids.push(id);
      }
    }
    return [...found.values()].sort((a, b) => a.begin - b.begin);
  }

  /** Draw the list. */
  show() {
    const none = !this.papers.length;
    const placed = this.files.length > 0;
    const has = this.draft.has();
    const ready = { insert: placed, "save-draft": has.text, "save-bibliography": placed || has.bibliography };
    $("chosen-title").textContent = none ? "Chosen" : `Chosen: ${counted(this.papers.length, "paper")}`;
    $("chosen-empty").hidden = !none;
    $("chosen-list").replaceChildren(...this.papers.map((paper) => this.#line(paper)));
    for (const button of $("leaving").querySelectorAll("button")) {
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
      h("span", { class: "places" }, places.length ? places : this.draft.standing(paper.id)),
      h(
        "button",
        { type: "button", class: "close", "aria-label": `Remove ${paper.title}`, click: () => this.#takeAway(paper) },
        "×",
      ),
    );
  }

  /** Remove a paper by its own button, in a way that can be undone; the focus goes to the next one. */
  #takeAway(paper) {
    const at = this.papers.indexOf(paper);
    this.remove(paper.id);
    this.removed = paper;
    const closing = $("chosen-list").querySelectorAll(".close");
    (closing[Math.min(at, closing.length - 1)] ?? $("draft")).focus({ preventScroll: true });
    const act = () => {
      if (!this.has(paper.id)) this.papers.splice(at, 0, paper);
      this.#settle();
    };
    tell(`Removed: ${paper.title || paper.id}`, { name: "Undo", act });
  }

  /** The papers, and the one that may come back. */
  get #all() {
    return this.removed && !this.papers.includes(this.removed) ? [...this.papers, this.removed] : this.papers;
  }

  async #save(format, name) {
    const answer = await posted("export", { ids: this.ids, format });
    save(name, await answer.blob());
  }

  #settle() {
    keep("chosen", this.papers);
    this.show();
    this.changed();
  }
}

const same = (one, other) => one.file === other.file && one.begin === other.begin && one.end === other.end;

/** A place after an edit. One of no length stays at its letter, and goes when the letters round it do. */
function followed(place, edit) {
  if (place.begin === place.end && edit.begin < place.begin && place.begin < edit.end) return null;
  return shifted(place, edit);
}
