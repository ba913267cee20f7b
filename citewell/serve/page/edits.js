/**
 * Computes what an edit changed, and where positions of the old text are in the new one. Marks follow the typing this way until
 * the server has parsed the text again.
 */

/** The range in which two texts differ: `begin` and `end` in the old one, and by how much the text after it `moved`. */
export function difference(before, after) {
  const most = Math.min(before.length, after.length);
  let begin = 0;
  while (begin < most && before[begin] === after[begin]) begin += 1;
  let tail = 0;
  while (tail < most - begin && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { begin, end: before.length - tail, moved: after.length - before.length };
}

/** A range of the old text in the new one; null if the edit deleted it or cut off one of its ends. */
export function shifted(range, edit) {
  const { begin, end } = range;
  if (end <= edit.begin) return range;
  if (begin >= edit.end) return { ...range, begin: begin + edit.moved, end: end + edit.moved };
  if (begin <= edit.begin && end >= edit.end) return { ...range, end: end + edit.moved };
  return null;
}

/** The ranges that survive an edit, at their new positions. */
export function survivors(ranges, edit) {
  return ranges.map((each) => shifted(each, edit)).filter(Boolean);
}
