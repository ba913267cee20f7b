/**
 * Places in a text, counted two ways. The server counts characters (code points); a browser counts UTF-16 units, in which an
 * emoji or a letter of mathematics is two. A text is read once for its long characters; every place is then found among them.
 */

export class Offsets {
  constructor(text) {
    /** Where the long characters begin, in units. */
    this.long = [];
    for (const found of text.matchAll(/[\u{10000}-\u{10ffff}]/gu)) this.long.push(found.index);
  }

  /** The unit at which a code point begins. */
  units(points) {
    return points + this.#before((at, index) => at - index < points);
  }

  /** How many code points stand before a unit. */
  points(units) {
    return units - this.#before((at) => at < units);
  }

  /** How many long characters satisfy a test that the first ones do and the later ones do not. */
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
