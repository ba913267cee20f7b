/**
 * The list of suggestions. One card at a time takes the focus (arrow keys move it), and a list that someone is about to click
 * or has the focus in holds still: a better answer waits behind a button until the hand is gone.
 */

import { $, counted, h } from "./dom.js";
import { card } from "./card.js";

const KEYS = { c: "cite", Enter: "cite", x: "dismiss", Delete: "dismiss", r: "related", o: "open" };

export class Listing {
  /** `acts` are what a card's buttons do; `leave()` is called when Escape is pressed in the list. */
  constructor({ acts, marks, leave }) {
    Object.assign(this, { acts, marks, leave });
    this.list = $("suggestions");
    this.suggestions = [];
    this.waiting = null;
    this.pointed = 0;
    this.typed = 0;
    this.over = false;
    this.#watchHand();
    this.list.addEventListener("keydown", (event) => this.#pressed(event));
    this.list.parentElement.addEventListener("keydown", (event) => event.key === "Escape" && this.leave());
    this.list.addEventListener("focusin", (event) => this.#rove(event.target.closest(".card")));
    $("take").addEventListener("click", () => this.take());
  }

  /** Show an answer, or keep it for later where the list must hold still; `fresh` answers another question than the one shown. */
  show(answer, { fresh }) {
    if (this.#held() && (!fresh || this.list.contains(document.activeElement)) && this.suggestions.length) {
      this.waiting = sameList(this.suggestions, answer.suggestions) && !this.#richer(answer) ? null : answer;
    } else {
      this.put(answer);
      if (fresh) this.list.scrollTop = 0;
    }
    this.#showWaiting();
  }

  /** Show the better answer that waits. */
  take() {
    if (!this.waiting) return;
    const had = this.list.contains(document.activeElement) || document.activeElement === $("take");
    const id = document.activeElement?.closest?.(".card")?.dataset.id;
    this.put(this.waiting);
    this.#showWaiting();
    if (had) this.focusOn(id);
  }

  /** Draw the cards again: something about them has changed, their order has not. */
  again() {
    const at = this.#index();
    const act = document.activeElement?.dataset?.act;
    this.put(this.answer ?? { suggestions: [] }, true);
    if (at >= 0 && this.list.children.length) this.focus(at, act);
  }

  /** Take one paper out of the list. */
  drop(id) {
    const at = this.#index();
    this.answer = { ...this.answer, suggestions: this.suggestions.filter((each) => each.id !== id) };
    this.put(this.answer, true);
    if (at >= 0) this.list.children.length ? this.focus(at) : this.leave();
  }

  /** Say something in place of a list. */
  empty(...lines) {
    this.answer = null;
    this.suggestions = [];
    this.waiting = null;
    this.list.replaceChildren(h("li", { class: "empty" }, lines));
    this.#showWaiting();
  }

  /** Put the focus on a card, or on one of its buttons. */
  focus(index = 0, act) {
    const cards = this.list.querySelectorAll(".card");
    const found = cards[Math.min(index, cards.length - 1)];
    (found?.querySelector(act ? `[data-act="${act}"]` : ":scope") ?? found)?.focus();
    return Boolean(found);
  }

  /** Show an answer whatever happens. */
  put(answer, still = false) {
    if (!still) this.waiting = null;
    this.answer = answer;
    this.suggestions = answer.suggestions;
    const titles = new Map(this.suggestions.map(({ id, title }) => [id, title]));
    const open = new Set([...this.list.querySelectorAll("details[open]")].map((each) => each.closest(".card").dataset.id));
    const cards = this.suggestions.map((each) =>
      card(each, { titles, start: answer.start, marks: this.marks(each), acts: this.acts }),
    );
    for (const each of cards) if (open.has(each.dataset.id)) each.querySelector("details")?.setAttribute("open", "");
    this.list.replaceChildren(...cards);
    this.#rove(cards[0]);
  }

  /** Put the focus on the card of a paper, or on the first. */
  focusOn(id) {
    const at = this.suggestions.findIndex((each) => each.id === id);
    return this.focus(Math.max(0, at));
  }

  #showWaiting() {
    $("take").hidden = !this.waiting;
    $("stage").hidden = Boolean(this.waiting); // which says how far the list is that waits
    if (!this.waiting) return;
    const order = new Map(this.suggestions.map(({ id }, at) => [id, at]));
    const moved = this.waiting.suggestions.filter(({ id }, at) => order.get(id) !== at).length;
    $("take").textContent = moved ? `Show the refined list (${counted(moved, "change")})` : "Show the refined reasons";
  }

  #richer(answer) {
    const size = (list) => list.reduce((sum, each) => sum + each.reasons.length, 0);
    return size(answer.suggestions) !== size(this.suggestions);
  }

  /** Whether a hand is at the list: the focus is in it, or the pointer, and no key was pressed elsewhere since it last moved. */
  #held() {
    return this.list.contains(document.activeElement) || (this.over && this.pointed > this.typed);
  }

  #watchHand() {
    const panel = this.list.parentElement;
    panel.addEventListener("pointermove", () => ([this.over, this.pointed] = [true, performance.now()]));
    panel.addEventListener("pointerdown", () => ([this.over, this.pointed] = [true, performance.now()]));
    panel.addEventListener("pointerleave", () => {
      this.over = false;
      if (!this.#held()) this.take();
    });
    this.list.addEventListener("focusout", (event) => {
      if (!panel.contains(event.relatedTarget) && !this.over) this.take();
    });
    document.addEventListener("keydown", ({ target }) => {
      if (!panel.contains(target)) this.typed = performance.now();
    });
    $("draft").addEventListener("input", () => (this.typed = performance.now()));
  }

  #index() {
    return [...this.list.children].indexOf(document.activeElement?.closest?.(".card"));
  }

  /** Let the Tab key reach one card and its buttons only. */
  #rove(current) {
    if (!current) return;
    for (const each of this.list.children) {
      each.tabIndex = each === current ? 0 : -1;
      for (const inner of each.querySelectorAll("button, summary")) inner.tabIndex = each === current ? 0 : -1;
    }
  }

  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#index();
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    const onButton = event.target.closest("button, summary");
    if (event.key === "u") this.take();
    else if (event.key === "Home" || event.key === "End") this.focus(event.key === "Home" ? 0 : this.suggestions.length - 1);
    else if (step) this.focus(Math.max(0, at + step));
    else if (KEYS[event.key] && at >= 0 && !(onButton && event.key === "Enter"))
      this.acts[KEYS[event.key]]?.(this.suggestions[at]);
    else return;
    event.preventDefault();
  }
}

const sameList = (one, other) => one.length === other.length && one.every(({ id }, at) => id === other[at].id);
