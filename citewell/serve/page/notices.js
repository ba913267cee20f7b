/** Messages: to screen readers (a live region), as a notice that disappears, or as an error that stays until it is closed. */

import { $, h } from "./dom.js";

const SECONDS = 8;
let timer;

/** Announce a text to screen readers; of several in quick succession only the last. */
export function announce(text) {
  clearTimeout(timer);
  timer = setTimeout(() => ($("live-region").textContent = text), 250);
}

/** Show a notice for a few seconds, with at most one button; it stays while the pointer or the focus is on it. */
export function notify(text, action, seconds = SECONDS) {
  const line = notice(text, action);
  const expire = () => (line.matches(":hover, :focus-within") ? setTimeout(expire, 1000) : line.remove());
  setTimeout(expire, seconds * 1000);
  return line;
}

/** Show an error until it is closed. Cancelled requests are not errors, and the page has its own line for a lost connection. */
export function showError(error) {
  if (error.name === "AbortError" || error.name === "OfflineError") return;
  for (const old of /** @type {Iterable<HTMLElement>} */ ($("notices").querySelectorAll(":scope > *"))) if (old.dataset.text === error.message) old.remove();
  notice(error.message, undefined, "wrong");
}

function notice(text, action, kind = "") {
  const button = action && h("button", { type: "button", click: () => (line.remove(), action.act()) }, action.name);
  const close = h(
    "button",
    { type: "button", class: "close", "aria-label": "Close this message", click: () => line.remove() },
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
