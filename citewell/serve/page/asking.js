/**
 * Suggestions while typing: after a short rest the quick pipeline is asked, and the thorough one once its answer is there.
 * Whatever was asked before is called off, so that a stale answer is never shown.
 */

import { post } from "./server.js";

const REST = 110;
const LONGER_REST = 450;
const KEPT = 60;

export class Asking {
  /** `show(answer, stage)` gets each answer with its stage, `quick` or `refined`; `fail(error)` gets what went wrong. */
  constructor({ show, fail }) {
    Object.assign(this, { show, fail });
    this.refined = new Map();
    this.going = null;
  }

  /** Ask for a place; `body` is the request without its pipeline, and while `typing` there is a rest before it. */
  async about(body, { typing }) {
    this.stop();
    const going = (this.going = new AbortController());
    const name = JSON.stringify(body);
    const known = this.refined.get(name);
    if (known) return this.show(known, "refined");
    try {
      await rest(typing ? REST : 0, going.signal);
      this.show(await post("suggest", { ...body, pipeline: "fast" }, going.signal), "quick");
      await rest(typing ? LONGER_REST : 0, going.signal);
      const answer = await post("suggest", { ...body, pipeline: "best" }, going.signal);
      this.#remember(name, answer);
      this.show(answer, "refined");
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
    }
  }

  /** Call off what is being asked. */
  stop() {
    this.going?.abort();
  }

  /** Forget every answer: the library has changed. */
  forget() {
    this.refined.clear();
  }

  #remember(name, answer) {
    this.refined.set(name, answer);
    if (this.refined.size > KEPT) this.refined.delete(this.refined.keys().next().value);
  }
}

/** Wait, unless called off. */
export function rest(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("called off", "AbortError"));
    });
  });
}
