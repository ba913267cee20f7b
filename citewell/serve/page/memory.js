/**
 * What survives a reload: kept in this browser and sent nowhere. Each thing has its own name, so that a large draft that does
 * not fit takes nothing else with it.
 */

const PREFIX = "citewell.";

/** What was kept under a name, or `otherwise`. */
export function recalled(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? otherwise;
  } catch {
    return otherwise; // not ours, or from a version that wrote it differently
  }
}

/** Keep a thing; false where the browser has no room or does not allow it. */
export function keep(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
