/**
 * The server's parse of the draft, updated while the user types: title, paragraphs, sentences, gaps, citations and uncited claims.
 * All positions are in UTF-16 units of the current text.
 */

import { survivors } from "./edits.js";
import { Offsets } from "./offsets.js";

const IN_TEXT = ["uncited-claim", "missing-key"]; // findings in the text; all others are about the bibliography

export class ParsedDraft {
  constructor() {
    this.title = "";
    this.abstract = "";
    this.format = "";
    this.authors = [];
    this.citations = [];
    this.sentences = [];
    this.paragraphs = [];
    this.claims = [];
    this.faults = [];
    /** Findings about the bibliography, one sentence each. */
    this.issues = [];
    this.bibliography = [];
    /** Ranges that were typed since the server parsed the text. */
    this.fresh = [];
  }

  /** The response of POST /api/draft for `text`; `about` has the title, abstract and authors of the whole draft. */
  static of(response, text, before, about = {}) {
    const draft = new ParsedDraft();
    const offsets = new Offsets(text);
    const here = (each) => ({ ...each, begin: offsets.units(each.begin), end: offsets.units(each.end) });
    draft.title = response.title || about.title || "";
    draft.abstract = response.abstract || about.abstract || "";
    draft.authors = response.authors?.length ? response.authors : (about.authors ?? []);
    draft.format = response.format;
    draft.bibliography = response.bibliography;
    draft.citations = response.citations.map(here);
    draft.paragraphs = response.paragraphs.map((each) => ({ ...here(each), count: each.sentences.length }));
    draft.sentences = response.paragraphs.flatMap((each) => each.sentences.map(here));
    draft.claims = before.claims;
    draft.faults = before.faults;
    draft.issues = before.issues;
    return draft;
  }

  /** Add the findings of POST /api/check for `text`. */
  addFindings(findings, text) {
    const offsets = new Offsets(text);
    const here = (each) => ({ ...each, begin: offsets.units(each.begin), end: offsets.units(each.end) });
    const of = (kind) => findings.filter((each) => each.kind === kind).map(here);
    this.claims = of("uncited-claim");
    this.faults = of("missing-key");
    this.issues = findings.filter(({ kind }) => !IN_TEXT.includes(kind)).map(({ message }) => message);
  }

  /** Update all positions after an edit. */
  follow(edit) {
    for (const name of ["citations", "sentences", "paragraphs", "claims", "faults", "fresh"])
      this[name] = survivors(this[name], edit);
    this.fresh.push({ begin: edit.begin, end: edit.end + edit.moved });
  }

  /** Whether a range was edited since the server parsed the text. */
  isFresh({ begin, end }) {
    return this.fresh.some((each) => each.begin <= end && each.end >= begin);
  }

  /** The marks in the text. */
  marks() {
    const kinds = (list, kind) => list.map(({ begin, end }) => ({ begin, end, kind }));
    return [
      ...kinds(this.claims, "claim"),
      ...kinds(this.faults, "fault"),
      ...this.citations.map(({ begin, end, gap }) => ({ begin, end, kind: gap ? "gap" : "citation" })),
    ];
  }

  /** Library ids of the papers in the draft's citations and bibliography. */
  known() {
    const ids = [...this.bibliography.map((entry) => entry.id), ...this.citations.flatMap((citation) => citation.papers ?? [])];
    return [...new Set(ids.filter(Boolean))];
  }

  /** The first finding at a position. */
  findingAt(cursor) {
    return [...this.faults, ...this.claims].find(({ begin, end }) => begin <= cursor && cursor <= end);
  }

  /** Gaps and uncited claims, in the order of the text. */
  stops() {
    return [...this.citations.filter((citation) => citation.gap), ...this.claims].sort((a, b) => a.begin - b.begin);
  }
}
