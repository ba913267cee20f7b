"""English analysis: from text to terms.

Text is folded (case, accents, ligatures), split into runs of letters and digits, filtered by stop words, and stemmed (Snowball
English). A token that contains a digit is not stemmed, so that ``p53``, ``H2O2`` and ``BM25`` survive. A term is represented by
a 64-bit hash: the index needs no dictionary of strings, and independent processes agree.

Nearly all words have occurred before. So text is first split at ASCII punctuation only, and a `Vocabulary` caches the result
for each piece: a document takes one ``bytes.translate``, one ``split`` and one dictionary look-up per word, and each distinct
piece is folded once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from threading import Lock

import numpy as np
import numpy.typing as npt
import Stemmer

from citewell.text.fold import folded
from citewell.types import IntArray

VERSION = "english-1"
"""Stored in every index; an index of another version must be rebuilt."""

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between both but
    by can cannot could did do does doing don down during each et few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just ll me more most my myself no nor not now of off on once only
    or other our ours ourselves out over own re s same she should so some such t than that the their theirs them themselves
    then there these they this those through to too under until up ve very was we were what when where which while who whom why
    will with would you your yours yourself yourselves othercit targetcit""".split()
)

_TABLE = bytes(byte if byte > 127 else ord(chr(byte).lower()) if chr(byte).isalnum() else 32 for byte in range(256))
"""For UTF-8: ASCII letters in lower case, digits and the bytes of other letters unchanged, everything else a space."""
TermNumbers = npt.NDArray[np.int32]

_OTHER_PUNCTUATION = re.compile(r"[^\w\x00-\x7f]+")


def tokens(text: str) -> list[bytes]:
    """The folded tokens of `text`, stop words included, in order."""
    if not text.isascii():
        text = _OTHER_PUNCTUATION.sub(" ", folded(text))
    return _pieces(text)


def _pieces(text: str) -> list[bytes]:
    """Runs of ASCII letters, digits, and non-ASCII characters that still have to be folded and split."""
    return text.encode("utf-8", "ignore").translate(_TABLE).split()


def term_hash(stem: bytes) -> int:
    """The 64-bit number (signed, never 0) of a term in the index."""
    return int.from_bytes(blake2b(stem, digest_size=8).digest(), "little", signed=True) or 1


class _Cache(dict[bytes, int]):
    """Caches the number that a function returns for each piece of text."""

    def __init__(self, number: Callable[[bytes], int]) -> None:
        super().__init__()
        self._compute = number

    def __missing__(self, piece: bytes) -> int:
        number = self[piece] = self._compute(piece)
        return number


class Vocabulary:
    """Maps raw tokens to term numbers, in order of first occurrence; number 0 is for all stop words."""

    def __init__(self) -> None:
        self.hashes: list[int] = [0]
        """The hash of each term, by its number."""
        self.hash_of = _Cache(lambda token: self.hashes[self.number(token)])
        """The hash of each token's term, 0 for a stop word."""
        self._by_piece = _Cache(self._number)
        self._phrases: list[TermNumbers] = [np.zeros(0, np.int32)]
        self._by_token: dict[bytes, int] = {}
        self._by_hash: dict[int, int] = {}
        self._stemmer = Stemmer.Stemmer("english", 0)
        self._learning = Lock()

    def __len__(self) -> int:
        return len(self._by_piece)

    def numbers(self, texts: Sequence[str]) -> tuple[TermNumbers, TermNumbers]:
        """The concatenated term numbers of all texts, without stop words, and the number of terms of each text."""
        pieces = [_pieces(text) for text in texts]
        flat = list(chain.from_iterable(pieces))
        numbers = np.fromiter(map(self._by_piece.__getitem__, flat), np.int32, len(flat))
        owners = np.repeat(np.arange(len(texts)), [len(each) for each in pieces])
        numbers, owners = self._expanded(numbers[numbers != 0], owners[numbers != 0])
        return numbers, np.bincount(owners, minlength=len(texts)).astype(np.int32)

    def _expanded(self, numbers: TermNumbers, owners: IntArray) -> tuple[TermNumbers, IntArray]:
        """Replace the negative numbers, each of which represents several terms."""
        several = np.flatnonzero(numbers < 0)
        if not len(several):
            return numbers, owners
        sizes = np.ones(len(numbers), np.int64)
        sizes[several] = [len(self._phrases[-number]) for number in numbers[several]]
        starts = np.cumsum(sizes) - sizes
        expanded = np.repeat(numbers, sizes)
        for at in several:
            expanded[starts[at] : starts[at] + sizes[at]] = self._phrases[-numbers[at]]
        return expanded, np.repeat(owners, sizes)

    def _number(self, piece: bytes) -> int:
        """The number of the term in a piece of text, or, for several terms, minus their position in `_phrases`."""
        words = tokens(piece.decode())
        numbers = [number for word in words if (number := self.number(word))]
        if len(numbers) < 2:
            return numbers[0] if numbers else 0
        self._phrases.append(np.array(numbers, np.int32))
        return 1 - len(self._phrases)

    def number(self, token: bytes) -> int:
        """The number of the term of one token; a new term gets a new number."""
        known = self._by_token.get(token)
        if known is None:
            with self._learning:  # two threads may add words at the same time; known words need no lock
                known = self._by_token[token] = self._learn(token.decode())
        return known

    def _learn(self, word: str) -> int:
        if word in STOP_WORDS:
            return 0
        hashed = term_hash(self._stemmer.stemWord(word).encode() if word.isalpha() else word.encode())
        number = self._by_hash.setdefault(hashed, len(self.hashes))
        if number == len(self.hashes):
            self.hashes.append(hashed)
        return number


_MAX_CACHED = 1_000_000
"""A server that runs for years must not cache every word of every query."""


@lru_cache(maxsize=1)
def _query_vocabulary() -> Vocabulary:
    return Vocabulary()


def terms(text: str) -> dict[int, tuple[str, float]]:
    """Each term of `text`: its hash, the first word with it, and its frequency."""
    hashes = _query_vocabulary().hash_of
    if len(hashes) > _MAX_CACHED:
        _query_vocabulary.cache_clear()
    counts: dict[int, tuple[str, float]] = {}
    for token in tokens(text):
        if term := hashes[token]:
            if known := counts.get(term):
                counts[term] = known[0], known[1] + 1
            else:
                counts[term] = token.decode(), 1
    return counts
