"""A library as training data: the words of every paper as ids, and its citation contexts.

Words come from the library's own analysis. Ids are assigned by frequency, most frequent first, and rare words are dropped, so
that an id is also a row of a matrix.
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
from citewell.text.languages import analysis_language
from citewell.types import IntArray

TEXTS = ("own", "own+cited", "own+citing")
"""The texts of a paper to train on: its own text, with cited contexts, or with citing contexts."""

_BATCH = 5000

WordIds = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Rows:
    """Rows of different lengths in one array."""

    values: WordIds
    starts: IntArray
    """The start of each row, and the end of the last one."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> WordIds:
        return self.values[self.starts[row] : self.starts[row + 1]]

    def __iter__(self) -> Iterator[WordIds]:
        return (self[row] for row in range(len(self)))

    @classmethod
    def of(cls, values: WordIds, counts: npt.NDArray[np.integer]) -> Rows:
        return cls(values.astype(np.int32), np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]))


@dataclass(frozen=True)
class Corpus:
    """Papers, words and citation contexts, each identified by its position."""

    papers: IntArray
    """The library's number of each paper, ascending."""
    hashes: IntArray
    """The term hash of each word."""
    counts: IntArray
    """The frequency of each word in texts and contexts."""
    texts: Rows
    """The words of each paper."""
    contexts: Rows
    """The words of each context."""
    citing: WordIds
    """The citing paper of each context; ascending."""
    cited: WordIds
    """The cited paper of each context; a citation of several papers has one context for each."""
    links: Rows
    """The papers that each paper cites or is cited by."""

    def fingerprint(self) -> str:
        """Identifies exactly this corpus."""
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
    """The corpus of a library, without words that occur fewer than `min_count` times."""
    if text not in TEXTS:
        raise CitewellError(f"there is no text {text!r} to train on; there are {', '.join(TEXTS)}")
    vocabulary = Vocabulary()
    papers = library.index.listed("own")
    words, lengths = _paper_words(library, text, papers, vocabulary)
    citing, cited, context_words, context_lengths = _context_words(library, papers, vocabulary)
    counts = np.bincount(words, minlength=len(vocabulary.hashes)) + np.bincount(context_words, minlength=len(vocabulary.hashes))
    hashes = np.array(vocabulary.hashes, np.int64)
    frequent = np.flatnonzero((counts >= min_count) & (hashes != 0))
    frequent = frequent[np.lexsort((hashes[frequent], -counts[frequent]))]
    if not len(frequent):
        raise CitewellError(f"no word occurs {min_count} times in {library.folder}: there is too little to train on")
    number = np.full(len(hashes), -1, np.int32)
    number[frequent] = np.arange(len(frequent))
    return Corpus(
        papers,
        hashes[frequent],
        counts[frequent],
        _renumber(words, lengths, number),
        _renumber(context_words, context_lengths, number),
        citing,
        cited,
        _links(library, papers),
    )


def _paper_words(library: Library, text: str, papers: IntArray, vocabulary: Vocabulary) -> tuple[WordIds, IntArray]:
    """The word ids of all papers, and the number of words of each."""
    store = library.store
    parts: list[WordIds] = [np.zeros(0, np.int32)]
    lengths = np.zeros(len(papers), np.int64)
    for start in range(0, len(papers), _BATCH):
        nums: list[int] = papers[start : start + _BATCH].tolist()
        own = {num: content for num, _, content in store.own_texts(nums)}
        more = {"own": {}, "own+cited": store.cited_texts(nums), "own+citing": store.citing_texts(nums)}[text] if nums else {}
        texts = ["\n".join((own.get(num, ""), *more.get(num, ()))) for num in nums]
        words, counts = vocabulary.numbers(texts, [analysis_language(each) for each in texts])
        parts.append(words)
        lengths[start : start + len(nums)] = counts
    return np.concatenate(parts), lengths


def _context_words(library: Library, papers: IntArray, vocabulary: Vocabulary) -> tuple[WordIds, WordIds, WordIds, IntArray]:
    """The citing and the cited paper of each context, by position, and the ids of its words."""
    rows: Sequence[tuple[int, int, str]] = library.store.db.execute(
        "SELECT contexts.citing, cited, text FROM targets JOIN contexts ON contexts.num = context"
        " WHERE cited IS NOT NULL ORDER BY contexts.citing, contexts.num, cited"
    ).fetchall()
    # A paper added after the index was opened has no position yet.
    known = set(papers.tolist())
    rows = [each for each in rows if each[0] in known and each[1] in known]
    texts = [content for _, _, content in rows]
    words, lengths = vocabulary.numbers(texts, [analysis_language(text) for text in texts])
    citing = np.searchsorted(papers, np.array([citing for citing, _, _ in rows], np.int64)).astype(np.int32)
    cited = np.searchsorted(papers, np.array([cited for _, cited, _ in rows], np.int64)).astype(np.int32)
    return citing, cited, words, lengths.astype(np.int64)


def _links(library: Library, papers: IntArray) -> Rows:
    """Citations in both directions, by position."""
    ends = []
    for direction in DIRECTIONS:
        targets, counts = library.index.graph.neighbours(direction, papers)
        place = np.minimum(np.searchsorted(papers, targets), max(len(papers) - 1, 0))
        known = papers[place] == targets if len(papers) else np.zeros(0, bool)
        ends.append(np.stack([np.repeat(np.arange(len(papers)), counts)[known], place[known]]))
    start, end = np.concatenate(ends, axis=1)
    order = np.lexsort((end, start))
    return Rows.of(end[order].astype(np.int32), np.bincount(start, minlength=len(papers)))


def _renumber(words: WordIds, lengths: IntArray, number: WordIds) -> Rows:
    """Rows of vocabulary ids as rows of corpus ids, without the dropped words."""
    new = number[words]
    owners = np.repeat(np.arange(len(lengths)), lengths)[new >= 0]
    return Rows.of(new[new >= 0], np.bincount(owners, minlength=len(lengths)))
