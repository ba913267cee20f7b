/**
 * The list of suggestions. One card at a time has the focus (arrow keys move it). While the pointer or the focus is in the list it
 * does not change: refined results wait behind a button until the user leaves the list.
 */

import { $, counted, h } from "./dom.js";
import { card } from "./card.js";

const KEYS = { c: "cite", Enter: "cite", x: "dismiss", Delete: "dismiss", r: "related", o: "open" };

export class SuggestionList {
  /** @type {Record<string, (suggestion: any) => void>} */
  acts;
  /** @type {(suggestion: any) => any} */
  marks;
  /** @type {() => void} */
  leave;

  /** `acts` has the actions of a card's buttons; `leave()` is called when Escape is pressed in the list. */
  constructor({ acts, marks, leave }) {
    Object.assign(this, { acts, marks, leave });
    this.list = $("suggestions");
    this.suggestions = [];
    this.waiting = null;
    this.pointerTime = 0;
    this.keyTime = 0;
    this.hovered = false;
    this.#watchPointer();
    this.list.addEventListener("keydown", (event) => this.#onKey(event));
    this.list.parentElement.addEventListener("keydown", (event) => event.key === "Escape" && this.leave());
    this.list.addEventListener("focusin", (event) => this.#rove(/** @type {Element} */ (event.target).closest(".card")));
    $("show-refined").addEventListener("click", () => this.showWaiting());
  }

  /** Show results, or let them wait while the list is in use; `fresh` results are for another query than those shown. */
  show(results, { fresh }) {
    if (this.#isInUse() && (!fresh || this.list.contains(document.activeElement)) && this.suggestions.length) {
      this.waiting = sameList(this.suggestions, results.suggestions) && !this.#hasOtherReasons(results) ? null : results;
    } else {
      this.put(results);
      if (fresh) this.list.scrollTop = 0;
    }
    this.#updateButton();
  }

  /** Show the waiting results. */
  showWaiting() {
    if (!this.waiting) return;
    const hadFocus = this.list.contains(document.activeElement) || document.activeElement === $("show-refined");
    /** @type {HTMLElement} */
    const focused = document.activeElement?.closest?.(".card");
    const id = focused?.dataset.id;
    this.put(this.waiting);
    this.#updateButton();
    if (hadFocus) this.focusOn(id);
  }

  /** Redraw the cards in the same order. */
  redraw() {
    const at = this.#index();
    const act = /** @type {HTMLElement} */ (document.activeElement)?.dataset?.act;
    this.put(this.results ?? { suggestions: [] }, true);
    if (at >= 0 && this.list.children.length) this.focus(at, act);
  }

  /** Remove one paper from the list. */
  drop(id) {
    const at = this.#index();
    this.results = { ...this.results, suggestions: this.suggestions.filter((each) => each.id !== id) };
    this.put(this.results, true);
    if (at >= 0) this.list.children.length ? this.focus(at) : this.leave();
  }

  /** Show a message instead of suggestions. */
  showMessage(...lines) {
    this.results = null;
    this.suggestions = [];
    this.waiting = null;
    this.list.replaceChildren(h("li", { class: "empty" }, lines));
    this.#updateButton();
  }

  /** Focus a card, or one of its buttons. */
  focus(index = 0, act) {
    /** @type {NodeListOf<HTMLElement>} */
    const cards = this.list.querySelectorAll(".card");
    const target = cards[Math.min(index, cards.length - 1)];
    /** @type {HTMLElement} */
    const inner = target?.querySelector(act ? `[data-act="${act}"]` : ":scope");
    (inner ?? target)?.focus();
    return Boolean(target);
  }

  /** Show results, even while the list is in use. */
  put(results, keepWaiting = false) {
    if (!keepWaiting) this.waiting = null;
    this.results = results;
    this.suggestions = results.suggestions;
    const titles = new Map(this.suggestions.map(({ id, title }) => [id, title]));
    const open = new Set([...this.list.querySelectorAll("details[open]")].map(cardOf));
    const cards = this.suggestions.map((each) =>
      card(each, { titles, start: results.start, marks: this.marks(each), acts: this.acts }),
    );
    for (const each of cards) if (open.has(each.dataset.id)) each.querySelector("details")?.setAttribute("open", "");
    this.list.replaceChildren(...cards);
    this.#rove(cards[0]);
  }

  /** Focus the card of a paper, or the first card. */
  focusOn(id) {
    const at = this.suggestions.findIndex((each) => each.id === id);
    return this.focus(Math.max(0, at));
  }

  #updateButton() {
    $("show-refined").hidden = !this.waiting;
    $("stage").hidden = Boolean(this.waiting); // it describes the results that wait
    if (!this.waiting) return;
    const order = new Map(this.suggestions.map(({ id }, at) => [id, at]));
    const moved = this.waiting.suggestions.filter(({ id }, at) => order.get(id) !== at).length;
    $("show-refined").textContent = moved ? `Show refined results (${counted(moved, "change")})` : "Show refined reasons";
  }

  #hasOtherReasons(results) {
    const size = (list) => list.reduce((sum, each) => sum + each.reasons.length, 0);
    return size(results.suggestions) !== size(this.suggestions);
  }

  /** Whether the list is in use: it has the focus, or the pointer is over it and no key was pressed elsewhere since it moved. */
  #isInUse() {
    return this.list.contains(document.activeElement) || (this.hovered && this.pointerTime > this.keyTime);
  }

  #watchPointer() {
    const panel = this.list.parentElement;
    panel.addEventListener("pointermove", () => ([this.hovered, this.pointerTime] = [true, performance.now()]));
    panel.addEventListener("pointerdown", () => ([this.hovered, this.pointerTime] = [true, performance.now()]));
    panel.addEventListener("pointerleave", () => {
      this.hovered = false;
      if (!this.#isInUse()) this.showWaiting();
    });
    this.list.addEventListener("focusout", ({ relatedTarget }) => {
      if (!panel.contains(/** @type {Node} */ (relatedTarget)) && !this.hovered) this.showWaiting();
    });
    document.addEventListener("keydown", ({ target }) => {
      if (!panel.contains(/** @type {Node} */ (target))) this.keyTime = performance.now();
    });
    $("draft").addEventListener("input", () => (this.keyTime = performance.now()));
  }

  #index() {
    return [...this.list.children].indexOf(document.activeElement?.closest?.(".card"));
  }

  /** Let the Tab key reach only one card and its buttons. */
  #rove(current) {
    if (!current) return;
    for (const each of /** @type {Iterable<HTMLElement>} */ (this.list.querySelectorAll(":scope > *"))) {
      each.tabIndex = each === current ? 0 : -1;
      /** @type {NodeListOf<HTMLElement>} */
      const controls = each.querySelectorAll("button, summary");
      for (const inner of controls) inner.tabIndex = each === current ? 0 : -1;
    }
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#index();
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    const onButton = event.target.closest("button, summary");
    if (event.key === "u") this.showWaiting();
    else if (event.key === "Home" || event.key === "End") this.focus(event.key === "Home" ? 0 : this.suggestions.length - 1);
    else if (step) this.focus(Math.max(0, at + step));
    else if (KEYS[event.key] && at >= 0 && !(onButton && event.key === "Enter"))
      this.acts[KEYS[event.key]]?.(this.suggestions[at]);
    else return;
    event.preventDefault();
  }
}

/** The id of the paper whose card an element is in. @param {Element} each */
const cardOf = (each) => /** @type {HTMLElement} */ (each.closest(".card")).dataset.id;

const sameList = (one, other) => one.length === other.length && one.every(({ id }, at) => id === other[at].id);
