"""The leak guard: which papers of one collection are, by their titles, also in another.

Two titles overlap where their sets of words have a Jaccard similarity of at least 0.7. So similar sets share one of their few
rarest words: only titles that do are compared (prefix filtering), and of those only the ones that rank the word about alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

OF_TEN = 7
"""The threshold in tenths: in whole numbers, since no float is exactly 0.7."""

_SPECIAL = re.compile(r"[^\w\s]|_")


def title_words(title: str) -> frozenset[str]:
    """The different words of a title in lower case, without special characters; accents count as such."""
    folded = title if title.isascii() else unicodedata.normalize("NFKD", title)
    return frozenset(_SPECIAL.sub("", folded).casefold().split())


def alike(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether two sets of words overlap by at least the threshold; a title without words is like no other."""
    shared = len(some & others)
    return shared > 0 and 10 * shared >= OF_TEN * (len(some) + len(others) - shared)


class Titles:
    """The titles of a collection, to be asked which others overlap with one of them."""

    def __init__(self, titles: Iterable[str]) -> None:
        known = {words for title in titles if (words := title_words(title))}
        self._known = known
        self._frequency = Counter(word for words in known for word in words)
        self._by_rare_word: dict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        """Of each word the titles that have it among their rarest, with how many words they have from it on."""
        for words in known:
            for word, left in self._rarest(words):
                self._by_rare_word[word].append((left, words))

    def overlap(self, title: str) -> bool:
        """Whether `title` overlaps with one of these."""
        words = title_words(title)
        if words in self._known:
            return True
        for word, left in self._rarest(words):
            for other_left, other in self._by_rare_word.get(word, ()):
                # At the rarest word that they share, both must have enough words left for what they must share in all.
                most = min(left, other_left)
                if 10 * most >= OF_TEN * (len(words) + len(other) - most) and alike(words, other):
                    return True
        return False

    def _rarest(self, words: frozenset[str]) -> Iterator[tuple[str, int]]:
        """Those words of which one is shared with every set that is alike, each with how many follow, itself counted.

        Sets that are alike share at least 0.7 of the words of either, so that their rarest shared word cannot come later.
        """
        size = len(words)
        fewest = -(-OF_TEN * size // 10)
        frequency = self._frequency
        ordered = sorted(words, key=lambda word: (frequency[word], word))
        return ((word, size - at) for at, word in enumerate(ordered[: size - fewest + 1]))
