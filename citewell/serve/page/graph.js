/**
 * The citation path to a suggested paper as a small graph: the place in the draft, the papers in between, and the paper. A solid
 * line with an arrow is a citation; a dashed line joins papers that are cited together or that cite the same papers. The titles are
 * text next to the graph, so that they wrap and screen readers can read them.
 */

import { h, svg } from "./dom.js";

const ROW = 24;
const [HERE, BETWEEN, PAPER] = [9, 29, 49];
const WIDTH = 60;
const MAX_LINKS = 3;
const KINDS = ["path", "links", "co-citation", "citations"];

/** The graph of a suggestion, or null if no reason names another paper; `titles` maps ids to titles. */
export function pathOf(suggestion, titles, start) {
  const links = linksOf(suggestion, titles).slice(0, MAX_LINKS);
  if (!links.length) return null;
  const last = links.length + 1;
  const drawing = svg(
    "svg",
    { width: WIDTH, height: ROW * (last + 1), "aria-hidden": "true", class: "drawing" },
    links.map((_, index) => svg("path", { class: "stem", d: fromHere(y(index + 1)) })),
    links.map((link, index) => edge(link, y(index + 1), y(last))),
    svg("rect", { class: "here", x: HERE - 4, y: y(0) - 4, width: 8, height: 8, transform: `rotate(45 ${HERE} ${y(0)})` }),
    links.map((_, index) => svg("circle", { class: "between", cx: BETWEEN, cy: y(index + 1), r: 4 })),
    svg("circle", { class: "paper", cx: PAPER, cy: y(last), r: 5 }),
  );
  const names = [
    h("li", { class: "start" }, start),
    ...links.map((link) => h("li", { title: link.title }, h("span", {}, link.title), h("em", {}, link.label))),
    h("li", { class: "goal" }, "this paper"),
  ];
  return h("div", { class: "path" }, drawing, h("ol", {}, names));
}

/** The papers that the reasons name, each once, and how they are linked to the suggested paper. */
export function linksOf(suggestion, titles) {
  const links = new Map();
  for (const reason of suggestion.reasons.filter(({ kind }) => KINDS.includes(kind))) {
    const quoted = [...reason.text.matchAll(/“([^”]*)”/g)].map((match) => match[1]);
    reason.data.forEach((id, index) => {
      const title = titles.get(id) ?? quoted[index] ?? id;
      if (id !== suggestion.id && !links.has(id)) links.set(id, { id, title, ...linkOf(reason) });
    });
  }
  return [...links.values()];
}

/** The direction of a link (`in`: the other paper cites the suggested one) and its label. */
function linkOf({ text }) {
  if (/\b(?:together|co-cited)\b/i.test(text)) return { way: "both", label: "cited together" };
  if (/\b(?:cites too|also cites|both cite|shares? .*references?)\b/i.test(text)) return { way: "both", label: "cites the same papers" };
  return /^cites\b/i.test(text) ? { way: "out", label: "is cited by it" } : { way: "in", label: "cites it" };
}

const y = (row) => ROW * row + ROW / 2;
const fromHere = (to) => `M${HERE} ${y(0)} V${to - 6} q0 6 6 6 H${BETWEEN - 5}`;

function edge({ way }, from, to) {
  const line = `M${BETWEEN + 5} ${from} H${PAPER - 6} q6 0 6 6 V${to - 6}`;
  const heads = {
    in: `M${PAPER - 3.5} ${to - 10} l3.5 4 l3.5 -4`,
    out: `M${BETWEEN + 9} ${from - 3.5} l-4 3.5 l4 3.5`,
    both: "",
  };
  return [svg("path", { class: `edge ${way}`, d: line }), heads[way] && svg("path", { class: "head", d: heads[way] })];
}
