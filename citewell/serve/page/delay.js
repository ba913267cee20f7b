/** Waiting that can be cancelled. */

/** Resolve after some milliseconds; reject with an `AbortError` if `signal` aborts first. */
export function delay(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    });
  });
}
