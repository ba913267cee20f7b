/**
 * What the server read in the draft, kept in step with the typing: titles, paragraphs, sentences, citations and uncited claims,
 * all in UTF-16 units of the text as it now stands.
 */

import { survivors } from "./edits.js";
import { Offsets } from "./offsets.js";

const PLACED = ["uncited-claim", "missing-key"]; // the findings that stand in the text; the others are in the bibliography

export class Reading {
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
    /** What was found in the bibliography, a sentence each. */
    this.notes = [];
    this.bibliography = [];
    /** Stretches that were typed in since the server read them. */
    this.fresh = [];
  }

  /** What POST /api/draft said of `text`, which may be a part of a draft that `about` tells of. */
  static of(answer, text, before, about = {}) {
    const reading = new Reading();
    const offsets = new Offsets(text);
    const here = (each) => ({ ...each, begin: offsets.units(each.begin), end: offsets.units(each.end) });
    reading.title = answer.title || about.title || "";
    reading.abstract = answer.abstract || about.abstract || "";
    reading.authors = answer.authors?.length ? answer.authors : (about.authors ?? []);
    reading.format = answer.format;
    reading.bibliography = answer.bibliography;
    reading.citations = answer.citations.map(here);
    reading.paragraphs = answer.paragraphs.map((each) => ({ ...here(each), count: each.sentences.length }));
    reading.sentences = answer.paragraphs.flatMap((each) => each.sentences.map(here));
    reading.claims = before.claims;
    reading.faults = before.faults;
    reading.notes = before.notes;
    return reading;
  }

  /** Take in what POST /api/check found in `text`. */
  audit(findings, text) {
    const offsets = new Offsets(text);
    const here = (each) => ({ ...each, begin: offsets.units(each.begin), end: offsets.units(each.end) });
    const of = (kind) => findings.filter((each) => each.kind === kind).map(here);
    this.claims = of("uncited-claim");
    this.faults = of("missing-key");
    this.notes = findings.filter(({ kind }) => !PLACED.includes(kind)).map(({ message }) => message);
  }

  /** Move everything with an edit. */
  follow(edit) {
    for (const name of ["citations", "sentences", "paragraphs", "claims", "faults", "fresh"])
      this[name] = survivors(this[name], edit);
    this.fresh.push({ begin: edit.begin, end: edit.end + edit.moved });
  }

  /** Whether a stretch was typed in since the server read it. */
  isFresh({ begin, end }) {
    return this.fresh.some((each) => each.begin <= end && each.end >= begin);
  }

  /** What to mark in the text. */
  marks() {
    const kinds = (list, kind) => list.map(({ begin, end }) => ({ begin, end, kind }));
    return [
      ...kinds(this.claims, "claim"),
      ...kinds(this.faults, "fault"),
      ...this.citations.map(({ begin, end, gap }) => ({ begin, end, kind: gap ? "gap" : "citation" })),
    ];
  }

  /** Library ids of what the draft cites or lists. */
  known() {
    const ids = [...this.bibliography.map((entry) => entry.id), ...this.citations.flatMap((citation) => citation.papers ?? [])];
    return [...new Set(ids.filter(Boolean))];
  }

  /** What was found at a place: the first claim or fault that it stands in. */
  findingAt(cursor) {
    return [...this.faults, ...this.claims].find(({ begin, end }) => begin <= cursor && cursor <= end);
  }

  /** Gaps, then claims without a citation, as places to go to, in the order of the text. */
  stops() {
    return [...this.citations.filter((citation) => citation.gap), ...this.claims].sort((a, b) => a.begin - b.begin);
  }
}
