/** Keyboard shortcuts and the help that lists them. */

import { $, h } from "./dom.js";

const HELP = [
  [
    "Anywhere",
    [
      ["F8", "next gap or uncited claim"],
      ["Shift F8", "previous gap or uncited claim"],
      ["Ctrl Enter", "go to the suggestions"],
      ["Esc", "back to the text, or close a dialog"],
      ["/", "search the library"],
      ["?", "show these shortcuts"],
    ],
  ],
  [
    "In the suggestions",
    [
      ["↓ ↑ or j k", "next, previous"],
      ["Enter or c", "cite here, or undo that"],
      ["r", "related papers"],
      ["x", "dismiss"],
      ["o", "open the paper"],
      ["u", "show the refined list"],
    ],
  ],
];

/** Set up the shortcuts; `acts` has `step(forward)`, `suggestions()` and `search()`. */
export function shortcuts(acts) {
  $("keys").replaceChildren(...HELP.map(([where, keys]) => section(where, keys)));
  $("help").addEventListener("click", () => $("shortcuts").showModal());
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const writing = /** @type {Element} */ (event.target).matches?.("input, textarea, select");
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
