/**
 * What the page says: aloud to those who listen (a live region), as a line that goes away, or as a line that stays until it
 * is settled.
 */

import { $, h } from "./dom.js";

const SECONDS = 8;
let later;

/** Tell screen readers, once things have come to rest. */
export function announce(text) {
  clearTimeout(later);
  later = setTimeout(() => ($("aloud").textContent = text), 250);
}

/** Show a line for a few seconds, with at most one thing to do about it; it waits for a hand that is on it. */
export function tell(text, action, seconds = SECONDS) {
  const line = notice(text, action);
  const goes = () => (line.matches(":hover, :focus-within") ? setTimeout(goes, 1000) : line.remove());
  setTimeout(goes, seconds * 1000);
  return line;
}

/** Show what went wrong, until it is put away; what was called off, or has a line of its own, is not told here. */
export function complain(error) {
  if (error.name === "AbortError" || error.name === "AwayError") return;
  for (const old of $("notices").children) if (old.dataset.text === error.message) old.remove();
  notice(error.message, undefined, "wrong");
}

function notice(text, action, kind = "") {
  const button = action && h("button", { type: "button", click: () => (line.remove(), action.act()) }, action.name);
  const close = h(
    "button",
    { type: "button", class: "close", "aria-label": "Put this message away", click: () => line.remove() },
    "×",
  );
  const line = h(
    "div",
    { class: `notice ${kind}`, role: kind ? "alert" : "status", "data-text": text },
    h("p", {}, text),
    button,
    close,
  );
  $("notices").append(line);
  return line;
}
