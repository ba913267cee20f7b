/** The heading of the suggestions: which place they are for, and how complete they are. */

import { $, counted, h } from "./dom.js";

const HEADINGS = {
  gap: "For this gap",
  citation: "Next to this citation",
  sentence: "For this sentence",
  paragraph: "For this new paragraph",
  whole: "For the whole manuscript",
};
const STAGES = {
  searching: "Searching …",
  fast: "Fast results, refining …",
  refined: "Refined results",
  failed: "No results",
  unrefined: "Fast results; refining them failed",
};
const [LEFT, RIGHT, WHOLE] = [110, 50, 160];

/** The name of a place as a heading: "For this gap". */
export const headingOf = (place) => HEADINGS[place.kind];

/** The same within a sentence: "this gap". */
export const nameOf = (place) => HEADINGS[place.kind].replace(/^(?:For|Next to) /, "");

/** Show which place the suggestions are for and what the check reports there, or which paper they are related to. */
export function showHeading(place, { title, relatedTo, isEmpty, finding }) {
  $("place").textContent = relatedTo ? `Related to “${relatedTo.title}”` : isEmpty ? "Suggestions" : headingOf(place);
  $("context").replaceChildren(...(relatedTo || isEmpty ? [] : context(place, title)));
  $("back").hidden = !relatedTo;
  $("finding").hidden = !finding || Boolean(relatedTo);
  $("finding").textContent = finding ? capital(finding.message) : "";
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Show how complete the results are. */
export function showStage(stage) {
  $("stage").textContent = STAGES[stage] ?? "";
  $("stage").dataset.stage = stage;
}

/** Show what the library lacks for these results, such as vectors that are still being computed, in one line. */
export function showNotes(id, notes = []) {
  const [first, ...others] = notes.map(capital);
  const summary = h("summary", {}, `${first} (${counted(others.length, "more note")})`);
  const list = h("ul", {}, others.map((note) => h("li", {}, note)));
  $(id).hidden = !notes.length;
  $(id).replaceChildren(others.length ? h("details", {}, summary, list) : (first ?? ""));
}

/** The text around the place, with a marker where the citation goes. */
function context({ query }, title) {
  const text = query.task === "global" ? title : query.context;
  const [before, after] = text.replaceAll("OTHERCIT", "[…]").split("TARGETCIT");
  if (after === undefined) return [text.length > WHOLE ? `${text.slice(0, WHOLE).replace(/\s\S*$/, "")} …` : text];
  const left = before.length > LEFT ? `… ${before.slice(-LEFT).replace(/^\S*\s/, "")}` : before;
  const right = after.length > RIGHT ? `${after.slice(0, RIGHT).replace(/\s\S*$/, "")} …` : after;
  return [left, h("span", { class: "spot" }, "here"), right.replace(/^\s+(?=[.,;:!?)])/, "")];
}
