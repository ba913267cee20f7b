/**
 * The draft's files, and the requests about them. The text stays in this browser, and in the server's memory while it handles a
 * request.
 */

import { post, upload } from "./server.js";

const BIBLIOGRAPHY = /\.(?:bib|bibtex)$/i;
const MANUSCRIPT = /\.(?:tex|ltx|latex|md|markdown|qmd|rmd|txt)$/i;

/** Sort dropped files: the draft (of several, the one that begins a LaTeX document), its bibliographies, and the rest. */
export async function classify(files) {
  const bibliographies = files.filter((file) => BIBLIOGRAPHY.test(file.name));
  const drafts = files.filter((file) => !bibliographies.includes(file));
  const begins = await Promise.all(drafts.map(async (file) => (await file.text()).includes("\\documentclass")));
  const draft = drafts[Math.max(0, begins.indexOf(true))];
  return { draft, bibliographies, rest: drafts.filter((file) => file !== draft) };
}

/** Parse an uploaded draft: its texts with the line ends of a text area, and its bibliography if the file contains one. */
export async function open(file) {
  const { text, format, title, abstract, authors, files } = await upload("draft/file", [["file", file]]);
  const plain = (each) => each.replace(/\r\n?/g, "\n");
  const pairs = Object.entries(files ?? {}).map(([name, each]) => [name, plain(each)]);
  const others = Object.fromEntries(pairs.filter(([name]) => MANUSCRIPT.test(name)));
  const bibliographies = pairs.filter(([name]) => BIBLIOGRAPHY.test(name));
  const bibliography = bibliographies.map(([, each]) => each).join("\n");
  const entries = nameOf(bibliographies.map(([name]) => name));
  return { text: plain(text), format, others, bibliography, entries, about: { title, abstract, authors } };
}

/** The name of the bibliography file if there is exactly one; the draft refers to it by that name. */
export const nameOf = (names) => (names.length === 1 ? names[0].split("/").at(-1) : "");

/** Parse a text: paragraphs, sentences, citations and gaps. */
export function parse(text, format, bibliography, signal) {
  return post("draft", body(text, format, bibliography), signal);
}

/** Check a text: uncited claims, missing keys and problems of the bibliography. */
export function check(text, format, bibliography, signal) {
  return post("check", body(text, format, bibliography), signal);
}

/** Insert citations at places (in code points); returns the new text and bibliography. */
export function accept(text, format, choices, bibliography) {
  return post("accept", { ...body(text, format, bibliography), choices });
}

/** The request; lone surrogates, which JSON does not allow, are replaced. */
const body = (text, format, bibliography) => ({ text: text.toWellFormed(), format, bibliography });
