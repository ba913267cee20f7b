/**
 * What the browser's own undo cannot restore: the places of chosen papers that were lost when text was deleted or citations were
 * inserted. Each state is stored with the text it belongs to and restored when undo brings that text back.
 */

const MAX_STATES = 20;

export class UndoStates {
  constructor() {
    this.states = new Map();
  }

  /** Store the state that belongs to a text of a file. */
  remember(file, text, state) {
    this.states.delete(keyOf(file, text));
    this.states.set(keyOf(file, text), state);
    if (this.states.size > MAX_STATES) this.states.delete(this.states.keys().next().value);
  }

  /** The state that belongs to a text of a file, if there is one. */
  stateOf(file, text) {
    return this.states.get(keyOf(file, text));
  }

  forget() {
    this.states.clear();
  }
}

const keyOf = (file, text) => `${file}\n${text}`;
