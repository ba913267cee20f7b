/** What the suggestions are for, in words. */

import { $, h } from "./dom.js";

const HEADINGS = {
  gap: "For this gap",
  citation: "Beside this citation",
  sentence: "For this sentence",
  paragraph: "For the paragraph begun here",
  whole: "For the whole manuscript",
};
const STAGES = {
  asking: "Looking …",
  quick: "Quick answer, refining …",
  refined: "Refined",
  failed: "No answer",
  unrefined: "Quick answer, which could not be refined",
};
const [LEFT, RIGHT, WHOLE] = [110, 50, 160];

/** The name of a place as a heading: "For this gap". */
export const headingOf = (place) => HEADINGS[place.kind];

/** The same within a sentence: "this gap". */
export const nameOf = (place) => HEADINGS[place.kind].replace(/^(?:For|Beside) /, "");

/** Say for what place suggestions are shown and what was found there, or to which paper they are related. */
export function showHeading(place, { title, relatedTo, isEmpty, finding }) {
  $("place").textContent = relatedTo ? `Related to “${relatedTo.title}”` : isEmpty ? "Suggestions" : headingOf(place);
  $("context").replaceChildren(...(relatedTo || isEmpty ? [] : context(place, title)));
  $("back").hidden = !relatedTo;
  $("finding").hidden = !finding || Boolean(relatedTo);
  $("finding").textContent = finding ? capital(finding.message) : "";
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Say how far the answer is. */
export function showStage(stage) {
  $("stage").textContent = STAGES[stage] ?? "";
  $("stage").dataset.stage = stage;
}

/** The words round the place, with a sign where the citation goes. */
function context({ query }, title) {
  const said = query.task === "global" ? title : query.context;
  const [before, after] = said.replaceAll("OTHERCIT", "[…]").split("TARGETCIT");
  if (after === undefined) return [said.length > WHOLE ? `${said.slice(0, WHOLE).replace(/\s\S*$/, "")} …` : said];
  const left = before.length > LEFT ? `… ${before.slice(-LEFT).replace(/^\S*\s/, "")}` : before;
  const right = after.length > RIGHT ? `${after.slice(0, RIGHT).replace(/\s\S*$/, "")} …` : after;
  return [left, h("span", { class: "spot" }, "here"), right.replace(/^\s+(?=[.,;:!?)])/, "")];
}
