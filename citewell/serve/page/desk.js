/**
 * The writing desk: the manuscript on one side, what to cite where the cursor stands on the other, and the list of what was
 * chosen. This module ties the parts together; each of them is a file of its own.
 */

import { Asking } from "./asking.js";
import { Chosen } from "./chosen.js";
import { $, counted, h } from "./dom.js";
import { accepted } from "./draft.js";
import { Filters } from "./filters.js";
import { headingOf, nameOf, showHeading, showStage } from "./heading.js";
import { Listing } from "./listing.js";
import { Manuscript } from "./manuscript.js";
import { keep, recalled } from "./memory.js";
import { announce, complain, tell } from "./notices.js";
import { Offsets } from "./offsets.js";
import { placeAt } from "./place.js";
import { save } from "./saving.js";
import { Undoing } from "./undoing.js";
import { get } from "./server.js";

const SUGGESTIONS = 10;
const OF_MINE = 100; // so many are asked for where only those of one's own bibliography are shown
const NAMED = 500; // the server takes no more names than this in one question
const MOST = { title: 2000, abstract: 50_000, context: 20_000 }; // nor longer texts than these
const OPENING = 4000;
const LONGER = 30; // seconds to undo what took a draft away
const LONGEST = 60; // no word is longer

export class Desk {
  /** `open(paper)` shows a paper whole. */
  constructor({ open }) {
    this.asked = this.shown = "";
    this.relatedTo = null;
    this.dismissed = new Map(recalled("dismissed", []));
    this.undoing = new Undoing();
    this.filters = new Filters(() => this.ask());
    this.asking = new Asking({ show: (answer, stage) => this.#answered(answer, stage), fail: (error) => this.#failed(error) });
    this.listing = new Listing({
      acts: {
        open,
        cite: (paper) => this.cite(paper),
        related: (paper) => this.related(paper),
        dismiss: (paper) => this.dismiss(paper),
      },
      marks: ({ id }) => ({ chosen: this.isChosen(id), known: this.manuscript.reading.known().includes(id) }),
      leave: () => this.leave(),
    });
    this.manuscript = new Manuscript({
      edited: (edit, before) => (this.#follow(edit, before), this.ask({ typing: true })),
      moved: () => this.ask(),
      read: () => (this.chosen.show(), this.ask({ typing: true })),
      audited: () => this.#show(),
      opened: (before) => this.#opened(before),
    });
    this.chosen = new Chosen({
      changed: () => (this.#show(), this.listing.again()),
      go: (place) => this.manuscript.go(place),
      open,
      draft: {
        nameOf: (place) => this.manuscript.nameOf(place),
        standing: (id) => this.#standing(id),
        has: () => ({ text: !this.manuscript.isEmpty, bibliography: Boolean(this.manuscript.bibliography.trim()) }),
      },
    });
    this.#listen();
  }

  /** Ask for where the cursor stands, unless that is what was asked last. */
  ask({ typing = false } = {}) {
    const { reading, text, cursor, isEmpty } = this.manuscript;
    this.place = { file: this.manuscript.file, ...placeAt(reading, text, cursor, $("whole").checked) };
    const body = this.#question();
    const name = JSON.stringify(body);
    const news = name !== this.asked;
    if (news) this.relatedTo = null;
    this.#show();
    if (isEmpty) return this.#blank();
    if (!news) return undefined;
    this.asked = name;
    showStage("asking");
    return this.asking.about(body, { typing: typing || this.listing.suggestions.length > 0 });
  }

  /** Ask again although nothing here has changed: the library or the server has. */
  askAgain() {
    this.asking.forget();
    this.asked = "";
    this.manuscript.readSoon(0);
    this.ask();
  }

  /** Cite a paper where the cursor stands, or take that back. */
  cite(paper) {
    const place = this.place.kind === "whole" ? undefined : this.place;
    if (this.isChosen(paper.id)) {
      this.undoing.forget(); // or it would bring this choice back too
      this.chosen.remove(paper.id, place);
      announce(`No longer cited: ${paper.title}`);
    } else {
      this.chosen.add(paper, place);
      announce(`Cited: ${paper.title}. ${counted(this.chosen.papers.length, "paper")} chosen.`);
    }
  }

  /** Whether a paper was chosen for where the cursor stands. */
  isChosen(id) {
    return this.place.kind === "whole" ? this.chosen.has(id) : this.chosen.isAt(id, this.place);
  }

  /** Where `cite` would put a paper, in words. */
  where() {
    if (this.place.kind === "whole") return "for the bibliography, at no place of the text";
    return `for ${nameOf(this.place)}, ${this.manuscript.nameOf(this.place)}`;
  }

  /** Do not show a paper for this draft again. */
  dismiss(paper) {
    this.dismissed.set(paper.id, paper.title);
    this.#dismissedChanged();
    this.listing.drop(paper.id);
    tell(`Dismissed: ${paper.title}`, { name: "Undo", act: () => this.#bringBack([paper.id]) });
  }

  /** Show what is near a paper in place of the suggestions. */
  async related(paper) {
    this.asking.stop();
    this.before ??= this.listing.answer && {
      answer: this.listing.waiting ?? this.listing.answer,
      refined: $("stage").dataset.stage === "refined",
    };
    this.relatedTo = paper;
    this.#show();
    showStage("asking");
    this.listing.empty();
    $("back").focus();
    try {
      const answer = await get(`papers/${encodeURIComponent(paper.id)}/related?k=${SUGGESTIONS}`);
      if (this.relatedTo !== paper) return;
      const suggestions = answer.suggestions.filter(({ id }) => !this.dismissed.has(id));
      showStage("");
      if (suggestions.length) this.listing.put({ suggestions, start: paper.title });
      else this.listing.empty(h("p", {}, "Nothing else in the library is near this paper."));
      if (document.activeElement === $("back")) this.listing.focus();
      announce(`${counted(suggestions.length, "paper")} related to ${paper.title}`);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** From related papers back to the suggestions, or from the suggestions to the text. */
  leave() {
    if (!this.relatedTo) return this.manuscript.editor.area.focus();
    const { id } = this.relatedTo;
    const { before } = this;
    this.relatedTo = this.before = null;
    this.#show();
    if (!before) return ((this.asked = ""), this.ask());
    this.listing.put(before.answer);
    if (before.refined) {
      showStage("refined");
    } else {
      this.asked = ""; // it was called off before it was refined
      this.ask();
    }
    return this.listing.focusOn(id);
  }

  /** Put the chosen citations into the text, as if they had been typed. */
  async insert() {
    const texts = new Map();
    const { file: shown, text: before, bibliography: had } = this.manuscript;
    const places = this.chosen.placesIn(shown);
    let bibliography = had;
    for (const file of this.chosen.files) {
      const answer = await this.#accepted(file, bibliography);
      texts.set(file, answer.text);
      bibliography = answer.bibliography;
    }
    this.chosen.unplace();
    this.manuscript.rewrite(texts, bibliography);
    if (texts.has(shown)) {
      const alone = texts.size === 1;
      const after = this.chosen.placesIn(shown);
      this.undoing.remember(shown, before, { places, bibliography: alone ? { is: bibliography, was: had } : undefined });
      this.undoing.remember(shown, this.manuscript.text, {
        places: after,
        bibliography: alone ? { is: had, was: bibliography } : undefined,
      });
    }
    tell("The citations are in the text, and their entries in the bibliography. Undo (Ctrl Z) takes them out again.");
  }

  #listen() {
    const acts = {
      insert: () => this.insert(),
      "save-draft": async () => save(this.manuscript.fileName("-cited"), await this.#cited()),
      "save-bibliography": async () => save(this.manuscript.bibliographyName, await this.#bibliography()),
    };
    for (const [name, act] of Object.entries(acts)) $(name).addEventListener("click", () => act().catch(complain));
    $("whole").addEventListener("change", () => this.ask());
    $("back").addEventListener("click", () => this.leave());
    $("bring-back").addEventListener("click", () => this.#bringBack([...this.dismissed.keys()]));
    $("clear").addEventListener("click", () => this.#clear());
  }

  #question() {
    const known = this.manuscript.reading.known();
    const away = [...this.dismissed.keys()];
    const { query } = this.place;
    const body = { ...query, ...this.filters.query(), known: distinct([...this.chosen.ids, ...known]) };
    if (query.task === "global" && !query.title && !query.abstract) body.abstract = this.manuscript.text.slice(0, OPENING);
    for (const [part, most] of Object.entries(MOST)) body[part] = body[part]?.slice(0, most).toWellFormed();
    body.exclude = distinct(this.filters.mine === "new" ? [...away, ...known] : away);
    body.k = this.filters.mine === "only" ? OF_MINE : SUGGESTIONS;
    return body;
  }

  #answered(answer, stage) {
    let { suggestions } = answer;
    if (this.filters.mine === "only") {
      const known = new Set(this.manuscript.reading.known());
      suggestions = suggestions.filter(({ id }) => known.has(id)).slice(0, SUGGESTIONS);
    }
    showStage(stage);
    this.before = null;
    if (suggestions.length) this.listing.show({ suggestions, start: nameOf(this.place) }, { fresh: this.shown !== this.asked });
    else if (stage === "refined") this.#nothing();
    else if (this.shown !== this.asked) this.listing.empty(h("p", {}, "No quick answer; looking more closely …"));
    this.shown = this.asked;
    if (stage === "refined") announce(`${counted(suggestions.length, "suggestion")}: ${headingOf(this.place)}`);
  }

  #failed(error) {
    const current = this.shown === this.asked && this.listing.suggestions.length > 0;
    this.asked = "";
    showStage(current ? "unrefined" : "failed");
    complain(error);
    if (current) return;
    // The list on the page is of another place, and must not be taken for this one's.
    const again = h("button", { type: "button", click: () => this.ask() }, "Ask again");
    const away = error.name === "AwayError";
    this.listing.empty(h("p", {}, away ? "Suggestions come when the server answers again." : again));
  }

  #nothing() {
    const loosen = h("button", { type: "button", click: () => this.filters.clear() }, "Take the filters away");
    const more = h("a", { href: "#library" }, "add papers to the library");
    this.listing.empty(
      h("p", {}, "Nothing in the library matches this place."),
      h("p", {}, this.filters.count ? [loosen, " or "] : "Write a few words more, or ", more, "."),
    );
  }

  #blank() {
    this.asking.stop();
    this.asked = "";
    showStage("");
    this.listing.empty(
      h(
        "p",
        {},
        "Write or drop a manuscript. Papers to cite appear here for wherever your cursor stands, each with the sentence that speaks for it.",
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
        " are found and marked.",
      ),
    );
  }

  /** Draw everything but the list: marks, counts, headings. */
  #show() {
    const { place, manuscript } = this;
    const here = place.citation ?? place.sentence;
    const marks = this.chosen.choices(manuscript.file).map((each) => ({ ...seen(each, manuscript.text), kind: "filled" }));
    if (here) marks.push({ begin: here.begin, end: here.end, kind: "here" });
    manuscript.show(marks);
    const finding = manuscript.reading.findingAt(manuscript.cursor);
    showHeading(place, { title: manuscript.reading.title, relatedTo: this.relatedTo, isEmpty: manuscript.isEmpty, finding });
    $("dismissed").hidden = !this.dismissed.size;
    $("dismissed-count").textContent = `${this.dismissed.size} dismissed`;
  }

  #dismissedChanged() {
    keep("dismissed", [...this.dismissed]);
    this.#show();
  }

  #bringBack(ids) {
    for (const id of ids) this.dismissed.delete(id);
    this.#dismissedChanged();
    this.ask();
  }

  /** Move what was chosen with an edit; one that undoes or redoes what cost places gives them back. */
  #follow(edit, before) {
    const { manuscript, chosen, undoing } = this;
    const { file, text } = manuscript;
    const places = chosen.placesIn(file);
    chosen.follow(edit, file);
    const kept = undoing.recalled(file, text);
    if (kept) {
      chosen.replace(file, kept.places);
      if (kept.bibliography?.is === manuscript.bibliography) manuscript.bibliography = kept.bibliography.was;
    } else if (many(chosen.placesIn(file)) < many(places)) {
      undoing.remember(file, before, { places });
    }
  }

  /** Where a chosen paper without a place stands. */
  #standing(id) {
    const { reading } = this.manuscript;
    if (reading.citations.some(({ papers }) => papers?.includes(id))) return "cited in the text";
    return reading.known().includes(id) ? "in your bibliography" : "bibliography only";
  }

  /** A text is on the desk: in place of what was there `before`, where it is another draft. */
  #opened(before) {
    this.undoing.forget();
    if (!before) {
      this.chosen.show();
      return this.ask();
    }
    const { dismissed } = this;
    const papers = structuredClone(this.chosen.papers);
    if (before.name !== this.manuscript.name) {
      this.dismissed = new Map();
      this.#dismissedChanged();
    }
    this.chosen.unplace();
    this.ask();
    if (!before.text.trim()) return undefined;
    const act = () => this.#back(before, papers, dismissed);
    return tell(`${this.manuscript.name} took the place of ${before.name || "your draft"}.`, { name: "Undo", act }, LONGER);
  }

  /** Put a draft back on the desk, and what was chosen and dismissed for it. */
  #back(kept, papers, dismissed) {
    this.dismissed = dismissed;
    this.#dismissedChanged();
    this.manuscript.open(kept);
    this.chosen.restore(papers);
  }

  /** The file that is shown, with its citations in it. */
  async #cited() {
    if (!this.chosen.files.length) return this.manuscript.text;
    return (await this.#accepted()).text;
  }

  /** A file of the draft with its citations in it, and a bibliography with their entries. */
  async #accepted(file = this.manuscript.file, bibliography = this.manuscript.bibliography) {
    const text = this.manuscript.textOf(file);
    const offsets = new Offsets(text);
    const choices = this.chosen
      .choices(file)
      .map(({ begin, end, ids }) => ({ begin: offsets.points(begin), end: offsets.points(end), ids }));
    if (!choices.length)
      throw new Error("No paper was chosen for this file; its name above the text lets you turn to another.");
    return accepted(text, this.manuscript.format || this.manuscript.reading.format, choices, bibliography);
  }

  /** The draft's bibliography with the entries of all that was chosen for a place in it. */
  async #bibliography() {
    let { bibliography } = this.manuscript;
    for (const file of this.chosen.files) ({ bibliography } = await this.#accepted(file, bibliography));
    return bibliography;
  }

  #clear() {
    const { kept } = this.manuscript;
    const { dismissed } = this;
    const papers = this.chosen.clear();
    this.dismissed = new Map();
    this.#dismissedChanged();
    this.manuscript.open({ text: "" });
    this.manuscript.editor.area.focus();
    tell("The desk is empty.", { name: "Undo", act: () => this.#back(kept, papers, dismissed) }, LONGER);
  }
}

/** How many places there are in all. */
const many = (places) => [...places.values()].flat().length;

const distinct = (names) => [...new Set(names)].slice(0, NAMED);

/** A place as it can be marked: a mere point takes in the word before it. */
function seen({ begin, end }, text) {
  return { begin: begin < end ? begin : begin - /\S*$/.exec(text.slice(Math.max(0, begin - LONGEST), begin))[0].length, end };
}
