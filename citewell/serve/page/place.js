/**
 * What the cursor stands in, as a question for the server: a gap, a citation, a sentence, a paragraph that is only begun, or
 * the whole manuscript. Where the server has read the text, its own contexts are asked with; what was typed since is read
 * here, roughly, so that an answer comes while typing.
 */

const CITATION = /\\[a-zA-Z]*cite[a-zA-Z]*\*?(?:\[[^\]]*\])*\{[^}]*\}|\[@[^\]]*\]|\[\?\]|\[CITATION\]/g;
const ENDS = /[.!?]["”’)]?\s+(?=[\p{Lu}\\[*"“])|\n\s*\n/gu;
const AROUND = 600;
const FEW = 3;
const MARKUP = /^\s*(?:[\\#%@&|]|---|$)/; // a line that is no running text: a command, a heading, a comment, nothing

/** The place at `cursor`: its `kind`, the stretch from `begin` to `end` where a citation would go, and the `query` for it. */
export function placeAt(reading, text, cursor, whole = false) {
  const base = { title: reading.title, abstract: reading.abstract, authors: reading.authors };
  const everything = { kind: "whole", begin: 0, end: 0, query: { task: "global", ...base } };
  if (whole || !text.trim()) return everything;
  const local = (context) => ({ task: "local", ...base, context });
  const inside = (each) => each.begin <= cursor && cursor <= each.end;
  const sentence = reading.sentences.find(inside);
  const citation = reading.citations.find(inside) ?? (sentence && nearest(reading.citations, sentence, cursor));
  const kind = citation && !citation.gap ? "citation" : citation ? "gap" : "sentence";
  if (citation && !reading.isFresh(sentence ?? citation)) return { kind, citation, ...ends(citation), query: local(citation.context) };
  if (sentence && !reading.isFresh(sentence)) return ofSentence(reading, text, sentence, base, inside);
  if (MARKUP.test(lineAt(text, cursor))) return everything;
  const typed = typedAround(text, cursor);
  if (typed.words < FEW) return everything;
  return { kind, citation, ...ends(citation ?? typed), query: local(typed.context) };
}

const lineAt = (text, cursor) => text.slice(text.lastIndexOf("\n", cursor - 1) + 1).split("\n", 1)[0];

const ends = ({ begin, end }) => ({ begin, end });

/** The gap of a sentence that is nearest to the cursor. */
function nearest(citations, sentence, cursor) {
  const gaps = citations.filter((each) => each.gap && each.begin >= sentence.begin && each.end <= sentence.end);
  return gaps.sort((a, b) => Math.abs(a.begin - cursor) - Math.abs(b.begin - cursor))[0];
}

function ofSentence(reading, text, sentence, base, inside) {
  const paragraph = reading.paragraphs.find(inside);
  const at = beforeFullStop(text, sentence);
  if (paragraph?.count === 1) {
    return { kind: "paragraph", begin: at, end: at, sentence, query: { task: "paragraph", ...base, context: sentence.text } };
  }
  const context = `${sentence.text.replace(/[.!?]\s*$/, "")} TARGETCIT.`;
  return { kind: "sentence", begin: at, end: at, sentence, query: { task: "local", ...base, context } };
}

/** Where a citation goes in a sentence that has none: after its last word. */
function beforeFullStop(text, { begin, end }) {
  const body = text.slice(begin, end).trimEnd();
  return begin + body.replace(/[.!?:;]+$/, "").length;
}

/** The sentence round the cursor as it was typed, its citations masked and its mark-up left out. */
function typedAround(text, cursor) {
  const from = Math.max(0, cursor - AROUND);
  const before = text.slice(from, cursor);
  const after = text.slice(cursor, cursor + AROUND);
  const last = [...before.matchAll(ENDS)].at(-1);
  const begin = from + (last ? last.index + last[0].length : 0);
  const next = after.search(/[.!?](?:\s|$)|\n\s*\n/);
  const end = next < 0 ? cursor + after.length : cursor + next;
  let marked = false;
  const masked = text.slice(begin, end).replace(CITATION, (found, ...rest) => {
    const at = begin + rest.at(-2);
    const here = at <= cursor && cursor <= at + found.length;
    marked ||= here;
    return here ? " TARGETCIT " : " OTHERCIT ";
  });
  const plain = masked
    .replace(/(^|[^\\])%.*$/gm, "$1")
    .replace(/\\[a-zA-Z]+\*?/g, " ")
    .replace(/[{}$~#*_`]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  const words = plain.split(" ").filter((word) => word && !/CIT$/.test(word)).length;
  return { begin: end, end, words, context: marked ? plain : `${plain} TARGETCIT` };
}
