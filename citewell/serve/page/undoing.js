/**
 * What the browser's own undo cannot bring back: the places that were lost when text was taken away or citations were put in.
 * They are remembered with the text that they belong to, and are there again when the text is.
 */

const KEPT = 20;

export class Undoing {
  constructor() {
    this.states = new Map();
  }

  /** Remember what belongs to a text of a file. */
  remember(file, text, state) {
    this.states.delete(nameOf(file, text));
    this.states.set(nameOf(file, text), state);
    if (this.states.size > KEPT) this.states.delete(this.states.keys().next().value);
  }

  /** What belongs to the text that a file has come back to. */
  recalled(file, text) {
    return this.states.get(nameOf(file, text));
  }

  forget() {
    this.states.clear();
  }
}

const nameOf = (file, text) => `${file}\n${text}`;
