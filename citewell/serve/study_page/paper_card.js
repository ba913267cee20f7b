/** The card of a suggested paper with its three buttons. */

import { byline, h } from "../page/dom.js";

/** @typedef {import("./types.js").Mark} Mark */

/** The marks, their labels and keys. @type {[Mark, string, string][]} */
export const MARKS = [
  ["relevant", "Relevant", "1"],
  ["irrelevant", "Not relevant", "2"],
  ["unclear", "Unclear", "3"],
];

/**
 * The card of a paper in one column; `others` are the labels of other columns that have it too.
 *
 * @param {import("./types.js").Paper} paper
 * @param {{ rank: number, label: string, others: string[], mark: (mark: Mark) => void }} place
 */
export function paperCard(paper, { rank, label, others, mark }) {
  const name = `paper-${label}-${rank}`;
  return h(
    "li",
    { class: "paper", tabindex: -1, "data-id": paper.id, "aria-labelledby": name },
    h("span", { class: "rank", "aria-hidden": "true" }, `${rank}.`),
    h("h4", { id: name }, paper.title),
    h("p", { class: "byline" }, byline(paper)),
    paper.abstract
      ? h("details", {}, h("summary", {}, "Abstract"), h("p", {}, paper.abstract))
      : h("p", { class: "also" }, "No abstract"),
    others.length > 0 && h("p", { class: "also" }, `Also in ${others.join(" and ")}: one mark for all`),
    h(
      "div",
      { class: "marks", role: "group", "aria-label": `Your mark for ${paper.title}` },
      MARKS.map(([value, text, key]) => button(value, text, key, () => mark(value))),
    ),
  );
}

function button(value, text, key, click) {
  return h(
    "button",
    { type: "button", "data-value": value, "aria-pressed": "false", "aria-keyshortcuts": key, title: `Key ${key}`, click },
    text,
  );
}

/** Show the mark of a card, or that it has none. */
export function showMark(card, mark) {
  if (mark) card.dataset.mark = mark;
  else delete card.dataset.mark;
  for (const each of card.querySelectorAll(".marks button"))
    each.setAttribute("aria-pressed", String(each.dataset.value === mark));
}
