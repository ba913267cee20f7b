"""How well text is split into sentences, compared with the splits of the people or programs that made a set.

python -m benchmarks.sentences SET [SET …]

The sentences of each paper are joined with single spaces and split again. A paper with the dots of a table of contents, where
some sets split at every dot, counts in the first line only.
"""

from __future__ import annotations

import sys
from itertools import accumulate
from pathlib import Path

from citewell.evaluate.sets import DataSet
from citewell.text.sentences import sentence_spans

_LEADER = ". . . . . ."


def main() -> None:
    for folder in sys.argv[1:]:
        texts = [
            [part.text.strip() for part in paper.sentences if part.text.strip()]
            for paper in DataSet.open(Path(folder)).papers()
        ]
        _report(f"{Path(folder).name}", [parts for parts in texts if parts])
        _report(f"{Path(folder).name}, no leaders", [parts for parts in texts if parts and _LEADER not in " ".join(parts)])


def _report(name: str, texts: list[list[str]]) -> None:
    returned = expected = both = lost = 0
    for parts in texts:
        text = " ".join(parts)
        spans = sentence_spans(text)
        theirs = {end + 1 for end in accumulate(len(part) + (at > 0) for at, part in enumerate(parts[:-1]))}
        ours = {end for _, end in spans[:-1]}
        lost += "".join(text[start:end] for start, end in spans) != text
        returned, expected, both = returned + len(ours), expected + len(theirs), both + len(ours & theirs)
    print(
        f"{name:24} {len(texts):6,} papers  recall {both / expected:.4f}  precision {both / returned:.4f}  texts changed {lost}"
    )


if __name__ == "__main__":
    main()
