/** A bar chart of papers per year. Years share a bar if there is no room for each. */

import { counted, h, svg } from "./dom.js";

const [HEIGHT, FOOT, TOP] = [170, 24, 18];
const [BAR, LABEL] = [11, 52]; // the minimum widths of a bar and a label
const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** The chart, `width` pixels wide; `choose(since, before)` is called when a bar is clicked. */
export function plot(years, width, choose) {
  const bins = binned(years, Math.floor(width / BAR));
  if (!bins.length) return h("p", { class: "empty" }, "No paper in the library has a year.");
  const most = Math.max(...bins.map(({ count }) => count));
  const step = width / bins.length;
  const bars = bins.map((bin, at) => bar(bin, at, step, most, choose));
  const drawing = svg(
    "svg",
    { width, height: HEIGHT, class: "plot", role: "group", "aria-label": "Papers by year" },
    svg("line", { x1: 0, x2: width, y1: HEIGHT - FOOT, y2: HEIGHT - FOOT }),
    bars,
    labels(bins, step),
    svg("text", { x: width, y: 11, "text-anchor": "end" }, `tallest bar: ${counted(most, "paper")}`),
  );
  drawing.addEventListener("keydown", (event) => roved(event, bars));
  return drawing;
}

function bar({ since, before, count }, at, step, most, choose) {
  const name = `${before - since === 1 ? since : `${since} to ${before - 1}`}: ${counted(count, "paper")}`;
  const tall = count && Math.max(2, (count / most) * (HEIGHT - FOOT - TOP));
  const pressed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(since, before);
  };
  return svg(
    "g",
    {
      class: "bar",
      role: "button",
      tabindex: at ? -1 : 0,
      "aria-label": name,
      click: () => choose(since, before),
      keydown: pressed,
    },
    svg("title", {}, name),
    svg("rect", { class: "room", x: at * step, y: TOP, width: step, height: HEIGHT - FOOT - TOP }),
    svg("rect", { class: "ink", x: (at + 0.12) * step, y: HEIGHT - FOOT - tall, width: 0.76 * step, height: tall, rx: 1.5 }),
  );
}

/** Labels with round years, as many as fit. */
function labels(bins, step) {
  const size = bins[0].before - bins[0].since;
  const every = SIZES.find((each) => each >= size && (each / size) * step >= LABEL) ?? SIZES.at(-1);
  const fits = (at) => at === 0 || (at * step > LABEL / 4 && (bins.length - at) * step > LABEL / 2);
  return bins
    .map(({ since }, at) => [since, at])
    .filter(([since, at]) => since % every === 0 && fits(at))
    .map(([since, at]) =>
      svg("text", { x: at ? (at + 0.5) * step : 0, y: HEIGHT - 6, "text-anchor": at ? "middle" : "start" }, String(since)),
    );
}

/** The left and right arrow keys move between bars. */
function roved(event, bars) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = bars.indexOf(event.target) + (step ?? 0);
  if (!step || !bars[at]) return;
  event.preventDefault();
  bars.forEach((each, index) => each.setAttribute("tabindex", index === at ? 0 : -1));
  bars[at].focus();
}

/** Bins from the first to the last year, at most `most` of them. */
export function binned(years, most) {
  const known = Object.entries(years)
    .map(([year, count]) => [Number(year), count])
    .filter(([year]) => year);
  if (!known.length) return [];
  const all = known.map(([year]) => year);
  const [first, last] = [Math.min(...all), Math.max(...all)];
  const size = SIZES.find((each) => (last - first + 1) / each < most) ?? SIZES.at(-1);
  const bins = [];
  for (let since = first - (first % size); since <= last; since += size) bins.push({ since, before: since + size, count: 0 });
  for (const [year, count] of known) bins[Math.floor((year - bins[0].since) / size)].count += count;
  return bins;
}
