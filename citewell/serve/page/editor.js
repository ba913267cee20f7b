/**
 * The text editor: a plain text area, so that typing, undo, dictation and screen readers work as usual, on top of a mirror with the
 * same text in the same font. The mirror shows the marks, and it determines the height of the text area.
 */

import { h } from "./dom.js";
import { difference, survivors } from "./edits.js";

const LONG = 50; // lines
const EMPTY_LINE = "\u200b"; // so that an empty line has a height in the mirror

export class Editor {
  /** @type {HTMLTextAreaElement} */
  area;
  /** @type {HTMLElement} */
  mirror;
  /** @type {(edit: any, before: string) => void} */
  changed;
  /** @type {() => void} */
  moved;

  /** `changed(edit, before)` is called when the text changes, `moved()` when only the cursor does. */
  constructor(area, mirror, { changed, moved }) {
    Object.assign(this, { area, mirror, changed, moved });
    this.text = area.value;
    this.at = 0;
    this.marks = [];
    this.lines = [];
    area.addEventListener("input", () => this.#edited());
    area.addEventListener("keydown", (event) => this.#onPageKey(event));
    document.addEventListener("selectionchange", () => {
      if (document.activeElement !== area || area.selectionStart === this.at) return;
      this.at = area.selectionStart;
      if (area.value === this.text) this.moved();
    });
  }

  /** The cursor position, or the last one if the area has lost the focus. */
  get cursor() {
    return Math.min(this.at, this.text.length);
  }

  /** Open another text. */
  open(text, cursor = 0) {
    this.area.value = text;
    this.text = this.area.value;
    this.at = Math.min(cursor, this.text.length);
    this.area.setSelectionRange(this.at, this.at);
    this.mark([]);
    this.reveal(this.at);
  }

  /** Change the text as if the user had typed it, as one undo step. */
  retype(text) {
    const edit = difference(this.text, text);
    this.area.focus();
    this.area.setSelectionRange(edit.begin, edit.end);
    const piece = text.slice(edit.begin, edit.end + edit.moved);
    // execCommand is deprecated, but nothing else changes a text area and preserves its undo history.
    document.execCommand(...commandFor(piece));
    if (this.area.value === text) return;
    this.area.value = text;
    this.#edited();
  }

  /** Select a range and scroll to it. */
  go(begin, end = begin) {
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(begin, end);
    this.at = begin;
    this.reveal(begin);
    this.moved();
  }

  /** Scroll a position into view. */
  reveal(place) {
    const [line, frame] = [this.#boxAt(place), this.#frame.getBoundingClientRect()];
    const seen = line.top >= frame.top + 30 && line.bottom <= frame.bottom - 60;
    if (!seen) this.#frame.scrollTop += line.top - frame.top - frame.height / 3;
  }

  /** Show marks: `{begin, end, kind}` in UTF-16 units; they may overlap. */
  mark(marks) {
    this.marks = marks;
    const { starts, lines } = markedLines(this.text, marks);
    this.starts = starts;
    // Redraw only the lines that changed: redrawing a book-length text takes a tenth of a second per key.
    const [old, now] = [this.lines, lines.map(({ text, marks: inner }) => `${text}\n${JSON.stringify(inner)}`)];
    const most = Math.min(old.length, now.length);
    let [head, tail] = [0, 0];
    while (head < most && old[head] === now[head]) head += 1;
    while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
    this.lines = now;
    const gone = [...this.mirror.children].slice(head, old.length - tail);
    const next = this.mirror.children[old.length - tail] ?? null;
    for (const each of gone) each.remove();
    for (const line of lines.slice(head, now.length - tail)) this.mirror.insertBefore(h("div", {}, drawn(line)), next);
  }

  /** Page up and down by the visible height; the text area itself is as high as its text, so the browser would go to its end. */
  #onPageKey(event) {
    const direction = { PageDown: 1, PageUp: -1 }[event.key];
    if (!direction || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { selectionStart: start, selectionEnd: end, selectionDirection } = this.area;
    const [fixed, free] = selectionDirection === "backward" ? [end, start] : [start, end];
    const { top, height } = this.#boxAt(free);
    const to = this.#placeAtHeight(top + direction * (this.#frame.clientHeight - 2 * height));
    if (event.shiftKey)
      this.area.setSelectionRange(Math.min(fixed, to), Math.max(fixed, to), to < fixed ? "backward" : "forward");
    else this.area.setSelectionRange(to, to);
    this.reveal(to);
  }

  /** The first position at this height, or the last position. */
  #placeAtHeight(height) {
    let [low, high] = [0, this.text.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#boxAt(middle).bottom > height) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The screen position of a text position, from the mirror. */
  #boxAt(place) {
    const line = lineOf(this.starts, place);
    const row = this.mirror.children[line];
    let left = place - this.starts[line];
    for (const piece of row.childNodes) {
      const node = /** @type {Text} */ (piece.firstChild ?? piece);
      if (left < node.length || piece === row.lastChild) {
        const range = document.createRange();
        const at = Math.min(left, node.length - 1);
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        return range.getBoundingClientRect();
      }
      left -= node.length;
    }
    return row.getBoundingClientRect();
  }

  get #frame() {
    return this.area.closest(".sheet");
  }

  #edited() {
    const before = this.text;
    const edit = difference(before, this.area.value);
    this.text = this.area.value;
    this.at = this.area.selectionStart;
    this.mark(survivors(this.marks, edit));
    this.changed(edit, before);
  }
}

/**
 * The command that inserts a piece of text. With insertText each line takes longer than the one before (a chapter takes ten seconds).
 * A long piece is inserted as escaped HTML, of which a text area takes only the text.
 *
 * @returns {[string, boolean?, string?]}
 */
function commandFor(piece) {
  if (!piece) return ["delete"];
  if (piece.split("\n").length < LONG) return ["insertText", false, piece];
  return ["insertHTML", false, piece.replaceAll("&", "&amp;").replaceAll("<", "&lt;")];
}

/** The lines of a text with their marks, and the positions where they start. */
function markedLines(text, marks) {
  const lines = text.split("\n").map((line) => ({ text: line, marks: [] }));
  const starts = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.text.length + 1;
  }
  for (const { begin, end, kind } of marks) {
    for (let line = lineOf(starts, begin); line < lines.length && starts[line] < end; line += 1) {
      const inner = [Math.max(0, begin - starts[line]), Math.min(lines[line].text.length, end - starts[line]), kind];
      if (inner[0] < inner[1]) lines[line].marks.push(inner);
    }
  }
  return { starts, lines };
}

/** The line of a position. */
function lineOf(starts, place) {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A line as pieces of text; marked ones have the kinds of their marks as classes. */
function drawn({ text, marks }) {
  const cuts = [...new Set([0, text.length, ...marks.flatMap(([begin, end]) => [begin, end])])].sort((a, b) => a - b);
  const pieces = cuts.slice(1).map((end, at) => {
    const kinds = new Set(marks.filter(([first, last]) => first <= cuts[at] && end <= last).map(([, , kind]) => kind));
    const piece = text.slice(cuts[at], end);
    return kinds.size ? h("span", { class: [...kinds].join(" ") }, piece) : piece;
  });
  return pieces.length ? pieces : EMPTY_LINE;
}
