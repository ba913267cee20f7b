/**
 * The citation path that led to a paper, as a small graph: where one stands, the papers in between, and the paper. A full line
 * with an arrow is a citation; a dashed one joins papers that are cited together or that cite the same. The names stand beside
 * it as text, so that they wrap, shrink and can be read aloud.
 */

import { h, svg } from "./dom.js";

const ROW = 24;
const [HERE, BETWEEN, PAPER] = [9, 29, 49];
const WIDTH = 60;
const MOST = 3;
const KINDS = ["path", "links", "company", "citations"];

/** The graph of a suggestion, or null where no reason names another paper; `titles` are those known by id. */
export function pathOf(suggestion, titles, start) {
  const links = linksOf(suggestion, titles).slice(0, MOST);
  if (!links.length) return null;
  const last = links.length + 1;
  const drawing = svg(
    "svg",
    { width: WIDTH, height: ROW * (last + 1), "aria-hidden": "true", class: "drawing" },
    links.map((_, index) => svg("path", { class: "found", d: fromHere(y(index + 1)) })),
    links.map((link, index) => edge(link, y(index + 1), y(last))),
    svg("rect", { class: "here", x: HERE - 4, y: y(0) - 4, width: 8, height: 8, transform: `rotate(45 ${HERE} ${y(0)})` }),
    links.map((_, index) => svg("circle", { class: "between", cx: BETWEEN, cy: y(index + 1), r: 4 })),
    svg("circle", { class: "paper", cx: PAPER, cy: y(last), r: 5 }),
  );
  const names = [
    h("li", { class: "start" }, start),
    ...links.map((link) => h("li", { title: link.title }, h("span", {}, link.title), h("em", {}, link.said))),
    h("li", { class: "goal" }, "this paper"),
  ];
  return h("div", { class: "path" }, drawing, h("ol", {}, names));
}

/** The papers that the reasons name, each once, and how the suggested one is tied to it. */
export function linksOf(suggestion, titles) {
  const links = new Map();
  for (const reason of suggestion.reasons.filter(({ kind }) => KINDS.includes(kind))) {
    const quoted = [...reason.text.matchAll(/“([^”]*)”/g)].map((found) => found[1]);
    reason.data.forEach((id, index) => {
      const title = titles.get(id) ?? quoted[index] ?? id;
      if (id !== suggestion.id && !links.has(id)) links.set(id, { id, title, ...tie(reason) });
    });
  }
  return [...links.values()];
}

function tie({ text }) {
  if (/together/.test(text)) return { way: "beside", said: "cited together" };
  if (/cites too/.test(text)) return { way: "beside", said: "cites the same" };
  return /^cites\b/.test(text) ? { way: "out", said: "is cited by it" } : { way: "in", said: "cites it" };
}

const y = (row) => ROW * row + ROW / 2;
const fromHere = (to) => `M${HERE} ${y(0)} V${to - 6} q0 6 6 6 H${BETWEEN - 5}`;

function edge({ way }, from, to) {
  const line = `M${BETWEEN + 5} ${from} H${PAPER - 6} q6 0 6 6 V${to - 6}`;
  const heads = {
    in: `M${PAPER - 3.5} ${to - 10} l3.5 4 l3.5 -4`,
    out: `M${BETWEEN + 9} ${from - 3.5} l-4 3.5 l4 3.5`,
    beside: "",
  };
  return [svg("path", { class: `tie ${way}`, d: line }), heads[way] && svg("path", { class: "head", d: heads[way] })];
}
