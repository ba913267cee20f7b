/** Filters of the suggestions: years, venue, and papers of the user's own bibliography. */

import { $ } from "./dom.js";
import { load, store } from "./storage.js";

const FIELDS = /** @type {const} */ (["since", "before", "venue", "bibliography-filter"]);
const CLEARED = /** @type {const} */ (["since", "before", "venue"]);

export class Filters {
  constructor(changed) {
    const stored = load("filters", {});
    for (const name of FIELDS) {
      $(name).value = stored[name] ?? $(name).value;
      $(name).addEventListener("input", () => {
        this.#show();
        store("filters", Object.fromEntries(FIELDS.map((each) => [each, $(each).value])));
        changed();
      });
    }
    $("clear-filters").addEventListener("click", () => {
      this.clear();
      $("since").focus();
    });
    this.#show();
  }

  /** Clear all filters. */
  clear() {
    for (const name of CLEARED) $(name).value = "";
    $("bibliography-filter").value = "new";
    $("bibliography-filter").dispatchEvent(new Event("input"));
  }

  /** Papers of the draft's bibliography: `new` hides them, `all` includes them, `only` shows nothing else. */
  get bibliography() {
    return $("bibliography-filter").value;
  }

  /** How many filters are set. */
  get count() {
    return CLEARED.filter((name) => $(name).value.trim()).length + Number(this.bibliography !== "new");
  }

  /** The fields of a request that filter. */
  query() {
    return { since: year($("since").value), before: year($("before").value), venue: $("venue").value.trim() };
  }

  #show() {
    $("filters-title").textContent = this.count ? `Filters (${this.count} active)` : "Filters";
    $("clear-filters").hidden = !this.count;
  }
}

/** The year in a text field; null until it has four digits. */
export function year(text) {
  return /^\d{4}$/.test(text.trim()) ? Number(text) : null;
}
