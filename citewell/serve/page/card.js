/** A suggested paper as a person sees it: what it is, the sentence that bears on the spot, the reasons, and what to do with it. */

import { byline, h } from "./dom.js";
import { pathOf } from "./graph.js";
import { highlighted } from "./words.js";

const NAMES = {
  meaning: "Meaning",
  shares: "Weights",
  reading: "Reading",
  citations: "Citations",
  links: "Links",
  path: "Path",
  company: "Company",
};

/** The card; `marks` says what is known of the paper (`chosen`, `known`), `acts` what its buttons do. */
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
    words.length > 0 && h("p", { class: "words" }, h("span", { class: "label" }, "Words "), words.join(", ")),
    pathOf(suggestion, titles, start),
    others(suggestion),
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
    h("span", { class: "unseen" }, ` ${title}`),
  );
}

function quote({ reasons }, words) {
  const found = reasons.find(({ kind }) => kind === "sentence");
  return found && h("blockquote", {}, highlighted(found.data[0] ?? found.text, words));
}

/** The reasons that need no room of their own, behind a small handle. */
function others({ reasons }) {
  const rest = reasons.filter(({ kind }) => kind !== "sentence" && kind !== "words");
  if (!rest.length) return null;
  const lines = rest.map(({ kind, text }) => h("li", {}, h("span", { class: "label" }, `${NAMES[kind] ?? kind} `), text));
  return h("details", {}, h("summary", {}, "All reasons"), h("ul", {}, lines));
}
