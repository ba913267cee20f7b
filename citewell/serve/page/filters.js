/** What of the library is looked at: years, venue, and whether papers of one's own bibliography are shown. */

import { $ } from "./dom.js";
import { keep, recalled } from "./memory.js";

const FIELDS = ["since", "before", "venue", "mine"];

export class Filters {
  constructor(changed) {
    const kept = recalled("filters", {});
    for (const name of FIELDS) {
      $(name).value = kept[name] ?? $(name).value;
      $(name).addEventListener("input", () => {
        this.#show();
        keep("filters", Object.fromEntries(FIELDS.map((each) => [each, $(each).value])));
        changed();
      });
    }
    $("unfilter").addEventListener("click", () => {
      this.clear();
      $("since").focus();
    });
    this.#show();
  }

  /** Take all filters away. */
  clear() {
    for (const name of ["since", "before", "venue"]) $(name).value = "";
    $("mine").value = "new";
    $("mine").dispatchEvent(new Event("input"));
  }

  /** `new`: what the draft does not cite yet; `all`; `only`: what it lists already. */
  get mine() {
    return $("mine").value;
  }

  /** How many filters are set. */
  get count() {
    return ["since", "before", "venue"].filter((name) => $(name).value.trim()).length + Number(this.mine !== "new");
  }

  /** The part of a question that filters. */
  query() {
    return { since: year($("since").value), before: year($("before").value), venue: $("venue").value.trim() };
  }

  #show() {
    $("filters-title").textContent = this.count ? `Filters (${this.count} set)` : "Filters";
    $("unfilter").hidden = !this.count;
  }
}

/** A year that was typed in full; nothing while it is being typed. */
export function year(text) {
  return /^\d{4}$/.test(text.trim()) ? Number(text) : null;
}
