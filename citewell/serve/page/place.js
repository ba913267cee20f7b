/**
 * The place at the cursor and the query for it: a gap, a citation, a sentence, a paragraph with only one sentence, or the whole
 * manuscript. Contexts come from the server's parse; text typed since then is parsed here, roughly, so that suggestions appear
 * while typing.
 */

const CITATION = /\\[a-zA-Z]*cite[a-zA-Z]*\*?(?:\[[^\]]*\])*\{[^}]*\}|\[@[^\]]*\]|\[\?\]|\[CITATION\]/g;
const ENDS = /[.!?]["”’)]?\s+(?=[\p{Lu}\\[*"“])|\n\s*\n/gu;
const AROUND = 600;
const FEW = 3;
const MARKUP = /^\s*(?:[\\#%@&|]|---|$)/; // a line without running text: a command, a heading, a comment, or an empty line

/** The place at `cursor`: its `kind`, the range from `begin` to `end` where a citation would go, and the `query`. */
export function placeAt(draft, text, cursor, whole = false) {
  const base = { title: draft.title, abstract: draft.abstract, authors: draft.authors };
  const everything = { kind: "whole", begin: 0, end: 0, query: { task: "global", ...base } };
  if (whole || !text.trim()) return everything;
  const local = (context) => ({ task: "local", ...base, context });
  const inside = (each) => each.begin <= cursor && cursor <= each.end;
  const sentence = draft.sentences.find(inside);
  const citation = draft.citations.find(inside) ?? (sentence && nearest(draft.citations, sentence, cursor));
  const kind = citation && !citation.gap ? "citation" : citation ? "gap" : "sentence";
  if (citation && !draft.isFresh(sentence ?? citation)) return { kind, citation, ...ends(citation), query: local(citation.context) };
  if (sentence && !draft.isFresh(sentence)) return ofSentence(draft, text, sentence, base, inside);
  if (MARKUP.test(lineAt(text, cursor))) return everything;
  const typed = typedAround(text, cursor);
  if (typed.words < FEW) return everything;
  return { kind, citation, ...ends(citation ?? typed), query: local(typed.context) };
}

const lineAt = (text, cursor) => text.slice(text.lastIndexOf("\n", cursor - 1) + 1).split("\n", 1)[0];

const ends = ({ begin, end }) => ({ begin, end });

/** The gap of a sentence that is closest to the cursor. */
function nearest(citations, sentence, cursor) {
  const gaps = citations.filter((each) => each.gap && each.begin >= sentence.begin && each.end <= sentence.end);
  return gaps.sort((a, b) => Math.abs(a.begin - cursor) - Math.abs(b.begin - cursor))[0];
}

function ofSentence(draft, text, sentence, base, inside) {
  const paragraph = draft.paragraphs.find(inside);
  const at = beforeFullStop(text, sentence);
  if (paragraph?.count === 1) {
    return { kind: "paragraph", begin: at, end: at, sentence, query: { task: "paragraph", ...base, context: sentence.text } };
  }
  const context = `${sentence.text.replace(/[.!?]\s*$/, "")} TARGETCIT.`;
  return { kind: "sentence", begin: at, end: at, sentence, query: { task: "local", ...base, context } };
}

/** Where a citation goes in a sentence without one: after the last word. */
function beforeFullStop(text, { begin, end }) {
  const body = text.slice(begin, end).trimEnd();
  return begin + body.replace(/[.!?:;]+$/, "").length;
}

/** The sentence around the cursor as typed, with citations masked and markup removed. */
function typedAround(text, cursor) {
  const from = Math.max(0, cursor - AROUND);
  const before = text.slice(from, cursor);
  const after = text.slice(cursor, cursor + AROUND);
  const last = [...before.matchAll(ENDS)].at(-1);
  const begin = from + (last ? last.index + last[0].length : 0);
  const next = after.search(/[.!?](?:\s|$)|\n\s*\n/);
  const end = next < 0 ? cursor + after.length : cursor + next;
  let marked = false;
  const masked = text.slice(begin, end).replace(CITATION, (citation, ...rest) => {
    const at = begin + rest.at(-2);
    const here = at <= cursor && cursor <= at + citation.length;
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
