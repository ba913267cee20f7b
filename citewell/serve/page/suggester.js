/**
 * Requests suggestions while the user types: after a short pause from the fast pipeline, then from the best one.
 * A new request cancels the one before, so that outdated results are never shown.
 */

import { delay } from "./delay.js";
import { post } from "./server.js";

const PAUSE = 110;
const REFINE_PAUSE = 450;
const CACHE_SIZE = 60;

export class Suggester {
  /** @type {(results: any, stage: string) => void} */
  show;
  /** @type {(error: Error) => void} */
  fail;

  /** `show(results, stage)` receives results and their stage, `fast` or `refined`; `fail(error)` receives errors. */
  constructor({ show, fail }) {
    Object.assign(this, { show, fail });
    this.cache = new Map();
    this.controller = null;
  }

  /** Request suggestions; `body` is the request without its pipeline. While `typing`, wait for a pause first. */
  async request(body, { typing }) {
    this.stop();
    const controller = (this.controller = new AbortController());
    const key = JSON.stringify(body);
    const cached = this.cache.get(key);
    if (cached) return this.show(cached, "refined");
    try {
      await delay(typing ? PAUSE : 0, controller.signal);
      this.show(await post("suggest", { ...body, pipeline: "fast" }, controller.signal), "fast");
      await delay(typing ? REFINE_PAUSE : 0, controller.signal);
      const results = await post("suggest", { ...body, pipeline: "best" }, controller.signal);
      if (!results.notes.length) this.#cache(key, results); // with notes, results may improve
      this.show(results, "refined");
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
    }
  }

  /** Cancel the running request. */
  stop() {
    this.controller?.abort();
  }

  /** Drop all cached results, because the library has changed. */
  forget() {
    this.cache.clear();
  }

  #cache(key, results) {
    this.cache.set(key, results);
    if (this.cache.size > CACHE_SIZE) this.cache.delete(this.cache.keys().next().value);
  }
}
