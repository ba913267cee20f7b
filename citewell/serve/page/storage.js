/**
 * Values that survive a reload, in the browser's local storage. Each has its own key, so that a large draft that does not fit
 * affects nothing else.
 */

const PREFIX = "citewell.";

/** The stored value, or `fallback`. */
export function load(name, fallback) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? fallback;
  } catch {
    return fallback; // not ours, or written by another version
  }
}

/** Store a value; false if the browser has no room or does not allow it. */
export function store(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
