/**
 * Elements made of text. What a title, a draft or an error says becomes a text node and nothing else: no string is ever read
 * as HTML here, which is what keeps hostile input text.
 */

const SVG = "http://www.w3.org/2000/svg";

/** The element with this id. */
export const $ = (id) => document.getElementById(id);

/** An HTML element: properties that are functions listen to the event of that name, the others are attributes. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** A count and its noun: "1 paper", "2,000 papers". */
export function counted(number, noun, nouns = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : nouns}`;
}

/** Authors (so many of them), year and venue in a line. */
export function byline(paper, most = 3) {
  const authors = paper.authors ?? [];
  const names = authors.slice(0, most).join(", ") + (authors.length > most ? " et al." : "");
  return [names, paper.year, paper.venue].filter(Boolean).join(" · ");
}
