"""A library as training sees it: the words of every paper as numbers, and who cites whom in which words.

Words are those of the library's own analysis. They are numbered by how often they occur, the most frequent first, and rare
ones are left out, so that a number is also a row of a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.index.links import DIRECTIONS
from citewell.library.library import Library
from citewell.text.analysis import Vocabulary

TEXTS = ("own", "own+cited", "own+citing")
"""What the text of a paper is made of: what it says of itself, and what others say of it, or what it says of others."""

_BATCH = 5000

Numbers = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Rows of numbers that differ in length, one after the other."""

    values: Numbers
    starts: Places
    """Where each row begins, and where the last one ends."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> Numbers:
        return self.values[self.starts[row] : self.starts[row + 1]]

    def __iter__(self) -> Iterator[Numbers]:
        return (self[row] for row in range(len(self)))

    @classmethod
    def of(cls, values: Numbers, counts: npt.NDArray[np.integer]) -> Rows:
        return cls(values.astype(np.int32), np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]))


@dataclass(frozen=True)
class Corpus:
    """Papers, words and citation contexts, each known by its place."""

    papers: Places
    """The library's number of each paper, ascending."""
    hashes: Places
    """The term hash of each word."""
    counts: Places
    """How often each word occurs in the texts and contexts."""
    texts: Rows
    """The words of each paper."""
    contexts: Rows
    """The words round each citation."""
    citing: Numbers
    """The paper that each context is in; ascending."""
    cited: Numbers
    """The paper that each context cites; a place that cites several has a context for each."""
    links: Rows
    """The papers that each paper cites or is cited by."""

    def digest(self) -> str:
        """A name for exactly this corpus."""
        state = blake2b(digest_size=8)
        for part in (
            self.papers,
            self.hashes,
            self.texts.values,
            self.texts.starts,
            self.contexts.values,
            self.cited,
            self.links.values,
        ):
            state.update(np.ascontiguousarray(part).data)
        return state.hexdigest()


def read_corpus(library: Library, text: str, min_count: int) -> Corpus:
    """The corpus of a library; words that occur fewer than `min_count` times are left out."""
    if text not in TEXTS:
        raise CitewellError(f"papers have no text {text!r} to train on; there are {', '.join(TEXTS)}")
    vocabulary = Vocabulary()
    papers = library.index.listed("own")
    words, lengths = _paper_words(library, text, papers, vocabulary)
    citing, cited, context_words, context_lengths = _context_words(library, papers, vocabulary)
    counts = np.bincount(words, minlength=len(vocabulary.hashes)) + np.bincount(context_words, minlength=len(vocabulary.hashes))
    hashes = np.array(vocabulary.hashes, np.int64)
    kept = np.flatnonzero((counts >= min_count) & (hashes != 0))
    kept = kept[np.lexsort((hashes[kept], -counts[kept]))]
    if not len(kept):
        raise CitewellError(f"no word occurs {min_count} times in {library.folder}: there is too little to train on")
    number = np.full(len(hashes), -1, np.int32)
    number[kept] = np.arange(len(kept))
    return Corpus(
        papers,
        hashes[kept],
        counts[kept],
        _renumbered(words, lengths, number),
        _renumbered(context_words, context_lengths, number),
        citing,
        cited,
        _links(library, papers),
    )


def _paper_words(library: Library, text: str, papers: Places, vocabulary: Vocabulary) -> tuple[Numbers, Places]:
    """The vocabulary's numbers of all papers' words, and how many each paper has."""
    store = library.store
    parts: list[Numbers] = [np.zeros(0, np.int32)]
    lengths = np.zeros(len(papers), np.int64)
    for start in range(0, len(papers), _BATCH):
        nums: list[int] = papers[start : start + _BATCH].tolist()
        own = {num: said for num, _, said in store.own_texts(nums)}
        more = {"own": {}, "own+cited": store.cited_texts(nums), "own+citing": store.citing_texts(nums)}[text] if nums else {}
        texts = ["\n".join((own.get(num, ""), *more.get(num, ()))) for num in nums]
        found, counts = vocabulary.numbers(texts)
        parts.append(found)
        lengths[start : start + len(nums)] = counts
    return np.concatenate(parts), lengths


def _context_words(library: Library, papers: Places, vocabulary: Vocabulary) -> tuple[Numbers, Numbers, Numbers, Places]:
    """Citing and cited paper of each context, by their places, and the numbers of its words."""
    found: Sequence[tuple[int, int, str]] = library.store.db.execute(
        "SELECT contexts.citing, cited, text FROM targets JOIN contexts ON contexts.num = context"
        " WHERE cited IS NOT NULL ORDER BY contexts.citing, contexts.num, cited"
    ).fetchall()
    # A paper that came after the index was opened has no place yet.
    known = set(papers.tolist())
    found = [each for each in found if each[0] in known and each[1] in known]
    words, lengths = vocabulary.numbers([said for _, _, said in found])
    citing = np.searchsorted(papers, np.array([citing for citing, _, _ in found], np.int64)).astype(np.int32)
    cited = np.searchsorted(papers, np.array([cited for _, cited, _ in found], np.int64)).astype(np.int32)
    return citing, cited, words, lengths.astype(np.int64)


def _links(library: Library, papers: Places) -> Rows:
    """Citations in both directions, by the papers' places."""
    ends = []
    for direction in DIRECTIONS:
        targets, counts = library.index.graph.neighbours(direction, papers)
        place = np.minimum(np.searchsorted(papers, targets), max(len(papers) - 1, 0))
        known = papers[place] == targets if len(papers) else np.zeros(0, bool)
        ends.append(np.stack([np.repeat(np.arange(len(papers)), counts)[known], place[known]]))
    start, end = np.concatenate(ends, axis=1)
    order = np.lexsort((end, start))
    return Rows.of(end[order].astype(np.int32), np.bincount(start, minlength=len(papers)))


def _renumbered(words: Numbers, lengths: Places, number: Numbers) -> Rows:
    """Rows of the vocabulary's numbers as rows of the corpus's, without the words that were left out."""
    new = number[words]
    owners = np.repeat(np.arange(len(lengths)), lengths)[new >= 0]
    return Rows.of(new[new >= 0], np.bincount(owners, minlength=len(lengths)))
