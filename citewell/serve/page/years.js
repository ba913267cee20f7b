/** Papers by year, as bars. Long spans are put together by fives or tens, so that a bar stays wide enough to see and press. */

import { counted, h, svg } from "./dom.js";

const [WIDTH, HEIGHT, FOOT] = [640, 150, 22];
const MOST_BARS = 48;

/** The plot; `choose(since, before)` is called when a bar is pressed. */
export function plot(years, choose) {
  const bins = binned(years);
  if (!bins.length) return h("p", { class: "empty" }, "No paper here has a year.");
  const most = Math.max(...bins.map(({ count }) => count));
  const step = WIDTH / bins.length;
  const tall = (count) => (count ? Math.max(2, (count / most) * (HEIGHT - FOOT - 14)) : 0);
  const every = Math.ceil(bins.length / 8);
  const bars = bins.map(({ since, before, count }, at) => {
    const name = `${span(since, before)}: ${counted(count, "paper")}`;
    const act = () => choose(since, before);
    const pressed = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act();
    };
    return svg(
      "g",
      { class: "bar", role: "button", tabindex: at ? -1 : 0, "aria-label": name, click: act, keydown: pressed },
      svg("title", {}, name),
      svg("rect", { class: "room", x: at * step, y: 0, width: step, height: HEIGHT - FOOT }),
      svg("rect", { class: "ink", x: at * step + step * 0.12, y: HEIGHT - FOOT - tall(count), width: step * 0.76, height: tall(count), rx: 1.5 }),
    );
  });
  const labels = bins
    .map(({ since }, at) => [since, at])
    .filter(([, at]) => at % every === 0)
    .map(([since, at]) => svg("text", { x: at * step + step / 2, y: HEIGHT - 6, "text-anchor": at ? "middle" : "start" }, String(since)));
  const top = svg("text", { class: "top", x: WIDTH, y: 10, "text-anchor": "end" }, `most: ${counted(most, "paper")}`);
  const line = svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT - FOOT, y2: HEIGHT - FOOT });
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "group", "aria-label": "Papers by year" }, line, bars, labels, top);
  drawing.addEventListener("keydown", (event) => roved(event, bars));
  return drawing;
}

/** Left and right move along the bars. */
function roved(event, bars) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = bars.indexOf(event.target) + (step ?? 0);
  if (!step || !bars[at]) return;
  event.preventDefault();
  bars.forEach((bar, index) => bar.setAttribute("tabindex", index === at ? 0 : -1));
  bars[at].focus();
}

const span = (since, before) => (before - since === 1 ? String(since) : `${since} to ${before - 1}`);

/** The years from the first to the last, in as few bars as can be seen. */
export function binned(years) {
  const known = Object.entries(years).map(([year, count]) => [Number(year), count]).filter(([year]) => year);
  if (!known.length) return [];
  const all = known.map(([year]) => year);
  const [first, last] = [Math.min(...all), Math.max(...all)];
  const size = [1, 2, 5, 10, 20, 50, 100].find((each) => (last - first + 1) / each <= MOST_BARS) ?? 200;
  const bins = [];
  for (let since = first - (first % size); since <= last; since += size) bins.push({ since, before: since + size, count: 0 });
  for (const [year, count] of known) bins[Math.floor((year - bins[0].since) / size)].count += count;
  return bins;
}
