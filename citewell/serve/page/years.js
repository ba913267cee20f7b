/** Papers by year, as bars. Where there is no room for each year they are put together, so that a bar can be seen and pressed. */

import { counted, h, svg } from "./dom.js";

const [HEIGHT, FOOT, TOP] = [170, 24, 18];
const [BAR, LABEL] = [11, 52]; // the least room that a bar and a label take
const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** The plot, so many pixels wide; `choose(since, before)` is called when a bar is pressed. */
export function plot(years, width, choose) {
  const bins = binned(years, Math.floor(width / BAR));
  if (!bins.length) return h("p", { class: "empty" }, "No paper here has a year.");
  const most = Math.max(...bins.map(({ count }) => count));
  const step = width / bins.length;
  const bars = bins.map((bin, at) => bar(bin, at, step, most, choose));
  const drawing = svg(
    "svg",
    { width, height: HEIGHT, class: "plot", role: "group", "aria-label": "Papers by year" },
    svg("line", { x1: 0, x2: width, y1: HEIGHT - FOOT, y2: HEIGHT - FOOT }),
    bars,
    labels(bins, step),
    svg("text", { x: width, y: 11, "text-anchor": "end" }, `at most ${counted(most, "paper")}`),
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

/** Round years under the bars, as many as there is room for. */
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

/** Left and right move along the bars. */
function roved(event, bars) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = bars.indexOf(event.target) + (step ?? 0);
  if (!step || !bars[at]) return;
  event.preventDefault();
  bars.forEach((each, index) => each.setAttribute("tabindex", index === at ? 0 : -1));
  bars[at].focus();
}

/** The years from the first to the last, in at most so many bars. */
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
