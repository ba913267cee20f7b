/** Light or dark: as the system says, unless the switch was used. Loaded before the first paint, so that nothing flashes. */

import { keep, recalled } from "./memory.js";

const root = document.documentElement;
const chosen = recalled("theme", "");
if (chosen) root.dataset.theme = chosen;

const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** Make a button the switch. */
export function switchTheme(button) {
  const show = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    keep("theme", root.dataset.theme);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}
