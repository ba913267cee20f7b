/** The library view: statistics, papers by year, imports, and search. */

import { setUpImports } from "./imports.js";
import { $, counted, h } from "./dom.js";
import { showError } from "./notices.js";
import { Search } from "./search.js";
import { get } from "./server.js";
import { plot } from "./years.js";

export class LibraryView {
  /** `open(paper)` shows a paper; `changed()` is called when papers were added. */
  constructor({ open, changed }) {
    this.search = new Search({ open });
    new ResizeObserver(() => this.#plot()).observe($("years"));
    setUpImports(() => {
      this.show();
      changed();
    });
  }

  /** Show the current state of the library. */
  async show() {
    try {
      const info = await get("library");
      $("library-stats").replaceChildren(
        ...statistics(info).flatMap(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
      );
      this.years = info.years;
      this.#plot();
      await this.search.update();
    } catch (error) {
      showError(error);
    }
  }

  /** Draw the plot of years in the available width. */
  #plot() {
    const width = Math.floor($("years").clientWidth);
    if (!width || !this.years || (this.plotted?.width === width && this.plotted.years === this.years)) return;
    this.plotted = { width, years: this.years };
    $("years").replaceChildren(plot(this.years, width, (since, before) => this.search.within(since, before)));
  }
}

function statistics(info) {
  const number = (value) => value.toLocaleString("en");
  const rows = [
    ["Papers", number(info.papers)],
    ["With abstract", number(info.with_abstract)],
    ["Citations", number(info.citations)],
    ["Citation contexts", number(info.contexts)],
    ["Size on disk", size(info.bytes)],
  ];
  const behind = (info.vectors ?? []).filter(({ complete }) => !complete);
  if (info.papers && behind.length) {
    const left = Math.max(...behind.map(({ papers, of }) => of - papers));
    const computing = behind.some(({ at_work }) => at_work);
    rows.push(["Vectors", computing ? `computing: ${counted(left, "paper")} left` : `missing for ${counted(left, "paper")}`]);
  }
  return rows;
}

function size(bytes) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const at = bytes ? Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3)) : 0;
  return `${(bytes / 1000 ** at).toLocaleString("en", { maximumFractionDigits: at ? 1 : 0 })} ${units[at]}`;
}
