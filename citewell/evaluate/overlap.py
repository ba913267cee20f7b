"""Duplicates between collections: which papers of one collection are also in another, by their titles.

Two titles match if the Jaccard similarity of their words is at least 0.7. Such titles share one of their few rarest words, so
only titles that do are compared (prefix filtering), and of those only the ones with enough words left after it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from citewell.text.fold import folded

OF_TEN = 7
"""The threshold in tenths, because no float is exactly 0.7."""

_SPECIAL = re.compile(r"[^\w\s]|_")


def title_words(title: str) -> frozenset[str]:
    """The distinct words of a title in lower case, without special characters and accents."""
    return frozenset(_SPECIAL.sub("", folded(title)).split())


def similar(words: frozenset[str], other_words: frozenset[str]) -> bool:
    """Whether the Jaccard similarity of two sets of words reaches the threshold; an empty set is similar to none."""
    shared = len(words & other_words)
    return shared > 0 and 10 * shared >= OF_TEN * (len(words) + len(other_words) - shared)


class Titles:
    """The titles of a collection, to check whether another title matches one of them."""

    def __init__(self, titles: Iterable[str]) -> None:
        known = {words for title in titles if (words := title_words(title))}
        self._known = known
        self._frequency = Counter(word for words in known for word in words)
        self._by_rare_word: dict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        """Word to the titles that have it among their rarest words, each with the number of its words from there on."""
        for words in known:
            for word, left in self._rarest(words):
                self._by_rare_word[word].append((left, words))

    def overlap(self, title: str) -> bool:
        """Whether `title` matches one of these."""
        words = title_words(title)
        if words in self._known:
            return True
        for word, left in self._rarest(words):
            for other_left, other in self._by_rare_word.get(word, ()):
                # From the rarest shared word on, both must have as many words left as they must share in total.
                most = min(left, other_left)
                if 10 * most >= OF_TEN * (len(words) + len(other) - most) and similar(words, other):
                    return True
        return False

    def _rarest(self, words: frozenset[str]) -> Iterator[tuple[str, int]]:
        """The words of which every similar set has at least one, each with the number of words from it on.

        Similar sets share at least 0.7 of the words of either, so their rarest shared word cannot come later.
        """
        size = len(words)
        fewest = -(-OF_TEN * size // 10)
        frequency = self._frequency
        ordered = sorted(words, key=lambda word: (frequency[word], word))
        return ((word, size - at) for at, word in enumerate(ordered[: size - fewest + 1]))
