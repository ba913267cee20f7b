/** The keys that do something, as one table: it answers the keys and it fills the help. */

import { $, h } from "./dom.js";

const HELP = [
  [
    "Anywhere",
    [
      ["F8", "next gap or uncited claim"],
      ["Shift F8", "the one before"],
      ["Ctrl Enter", "from the text to the suggestions"],
      ["Esc", "back to the text, or close"],
      ["/", "search the library"],
      ["?", "these keys"],
    ],
  ],
  [
    "In the suggestions",
    [
      ["↓ ↑ or j k", "next, previous"],
      ["Enter or c", "cite here, or take it back"],
      ["r", "related papers"],
      ["x", "dismiss"],
      ["o", "open the paper"],
      ["u", "show the refined list"],
    ],
  ],
];

/** Listen for keys; `acts` are `step(forward)`, `suggestions()`, `search()`. */
export function shortcuts(acts) {
  $("keys").replaceChildren(...HELP.map(([where, keys]) => section(where, keys)));
  $("help").addEventListener("click", () => $("shortcuts").showModal());
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const writing = event.target.matches?.("input, textarea, select");
    if (event.key === "F8") acts.step(!event.shiftKey);
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) acts.suggestions();
    else if (event.key === "?" && !writing) $("shortcuts").showModal();
    else if (event.key === "/" && !writing) acts.search();
    else return;
    event.preventDefault();
  });
}

function section(where, keys) {
  const rows = keys.map(([key, does]) =>
    h(
      "div",
      {},
      h(
        "dt",
        {},
        key.split(" ").map((each) => (/^or$/.test(each) ? " or " : h("kbd", {}, each))),
      ),
      h("dd", {}, does),
    ),
  );
  return h("section", {}, h("h3", {}, where), h("dl", {}, rows));
}
