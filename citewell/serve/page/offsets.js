/**
 * Converts text positions. The server counts code points; the browser counts UTF-16 code units, where an emoji or a mathematical
 * letter takes two. The positions of such characters are collected once per text.
 */

export class Offsets {
  constructor(text) {
    /** The positions of characters that take two units, in units. */
    this.long = [];
    for (const match of text.matchAll(/[\u{10000}-\u{10ffff}]/gu)) this.long.push(match.index);
  }

  /** The position in units of a position in code points. */
  units(points) {
    return points + this.#before((at, index) => at - index < points);
  }

  /** The position in code points of a position in units. */
  points(units) {
    return units - this.#before((at) => at < units);
  }

  /** The number of long characters that satisfy a test which is true for the first ones and false for the rest. */
  #before(test) {
    let [low, high] = [0, this.long.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (test(this.long[middle], middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
