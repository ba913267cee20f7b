/** Light or dark mode: the system's setting, unless the user switched. Loaded before the first paint to avoid a flash. */

import { load, store } from "./storage.js";

const root = document.documentElement;
const chosen = load("theme", "");
if (chosen) root.dataset.theme = chosen;

const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** Make a button switch the mode. */
export function switchTheme(button) {
  const show = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    store("theme", root.dataset.theme);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}
