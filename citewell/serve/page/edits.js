/**
 * What an edit changed, and where places of the old text stand in the new one. Marks follow the typing by this, until the
 * server has read the text again.
 */

/** The one stretch in which two texts differ: `begin` and `end` in the old one, and by how much what follows moved. */
export function difference(before, after) {
  const most = Math.min(before.length, after.length);
  let begin = 0;
  while (begin < most && before[begin] === after[begin]) begin += 1;
  let tail = 0;
  while (tail < most - begin && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { begin, end: before.length - tail, moved: after.length - before.length };
}

/** Where a stretch of the old text stands now; null where the edit cut into one of its ends or took it away. */
export function shifted(stretch, edit) {
  const { begin, end } = stretch;
  if (end <= edit.begin) return stretch;
  if (begin >= edit.end) return { ...stretch, begin: begin + edit.moved, end: end + edit.moved };
  if (begin <= edit.begin && end >= edit.end) return { ...stretch, end: end + edit.moved };
  return null;
}

/** Those of some stretches that an edit left whole, where they stand now. */
export function survivors(stretches, edit) {
  return stretches.map((each) => shifted(each, edit)).filter(Boolean);
}
