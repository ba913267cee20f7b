/** The library view: what is in it, its papers by year, files to add, and a place to ask it. */

import { adding } from "./adding.js";
import { $, counted, h } from "./dom.js";
import { complain } from "./notices.js";
import { Searching } from "./searching.js";
import { get } from "./server.js";
import { plot } from "./years.js";

export class LibraryView {
  /** `open(paper)` shows a paper whole; `changed()` is called when papers were added. */
  constructor({ open, changed }) {
    this.searching = new Searching({ open });
    new ResizeObserver(() => this.#plot()).observe($("years"));
    adding(() => {
      this.show();
      changed();
    });
  }

  /** Draw what the library holds now. */
  async show() {
    try {
      const info = await get("library");
      $("holdings").replaceChildren(
        ...holdings(info).flatMap(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
      );
      this.years = info.years;
      this.#plot();
      await this.searching.look();
    } catch (error) {
      complain(error);
    }
  }

  /** Draw the years as wide as there is room. */
  #plot() {
    const width = Math.floor($("years").clientWidth);
    if (!width || !this.years || (this.drawn?.width === width && this.drawn.years === this.years)) return;
    this.drawn = { width, years: this.years };
    $("years").replaceChildren(plot(this.years, width, (since, before) => this.searching.within(since, before)));
  }
}

function holdings(info) {
  const number = (value) => value.toLocaleString("en");
  const rows = [
    ["Papers", number(info.papers)],
    ["with an abstract", number(info.with_abstract)],
    ["Citations between them", number(info.citations)],
    ["Contexts", number(info.contexts)],
    ["On disk", size(info.bytes)],
  ];
  const behind = (info.vectors ?? []).filter(({ complete }) => !complete);
  if (info.papers && behind.length) {
    const left = Math.max(...behind.map(({ papers, of }) => of - papers));
    rows.push(["Meaning", `being read: ${counted(left, "paper")} left`]);
  }
  return rows;
}

function size(bytes) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const at = bytes ? Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3)) : 0;
  return `${(bytes / 1000 ** at).toLocaleString("en", { maximumFractionDigits: at ? 1 : 0 })} ${units[at]}`;
}
