/**
 * The manuscript: a plain text area, so that typing, undo, dictation and screen readers work as everywhere, over a mirror of
 * the same text in the same type, whose marked stretches shine through. The mirror also gives the area its height.
 */

import { h } from "./dom.js";
import { difference, survivors } from "./edits.js";

const END = "\u200b"; // a last empty line takes room in the mirror too

export class Editor {
  /** `changed(edit)` is called when the text changes, `moved()` when only the cursor does. */
  constructor(area, mirror, { changed, moved }) {
    Object.assign(this, { area, mirror, changed, moved });
    this.text = area.value;
    this.at = 0;
    this.marks = [];
    area.addEventListener("input", () => this.#edited());
    area.addEventListener("keydown", (event) => this.#turned(event));
    document.addEventListener("selectionchange", () => {
      if (document.activeElement !== area || area.selectionStart === this.at) return;
      this.at = area.selectionStart;
      if (area.value === this.text) this.moved();
    });
  }

  /** Where the cursor stands, or stood when the area was left. */
  get cursor() {
    return Math.min(this.at, this.text.length);
  }

  /** Begin with another text. */
  open(text, cursor = 0) {
    this.area.value = text;
    this.text = this.area.value;
    this.at = Math.min(cursor, this.text.length);
    this.area.setSelectionRange(this.at, this.at);
    this.mark([]);
  }

  /** Change the text as if it had been typed: one step for undo. */
  retype(text) {
    const edit = difference(this.text, text);
    this.area.focus();
    this.area.setSelectionRange(edit.begin, edit.end);
    const piece = text.slice(edit.begin, edit.end + edit.moved);
    // The command is old and loved: nothing else lets a page change a text area and leave undo whole.
    if (!document.execCommand(piece ? "insertText" : "delete", false, piece)) {
      this.area.setRangeText(piece, edit.begin, edit.end, "end");
      this.#edited();
    }
  }

  /** Put the cursor at a stretch and show it. */
  go(begin, end = begin) {
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(begin, end);
    this.at = begin;
    this.reveal(begin);
    this.moved();
  }

  /** Scroll a place into view. */
  reveal(place) {
    const [line, frame] = [this.#boxAt(place), this.#frame.getBoundingClientRect()];
    const seen = line.top >= frame.top + 30 && line.bottom <= frame.bottom - 60;
    if (!seen) this.#frame.scrollTop += line.top - frame.top - frame.height / 3;
  }

  /** Show these marks: `{begin, end, kind}`, in units, where they may overlap. */
  mark(marks) {
    this.marks = marks;
    const cuts = [...new Set([0, this.text.length, ...marks.flatMap(({ begin, end }) => [begin, end])])].sort((a, b) => a - b);
    const begins = [...marks].sort((a, b) => a.begin - b.begin);
    let [next, open] = [0, []];
    const pieces = [];
    for (let at = 0; at + 1 < cuts.length; at += 1) {
      const [begin, end] = [cuts[at], cuts[at + 1]];
      while (next < begins.length && begins[next].begin <= begin) open.push(begins[next++]);
      open = open.filter((mark) => mark.end > begin);
      const text = this.text.slice(begin, end);
      const kinds = new Set(open.map((mark) => mark.kind));
      pieces.push(kinds.size ? h("span", { class: [...kinds].join(" ") }, text) : text);
    }
    this.mirror.replaceChildren(...pieces, END);
  }

  /** Page up and down by what can be seen: the area is as high as its text, and would go to its end. */
  #turned(event) {
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

  /** The first place that stands so low, or the last of all. */
  #placeAtHeight(height) {
    let [low, high] = [0, this.text.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#boxAt(middle).bottom > height) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Where a place of the text stands on the screen, by its twin in the mirror. */
  #boxAt(place) {
    const range = document.createRange();
    let left = place;
    for (const piece of this.mirror.childNodes) {
      const node = piece.firstChild ?? piece;
      if (left < node.length) {
        range.setStart(node, left);
        range.setEnd(node, left + 1);
        return range.getBoundingClientRect();
      }
      left -= node.length;
    }
    return this.mirror.getBoundingClientRect();
  }

  get #frame() {
    return this.area.closest(".sheet");
  }

  #edited() {
    const edit = difference(this.text, this.area.value);
    this.text = this.area.value;
    this.at = this.area.selectionStart;
    this.mark(survivors(this.marks, edit));
    this.changed(edit);
  }
}
