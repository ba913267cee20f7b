/** The card of a suggested paper: title, quoted sentence, reasons, citation path, details, and buttons. */

import { byline, h } from "./dom.js";
import { pathOf } from "./graph.js";
import { highlight } from "./highlight.js";

const MAX_REASONS = 3; // on the card; the others are in its details

/** The card; `marks` says whether the paper is `chosen` or `known`, `acts` has the actions of its buttons. */
export function card(suggestion, { titles, start, marks, acts }) {
  const { id, title } = suggestion;
  const name = `card-${suggestion.rank}`;
  const words = suggestion.reasons.filter(({ kind }) => kind === "words").flatMap(({ data }) => data);
  return h(
    "li",
    { class: `card ${marks.chosen ? "chosen" : ""}`, tabindex: -1, "data-id": id, "aria-labelledby": name },
    h(
      "h3",
      { id: name },
      h("button", { type: "button", class: "title", "data-act": "open", click: () => acts.open(suggestion) }, title || id),
    ),
    h("p", { class: "byline" }, byline(suggestion), marks.known && h("span", { class: "badge" }, "in your bibliography")),
    quote(suggestion, words),
    reasonList(suggestion),
    pathOf(suggestion, titles, start),
    details(suggestion),
    h(
      "div",
      { class: "actions" },
      action(
        "cite",
        marks.chosen ? "Cited" : "Cite",
        () => acts.cite(suggestion),
        { class: "main", "aria-pressed": String(marks.chosen) },
        title,
      ),
      action("related", "Related", () => acts.related(suggestion), {}, title),
      acts.dismiss && action("dismiss", "Dismiss", () => acts.dismiss(suggestion), {}, title),
    ),
  );
}

function action(name, label, act, properties, title) {
  return h(
    "button",
    { type: "button", "data-act": name, click: act, ...properties },
    label,
    h("span", { class: "visually-hidden" }, ` ${title}`),
  );
}

/** The sentence that matches best. */
function quote({ sentences: [sentence] }, words) {
  return sentence && h("blockquote", {}, highlight(sentence.text, [...sentence.words, ...words]));
}

/** The most important reasons in words. */
function reasonList({ reasons }) {
  const lines = inWords(reasons).slice(0, MAX_REASONS);
  return lines.length > 0 && h("ul", { class: "reasons" }, lines.map(({ text }) => h("li", {}, text)));
}

/** The other reasons, scores and features, hidden until the user opens them. */
function details({ reasons, score }) {
  const others = [...inWords(reasons).slice(MAX_REASONS), ...reasons.filter(({ detail }) => detail)];
  const lines = others.map(({ text }) => h("li", {}, text));
  return h("details", {}, h("summary", {}, "Details"), h("ul", {}, lines, h("li", {}, `Score: ${score.toFixed(2)}.`)));
}

const inWords = (reasons) => reasons.filter(({ detail }) => !detail);
