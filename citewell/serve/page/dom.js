/**
 * Creates elements. All strings become text nodes and are never parsed as HTML, so that titles, drafts and errors cannot inject
 * markup.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Elements of the page that are more than an `HTMLElement`, by id.
 *
 * @typedef {{
 *   "add-files": HTMLInputElement, before: HTMLInputElement, feedback: HTMLDialogElement, "feedback-delete": HTMLButtonElement,
 *   "feedback-on": HTMLInputElement, draft: HTMLTextAreaElement, file: HTMLInputElement,
 *   from: HTMLInputElement, "bibliography-filter": HTMLSelectElement, next: HTMLButtonElement, paper: HTMLDialogElement,
 *   "project-file": HTMLSelectElement, previous: HTMLButtonElement, question: HTMLInputElement, shortcuts: HTMLDialogElement,
 *   since: HTMLInputElement, token: HTMLDialogElement, "token-value": HTMLInputElement, until: HTMLInputElement, venue: HTMLInputElement,
 *   whole: HTMLInputElement,
 * }} Elements
 */

/**
 * The element with this id.
 *
 * @template {string} Id
 * @param {Id} id
 */
export const $ = (id) =>
  /** @type {Id extends keyof Elements ? Elements[Id] : HTMLElement} */ (document.getElementById(id));

/**
 * An HTML element; properties that are functions become event listeners, all others attributes.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} properties
 * @param {...any} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** An SVG element. */
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

/** Authors (the first few), year and venue in one line. */
export function byline(paper, maxAuthors = 3) {
  const authors = paper.authors ?? [];
  const names = authors.slice(0, maxAuthors).join(", ") + (authors.length > maxAuthors ? " et al." : "");
  return [names, paper.year, paper.venue].filter(Boolean).join(" · ");
}
