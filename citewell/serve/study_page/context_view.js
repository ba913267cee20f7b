/** Shows one context: its text, the columns, the marks, and how far it is. */

import { $, counted, h } from "../page/dom.js";
import { paperCard, showMark } from "./paper_card.js";

/** @typedef {import("./types.js").Context} Context */

const ASK = {
  local: "Would you cite this paper at the marked place?",
  paragraph: "Would you cite this paper in the paragraph that begins with this sentence?",
  global: "Would you cite this paper in the work with this title and abstract?",
  evidence: "Does this paper answer the question, or bear on the claim?",
};
const STATUS = { done: "all marked", skipped: "skipped", insufficient: "text does not suffice" };
const UNDO = "Mark a paper to take that back.";

/**
 * Show a context; `mark(paper, mark)` is called when a button is pressed.
 *
 * @param {Context} context
 * @param {{ about: import("./types.js").About, mark: (paper: string, mark: import("./types.js").Mark) => void }} options
 */
export function showContext(context, { about, mark }) {
  $("number").textContent = `Text ${context.number} of ${about.contexts}`;
  $("citing").hidden = !context.title;
  $("citing-title").textContent = context.title;
  $("text").replaceChildren(...context.pieces.map(piece));
  $("abstract").hidden = !context.abstract;
  const abstract = /** @type {HTMLDetailsElement} */ ($("abstract"));
  abstract.open = about.task === "global";
  $("abstract-text").textContent = context.abstract;
  $("ask").textContent = ASK[about.task];
  $("columns").style.setProperty("--columns", String(context.columns.length));
  $("columns").replaceChildren(...context.columns.map((column) => columnOf(column, context, mark)));
  showAnswer(context);
}

function piece({ kind, text }) {
  if (kind === "gap") return h("span", {}, " ", h("mark", { class: "spot" }, "citation here"));
  return kind === "citation" ? h("span", { class: "other", title: "another citation" }, " […]") : text;
}

function columnOf({ label, papers }, context, mark) {
  const others = (paper) =>
    context.columns.filter((each) => each.label !== label && each.papers.includes(paper)).map((each) => each.label);
  const cards = papers.map((paper, at) =>
    paperCard(context.papers[paper], { rank: at + 1, label, others: others(paper), mark: (value) => mark(paper, value) }),
  );
  return h(
    "section",
    { class: "column", "aria-labelledby": `column-${label}` },
    h("h3", { id: `column-${label}` }, h("b", {}, label), "Recommender ", label),
    cards.length ? h("ol", {}, cards) : h("p", { class: "empty" }, "This recommender suggests nothing."),
  );
}

/** Tell the style how high the text is that stays in view, so that no focused paper is under it. */
export function watchHeight() {
  const measure = () => {
    const stays = getComputedStyle($("question")).position === "sticky";
    $("columns").style.setProperty("--top", stays ? `${$("question").offsetHeight}px` : "0px");
  };
  new ResizeObserver(measure).observe($("question"));
}

/** Show the marks and the status. @param {Context} context */
export function showAnswer(context) {
  for (const card of /** @type {NodeListOf<HTMLElement>} */ ($("columns").querySelectorAll(".paper")))
    showMark(card, context.marks[card.dataset.id]);
  const all = Object.keys(context.papers).length;
  const left = all - Object.keys(context.marks).length;
  const out = context.status === "skipped" || context.status === "insufficient";
  $("status").hidden = !STATUS[context.status];
  $("status").textContent = out ? `${STATUS[context.status]} – ${UNDO}` : (STATUS[context.status] ?? "");
  $("marked").textContent = left ? `${all - left} of ${counted(all, "paper")} marked` : `all ${all} papers marked`;
  $("skip").setAttribute("aria-pressed", String(context.status === "skipped"));
  $("insufficient").setAttribute("aria-pressed", String(context.status === "insufficient"));
  /** @type {HTMLButtonElement} */ ($("rest")).disabled = !left || out;
  $("next").classList.toggle("main", !left || out);
}
