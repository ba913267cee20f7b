/**
 * The editor view: the manuscript on one side, suggestions for the place at the cursor on the other, and the chosen papers below.
 * This module connects the parts; each has a file of its own.
 */

import { Suggester } from "./suggester.js";
import { Chosen } from "./chosen.js";
import { $, counted, h } from "./dom.js";
import { accept } from "./draft.js";
import { Feedback } from "./feedback.js";
import { Filters } from "./filters.js";
import { headingOf, nameOf, showHeading, showNotes, showStage } from "./heading.js";
import { SuggestionList } from "./suggestion_list.js";
import { Manuscript } from "./manuscript.js";
import { load, store } from "./storage.js";
import { announce, notify, showError } from "./notices.js";
import { Offsets } from "./offsets.js";
import { placeAt } from "./place.js";
import { download } from "./download.js";
import { UndoStates } from "./undo.js";
import { get } from "./server.js";

const SUGGESTIONS = 10;
const BEFORE_FILTER = 100; // suggestions to request if only those of the user's bibliography are shown
const MAX_IDS = 500; // the server's limit on ids in a request
const MAX_LENGTHS = { title: 2000, abstract: 50_000, context: 20_000 }; // the server's limits on texts
const OPENING = 4000;
const UNDO_SECONDS = 30; // for undoing the replacement of a draft
const MAX_WORD = 60;

export class EditorView {
  /** `open(paper)` shows a paper. */
  constructor({ open }) {
    this.requested = this.shown = "";
    this.relatedTo = null;
    this.dismissed = new Map(load("dismissed", []));
    this.feedback = new Feedback();
    this.dismissals = new Map(load("dismissals", [])); // by paper, the query for which its dismissal is recorded
    this.undo = new UndoStates();
    this.filters = new Filters(() => this.update());
    this.suggester = new Suggester({
      show: (results, stage) => this.#showResults(results, stage),
      fail: (error) => this.#showFailure(error),
    });
    this.list = new SuggestionList({
      acts: {
        open,
        cite: (paper) => this.cite(paper),
        related: (paper) => this.related(paper),
        dismiss: (paper) => this.dismiss(paper),
      },
      marks: ({ id }) => ({ chosen: this.isChosen(id), known: this.manuscript.draft.known().includes(id) }),
      leave: () => this.leave(),
    });
    this.manuscript = new Manuscript({
      edited: (edit, before) => (this.#follow(edit, before), this.update({ typing: true })),
      moved: () => this.update(),
      parsed: () => (this.chosen.show(), this.update({ typing: true })),
      checked: () => this.#draw(),
      opened: (before) => this.#opened(before),
    });
    this.chosen = new Chosen({
      changed: () => (this.#draw(), this.list.redraw()),
      go: (place) => this.manuscript.go(place),
      open,
      remark: (id, mark, queries) => queries.forEach((query) => this.feedback.change(id, mark, query)),
      draft: {
        nameOf: (place) => this.manuscript.nameOf(place),
        statusOf: (id) => this.#statusOf(id),
        has: () => ({ text: !this.manuscript.isEmpty, bibliography: Boolean(this.manuscript.bibliography.trim()) }),
      },
    });
    this.#listen();
  }

  /** Request suggestions for the place at the cursor, unless the request is the same as the last one. */
  update({ typing = false } = {}) {
    const { draft, text, cursor, isEmpty } = this.manuscript;
    this.place = { file: this.manuscript.file, ...placeAt(draft, text, cursor, $("whole").checked) };
    const body = this.#request();
    const key = JSON.stringify(body);
    const isNew = key !== this.requested;
    if (isNew) this.relatedTo = null;
    this.#draw();
    if (isEmpty) return this.#showIntroduction();
    if (!isNew) return undefined;
    this.requested = key;
    showStage("searching");
    return this.suggester.request(body, { typing: typing || this.list.suggestions.length > 0 });
  }

  /** Request suggestions again, because the library or the server has changed. */
  refresh() {
    this.suggester.forget();
    this.requested = "";
    this.manuscript.parseSoon(0);
    this.update();
  }

  /** Cite a paper at the cursor, or undo that. */
  cite(paper) {
    const place = this.place.kind === "whole" ? undefined : this.place;
    if (this.isChosen(paper.id)) {
      this.undo.forget(); // undo would restore this choice too
      for (const query of this.chosen.marked(paper.id, place)) this.feedback.change(paper.id, "unclear", query);
      this.chosen.remove(paper.id, place);
      announce(`Citation removed: ${paper.title}`);
    } else {
      this.chosen.add(paper, place, this.feedback.mark(paper.id, "relevant", this.#request()));
      announce(`Cited: ${paper.title}. ${counted(this.chosen.papers.length, "paper")} chosen.`);
    }
  }

  /** Whether a paper was chosen for the place at the cursor. */
  isChosen(id) {
    return this.place.kind === "whole" ? this.chosen.has(id) : this.chosen.isAt(id, this.place);
  }

  /** The place where `cite` would put a paper, in words. */
  where() {
    if (this.place.kind === "whole") return "for the bibliography only";
    return `for ${nameOf(this.place)}, ${this.manuscript.nameOf(this.place)}`;
  }

  /** Hide a paper for this draft. */
  dismiss(paper) {
    // Among related papers it says nothing about the place at the cursor.
    const query = this.relatedTo ? undefined : this.feedback.mark(paper.id, "irrelevant", this.#request());
    if (query) this.dismissals.set(paper.id, query);
    this.dismissed.set(paper.id, paper.title);
    this.#dismissedChanged();
    this.list.drop(paper.id);
    notify(`Dismissed: ${paper.title}`, { name: "Undo", act: () => this.#restore([paper.id]) });
  }

  /** Show papers related to a paper instead of the suggestions. */
  async related(paper) {
    this.suggester.stop();
    this.before ??= this.list.results && {
      results: this.list.waiting ?? this.list.results,
      refined: $("stage").dataset.stage === "refined",
    };
    this.relatedTo = paper;
    this.#draw();
    showStage("searching");
    this.list.showMessage();
    $("back").focus();
    try {
      const related = await get(`papers/${encodeURIComponent(paper.id)}/related?k=${SUGGESTIONS}`);
      if (this.relatedTo !== paper) return;
      const suggestions = related.suggestions.filter(({ id }) => !this.dismissed.has(id));
      showStage("");
      showNotes("library-notes", related.notes);
      if (suggestions.length) this.list.put({ suggestions, start: paper.title });
      else this.list.showMessage(h("p", {}, "The library has no related papers."));
      if (document.activeElement === $("back")) this.list.focus();
      announce(`${counted(suggestions.length, "paper")} related to ${paper.title}`);
    } catch (error) {
      this.#showFailure(error);
    }
  }

  /** Go back from related papers to the suggestions, or from the suggestions to the text. */
  leave() {
    if (!this.relatedTo) return this.manuscript.editor.area.focus();
    const { id } = this.relatedTo;
    const { before } = this;
    this.relatedTo = this.before = null;
    this.#draw();
    if (!before) return ((this.requested = ""), this.update());
    this.list.put(before.results);
    if (before.refined) {
      showStage("refined");
    } else {
      this.requested = ""; // the refined results were not requested yet
      this.update();
    }
    return this.list.focusOn(id);
  }

  /** Insert the chosen citations into the text, as if the user had typed them. */
  async insert() {
    const texts = new Map();
    const { file: shown, text: before, bibliography: oldBibliography } = this.manuscript;
    const places = this.chosen.placesIn(shown);
    let bibliography = oldBibliography;
    for (const file of this.chosen.files) {
      const result = await this.#accept(file, bibliography);
      texts.set(file, result.text);
      bibliography = result.bibliography;
    }
    this.chosen.unplace();
    this.manuscript.rewrite(texts, bibliography);
    if (texts.has(shown)) {
      const alone = texts.size === 1;
      const after = this.chosen.placesIn(shown);
      this.undo.remember(shown, before, { places, bibliography: alone ? { is: bibliography, was: oldBibliography } : undefined });
      this.undo.remember(shown, this.manuscript.text, {
        places: after,
        bibliography: alone ? { is: oldBibliography, was: bibliography } : undefined,
      });
    }
    notify("The citations were inserted and their entries added to the bibliography. Ctrl Z undoes this.");
  }

  #listen() {
    const acts = {
      insert: () => this.insert(),
      "save-draft": async () => download(this.manuscript.fileName("-cited"), await this.#cited()),
      "save-bibliography": async () => download(this.manuscript.bibliographyName, await this.#bibliography()),
    };
    for (const [name, act] of Object.entries(acts)) $(name).addEventListener("click", () => act().catch(showError));
    $("whole").addEventListener("change", () => this.update());
    $("back").addEventListener("click", () => this.leave());
    $("restore-dismissed").addEventListener("click", () => this.#restore([...this.dismissed.keys()]));
    $("clear").addEventListener("click", () => this.#clear());
  }

  #request() {
    const known = this.manuscript.draft.known();
    const dismissed = [...this.dismissed.keys()];
    const { query } = this.place;
    const body = { ...query, ...this.filters.query(), known: distinct([...this.chosen.ids, ...known]) };
    if (query.task === "global" && !query.title && !query.abstract) body.abstract = this.manuscript.text.slice(0, OPENING);
    for (const [part, length] of Object.entries(MAX_LENGTHS)) body[part] = body[part]?.slice(0, length).toWellFormed();
    body.exclude = distinct(this.filters.bibliography === "new" ? [...dismissed, ...known] : dismissed);
    body.k = this.filters.bibliography === "only" ? BEFORE_FILTER : SUGGESTIONS;
    return body;
  }

  #showResults(results, stage) {
    let { suggestions } = results;
    if (this.filters.bibliography === "only") {
      const known = new Set(this.manuscript.draft.known());
      suggestions = suggestions.filter(({ id }) => known.has(id)).slice(0, SUGGESTIONS);
    }
    showStage(stage);
    showNotes("library-notes", results.notes);
    this.before = null;
    if (suggestions.length) this.list.show({ suggestions, start: nameOf(this.place) }, { fresh: this.shown !== this.requested });
    else if (stage === "refined") this.#showNoMatch();
    else if (this.shown !== this.requested) this.list.showMessage(h("p", {}, "No fast results; searching more closely …"));
    this.shown = this.requested;
    if (stage === "refined") announce(`${counted(suggestions.length, "suggestion")}: ${headingOf(this.place)}`);
  }

  #showFailure(error) {
    const current = this.shown === this.requested && this.list.suggestions.length > 0;
    this.requested = "";
    showStage(current ? "unrefined" : "failed");
    showError(error);
    if (current) return;
    // The list belongs to another place and must not be mistaken for this one's.
    const retry = h("button", { type: "button", click: () => this.update() }, "Try again");
    const offline = error.name === "OfflineError";
    this.list.showMessage(h("p", {}, offline ? "Suggestions appear when the server is back." : retry));
  }

  #showNoMatch() {
    const clear = h("button", { type: "button", click: () => this.filters.clear() }, "Clear the filters");
    const more = h("a", { href: "#library" }, "add papers to the library");
    this.list.showMessage(
      h("p", {}, "No paper in the library matches this place."),
      h("p", {}, this.filters.count ? [clear, " or "] : "Write a few more words, or ", more, "."),
    );
  }

  #showIntroduction() {
    this.suggester.stop();
    this.requested = "";
    showStage("");
    showNotes("library-notes");
    this.list.showMessage(
      h(
        "p",
        {},
        "Write a manuscript or drop a file. Papers to cite at the cursor appear here, each with the reasons for it.",
      ),
      h(
        "p",
        {},
        "Gaps such as ",
        h("code", {}, "[?]"),
        ", ",
        h("code", {}, "\\cite{}"),
        " or ",
        h("code", {}, "[@?]"),
        " are recognised and marked.",
      ),
    );
  }

  /** Draw everything except the list: marks, counts, headings. */
  #draw() {
    const { place, manuscript } = this;
    const here = /** @type {any} */ (place).citation ?? /** @type {any} */ (place).sentence;
    const marks = this.chosen.choices(manuscript.file).map((each) => ({ ...visibleRange(each, manuscript.text), kind: "filled" }));
    if (here) marks.push({ begin: here.begin, end: here.end, kind: "here" });
    manuscript.show(marks);
    const finding = manuscript.draft.findingAt(manuscript.cursor);
    showHeading(place, { title: manuscript.draft.title, relatedTo: this.relatedTo, isEmpty: manuscript.isEmpty, finding });
    $("dismissed").hidden = !this.dismissed.size;
    $("dismissed-count").textContent = `${this.dismissed.size} dismissed`;
  }

  #dismissedChanged() {
    store("dismissed", [...this.dismissed]);
    store("dismissals", [...this.dismissals]);
    this.#draw();
  }

  #restore(ids) {
    for (const id of ids) {
      this.dismissed.delete(id);
      this.feedback.change(id, "unclear", this.dismissals.get(id));
      this.dismissals.delete(id);
    }
    this.#dismissedChanged();
    this.update();
  }

  /** Update the chosen places after an edit; if it undoes or redoes an edit that cost places, restore them. */
  #follow(edit, before) {
    const { manuscript, chosen, undo } = this;
    const { file, text } = manuscript;
    const places = chosen.placesIn(file);
    chosen.follow(edit, file);
    const state = undo.stateOf(file, text);
    if (state) {
      chosen.replace(file, state.places);
      if (state.bibliography?.is === manuscript.bibliography) manuscript.bibliography = state.bibliography.was;
    } else if (countPlaces(chosen.placesIn(file)) < countPlaces(places)) {
      undo.remember(file, before, { places });
    }
  }

  /** The status of a chosen paper without a place. */
  #statusOf(id) {
    const { draft } = this.manuscript;
    if (draft.citations.some(({ papers }) => papers?.includes(id))) return "cited in the text";
    return draft.known().includes(id) ? "in your bibliography" : "bibliography only";
  }

  /** A text was opened; `before` is the draft that it replaces, if any. */
  #opened(before) {
    this.undo.forget();
    if (!before) {
      this.chosen.show();
      return this.update();
    }
    const { dismissed } = this;
    const papers = structuredClone(this.chosen.papers);
    if (before.name !== this.manuscript.name) {
      this.dismissed = new Map();
      this.#dismissedChanged();
    }
    this.chosen.unplace();
    this.update();
    if (!before.text.trim()) return undefined;
    const act = () => this.#reopen(before, papers, dismissed);
    return notify(`${this.manuscript.name} replaced ${before.name || "your draft"}.`, { name: "Undo", act }, UNDO_SECONDS);
  }

  /** Reopen a draft with the papers that were chosen and dismissed for it. */
  #reopen(state, papers, dismissed) {
    this.dismissed = dismissed;
    this.#dismissedChanged();
    this.manuscript.open(state);
    this.chosen.restore(papers);
  }

  /** The open file with the citations inserted. */
  async #cited() {
    if (!this.chosen.files.length) return this.manuscript.text;
    return (await this.#accept()).text;
  }

  /** A file of the draft with its citations inserted, and a bibliography with their entries. */
  async #accept(file = this.manuscript.file, bibliography = this.manuscript.bibliography) {
    const text = this.manuscript.textOf(file);
    const offsets = new Offsets(text);
    const choices = this.chosen
      .choices(file)
      .map(({ begin, end, ids }) => ({ begin: offsets.points(begin), end: offsets.points(end), ids }));
    if (!choices.length)
      throw new Error("No paper was chosen for this file. Select another file above the text.");
    return accept(text, this.manuscript.format || this.manuscript.draft.format, choices, bibliography);
  }

  /** The draft's bibliography with entries for all papers that were chosen for a place in it. */
  async #bibliography() {
    let { bibliography } = this.manuscript;
    for (const file of this.chosen.files) ({ bibliography } = await this.#accept(file, bibliography));
    return bibliography;
  }

  #clear() {
    const { state } = this.manuscript;
    const { dismissed } = this;
    const papers = this.chosen.clear();
    this.dismissed = new Map();
    this.#dismissedChanged();
    this.manuscript.open({ text: "" });
    this.manuscript.editor.area.focus();
    notify("The draft was cleared.", { name: "Undo", act: () => this.#reopen(state, papers, dismissed) }, UNDO_SECONDS);
  }
}

/** The number of all places. */
const countPlaces = (places) => [...places.values()].flat().length;

const distinct = (ids) => [...new Set(ids)].slice(0, MAX_IDS);

/** The range to mark for a place: an empty one includes the word before it. */
function visibleRange({ begin, end }, text) {
  return { begin: begin < end ? begin : begin - /\S*$/.exec(text.slice(Math.max(0, begin - MAX_WORD), begin))[0].length, end };
}
