/** Sentences with the words that matched marked in them, endings aside: "topics" marks "topic". */

import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu;
const stem = (word) => word.toLowerCase().replace(/(?:ations?|ing|ies|ied|es|ed|ly|al|s|e|y)$/, "");

/** The pieces of `text`, those words marked that are among `words`. */
export function highlighted(text, words) {
  const stems = new Set(words.flatMap((word) => word.match(WORD) ?? []).map(stem));
  const pieces = [];
  let done = 0;
  for (const found of text.matchAll(WORD)) {
    if (!stems.has(stem(found[0]))) continue;
    pieces.push(text.slice(done, found.index), h("mark", {}, found[0]));
    done = found.index + found[0].length;
  }
  return [...pieces, text.slice(done)];
}
