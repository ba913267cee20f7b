/** Highlights matching words in a sentence. Words match by stem: "topics" highlights "topic". */

import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu;
const stem = (word) => word.toLowerCase().replace(/(?:ations?|ing|ies|ied|es|ed|ly|al|s|e|y)$/, "");

/** The pieces of `text`; those that match one of `words` are `<mark>` elements. */
export function highlight(text, words) {
  const stems = new Set(words.flatMap((word) => word.match(WORD) ?? []).map(stem));
  const pieces = [];
  let done = 0;
  for (const match of text.matchAll(WORD)) {
    if (!stems.has(stem(match[0]))) continue;
    pieces.push(text.slice(done, match.index), h("mark", {}, match[0]));
    done = match.index + match[0].length;
  }
  return [...pieces, text.slice(done)];
}
