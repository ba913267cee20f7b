/** The keyboard: marks, moving between papers, and the buttons below. */

import { $, h } from "../page/dom.js";
import { MARKS } from "./paper_card.js";

const HELP = [
  ["↓ ↑ or j k", "next, previous paper of the column"],
  ["← → or h l", "column on the left, on the right"],
  ["1", "relevant, and on to the next paper without a mark"],
  ["2", "not relevant"],
  ["3", "unclear"],
  ["o", "open or close the abstract"],
  ["x", "mark the rest as not relevant"],
  ["i", "the text does not suffice"],
  ["s", "skip this text"],
  ["n", "next text"],
  ["b", "back to the text before"],
  ["?", "show this help"],
];
const MOVES = {
  ArrowDown: [0, 1],
  j: [0, 1],
  ArrowUp: [0, -1],
  k: [0, -1],
  ArrowRight: [1, 0],
  l: [1, 0],
  ArrowLeft: [-1, 0],
  h: [-1, 0],
};
const BUTTONS = { x: "rest", i: "insufficient", s: "skip", n: "next", b: "back" };

/** Set up the keys. */
export function listen() {
  const rows = HELP.map(([key, does]) =>
    h(
      "div",
      {},
      h(
        "dt",
        {},
        key.split(" ").map((each) => (each === "or" ? " or " : h("kbd", {}, each))),
      ),
      h("dd", {}, does),
    ),
  );
  $("keys").replaceChildren(h("dl", {}, rows));
  $("help").addEventListener("click", () => $("shortcuts").showModal());
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector("dialog[open]") ||
      target.matches?.("input, textarea, select")
    )
      return;
    if (act(event.key)) event.preventDefault();
  });
}

function act(key) {
  if (key === "?") return ($("shortcuts").showModal(), true);
  if ($("judging").hidden) return false;
  if (BUTTONS[key]) return ($(BUTTONS[key]).click(), true);
  if (MOVES[key]) return (move(...MOVES[key]), true);
  const card = current();
  if (!card) return false;
  const mark = MARKS.find(([, , shortcut]) => shortcut === key);
  if (mark) {
    /** @type {HTMLElement} */ (card.querySelector(`[data-value=${mark[0]}]`)).click();
    return (toNextUnmarked(card), true);
  }
  if (key === "o") return (card.querySelector("summary")?.click(), true);
  return false;
}

const current = () => /** @type {HTMLElement} */ (document.activeElement?.closest(".paper"));
const columns = () =>
  [...$("columns").querySelectorAll(".column")].map(
    (column) => /** @type {HTMLElement[]} */ ([...column.querySelectorAll(".paper")]),
  );

/** Move the focus by columns and rows; from elsewhere to the first paper. */
function move(across, down) {
  const grid = columns();
  const card = current();
  const column = grid.findIndex((cards) => cards.includes(card));
  if (column < 0) return focus(grid.flat()[0]);
  const row = grid[column].indexOf(card);
  const to = grid[Math.min(Math.max(column + across, 0), grid.length - 1)];
  focus(to[Math.min(Math.max(row + down, 0), to.length - 1)]);
}

/** Focus the next paper without a mark, column by column, or the button for the next text. */
function toNextUnmarked(card) {
  const cards = columns().flat();
  const at = cards.indexOf(card);
  const open = [...cards.slice(at + 1), ...cards.slice(0, at)].find((each) => !each.dataset.mark);
  focus(open ?? $("next"));
}

function focus(element) {
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block: "nearest" });
}
