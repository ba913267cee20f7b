/**
 * The draft's files: what is dropped, opened or pasted comes in here, and what the server reads in it goes out. The text
 * itself stays in this browser and in the server's memory while it is read.
 */

import { post, upload } from "./server.js";

const BIBLIOGRAPHY = /\.(?:bib|bibtex)$/i;
const WRITING = /\.(?:tex|ltx|latex|md|markdown|qmd|rmd|txt)$/i;

/** Tell the files of one drop apart: the draft (of several, that which begins a document), its bibliographies, and the rest. */
export async function sorted(files) {
  const bibliographies = files.filter((file) => BIBLIOGRAPHY.test(file.name));
  const drafts = files.filter((file) => !bibliographies.includes(file));
  const begins = await Promise.all(drafts.map(async (file) => (await file.text()).includes("\\documentclass")));
  const draft = drafts[Math.max(0, begins.indexOf(true))];
  return { draft, bibliographies, rest: drafts.filter((file) => file !== draft) };
}

/** Read a draft from a file: its texts as a text area will have them, and its bibliography where the file brought one. */
export async function opened(file) {
  const { text, format, title, abstract, authors, files } = await upload("draft/file", [["file", file]]);
  const plain = (each) => each.replace(/\r\n?/g, "\n");
  const pairs = Object.entries(files ?? {}).map(([name, each]) => [name, plain(each)]);
  const others = Object.fromEntries(pairs.filter(([name]) => WRITING.test(name)));
  const bibliographies = pairs.filter(([name]) => BIBLIOGRAPHY.test(name));
  const bibliography = bibliographies.map(([, each]) => each).join("\n");
  const entries = nameOf(bibliographies.map(([name]) => name));
  return { text: plain(text), format, others, bibliography, entries, about: { title, abstract, authors } };
}

/** The name of the file that bibliographies came in, where it was one: the draft asks for it by that name. */
export const nameOf = (names) => (names.length === 1 ? names[0].split("/").at(-1) : "");

/** What the server reads in a text. */
export function read(text, format, bibliography, signal) {
  return post("draft", body(text, format, bibliography), signal);
}

/** What the server finds wanting in it. */
export function audited(text, format, bibliography, signal) {
  return post("check", body(text, format, bibliography), signal);
}

/** The draft with citations at some places (counted in code points), and the bibliography that goes with it. */
export function accepted(text, format, choices, bibliography) {
  return post("accept", { ...body(text, format, bibliography), choices });
}

/** Half a surrogate pair, which no server can read, becomes a sign for it. */
const body = (text, format, bibliography) => ({ text: text.toWellFormed(), format, bibliography });
