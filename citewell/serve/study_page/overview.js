/** The progress in the header, and the dialog with all contexts. */

import { $, h } from "../page/dom.js";

const NAMES = { open: "not begun", begun: "begun", done: "done", skipped: "skipped", insufficient: "text does not suffice" };

/**
 * Show how far the judge is; `go(number)` opens a context.
 *
 * @param {import("./types.js").Status[]} statuses
 * @param {number} current
 * @param {(number: number) => void} go
 */
export function showProgress(statuses, current, go) {
  const judged = statuses.filter((status) => status !== "open" && status !== "begun").length;
  const bar = /** @type {HTMLProgressElement} */ ($("progress"));
  bar.max = statuses.length;
  bar.value = judged;
  $("progress-text").textContent = `${judged} of ${statuses.length} texts`;
  const counts = Object.entries(NAMES).map(([status, name]) => [statuses.filter((each) => each === status).length, name]);
  $("overview-counts").textContent = counts
    .filter(([count]) => count)
    .map(([count, name]) => `${count} ${name}`)
    .join(" · ");
  $("overview-list").replaceChildren(...statuses.map((status, at) => entry(status, at + 1, current, go)));
}

function entry(status, number, current, go) {
  const label = `Text ${number}: ${NAMES[status]}`;
  const here = number === current ? "true" : undefined;
  return h(
    "li",
    {},
    h(
      "button",
      {
        type: "button",
        "data-status": status,
        "aria-label": label,
        "aria-current": here,
        title: NAMES[status],
        click: () => go(number),
      },
      number,
    ),
  );
}

/**
 * The next context that is not judged yet after `from`, in a circle; 0 if there is none.
 *
 * @param {import("./types.js").Status[]} statuses
 */
export function nextOpen(statuses, from) {
  const order = [...statuses.keys()].map((at) => (from + at) % statuses.length);
  const found = order.find((at) => statuses[at] === "open" || statuses[at] === "begun");
  return found === undefined ? 0 : found + 1;
}
