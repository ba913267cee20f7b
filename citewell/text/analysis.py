"""English analysis: from text to terms.

Text is folded (case, accents, ligatures), cut into runs of letters and digits, freed of stop words, and stemmed (Snowball
English). A token that holds a digit is kept as it is, so that ``p53``, ``H2O2`` and ``BM25`` survive. A term is known by a
64-bit hash: the index needs no dictionary of strings, and two processes agree without talking to one another.

Nearly all time goes into words seen before. So text is first cut at ASCII punctuation alone, and a `Vocabulary` remembers what
each piece became: the loop over a document is one ``bytes.translate``, one ``split`` and one dictionary look-up a word, and
Unicode is folded once for every distinct piece.
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

VERSION = "english-1"
"""Named in every index; an index made by another analysis must be rebuilt."""

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between both but
    by can cannot could did do does doing don down during each et few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just ll me more most my myself no nor not now of off on once only
    or other our ours ourselves out over own re s same she should so some such t than that the their theirs them themselves
    then there these they this those through to too under until up ve very was we were what when where which while who whom why
    will with would you your yours yourself yourselves othercit targetcit""".split()
)

_TABLE = bytes(byte if byte > 127 else ord(chr(byte).lower()) if chr(byte).isalnum() else 32 for byte in range(256))
"""For UTF-8: ASCII letters in lower case, digits and the bytes of other letters as they are, all else a space."""
Numbers = npt.NDArray[np.int32]

_OTHER_PUNCTUATION = re.compile(r"[^\w\x00-\x7f]+")


def tokens(text: str) -> list[bytes]:
    """The folded tokens of `text`, stop words included, in order."""
    if not text.isascii():
        text = _OTHER_PUNCTUATION.sub(" ", folded(text))
    return _pieces(text)


def _pieces(text: str) -> list[bytes]:
    """Runs of ASCII letters, digits, and anything beyond ASCII that still has to be folded and cut."""
    return text.encode("utf-8", "ignore").translate(_TABLE).split()


def term_hash(stem: bytes) -> int:
    """The 64-bit number (signed, never 0) that stands for a term in the index."""
    return int.from_bytes(blake2b(stem, digest_size=8).digest(), "little", signed=True) or 1


class _Memory(dict[bytes, int]):
    """Remembers what a function says of each piece of text."""

    def __init__(self, number: Callable[[bytes], int]) -> None:
        super().__init__()
        self._ask = number

    def __missing__(self, piece: bytes) -> int:
        number = self[piece] = self._ask(piece)
        return number


class Vocabulary:
    """Raw tokens to term numbers, in order of first sight; number 0 is every stop word."""

    def __init__(self) -> None:
        self.hashes: list[int] = [0]
        """The hash of each term, by its number."""
        self.hash_of = _Memory(lambda token: self.hashes[self.number(token)])
        """The hash of each token's term, 0 for a stop word."""
        self._by_piece = _Memory(self._number)
        self._phrases: list[Numbers] = [np.zeros(0, np.int32)]
        self._by_token: dict[bytes, int] = {}
        self._by_hash: dict[int, int] = {}
        self._stemmer = Stemmer.Stemmer("english", 0)
        self._learning = Lock()

    def __len__(self) -> int:
        return len(self._by_piece)

    def numbers(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """The term numbers of all texts one after the other, without stop words, and how many each text has."""
        pieces = [_pieces(text) for text in texts]
        flat = list(chain.from_iterable(pieces))
        found = np.fromiter(map(self._by_piece.__getitem__, flat), np.int32, len(flat))
        owners = np.repeat(np.arange(len(texts)), [len(each) for each in pieces])
        found, owners = self._spelt_out(found[found != 0], owners[found != 0])
        return found, np.bincount(owners, minlength=len(texts)).astype(np.int32)

    def _spelt_out(self, found: Numbers, owners: npt.NDArray[np.int64]) -> tuple[Numbers, npt.NDArray[np.int64]]:
        """Replace the negative numbers, each of which stands for several terms."""
        several = np.flatnonzero(found < 0)
        if not len(several):
            return found, owners
        sizes = np.ones(len(found), np.int64)
        sizes[several] = [len(self._phrases[-number]) for number in found[several]]
        starts = np.cumsum(sizes) - sizes
        spelt = np.repeat(found, sizes)
        for at in several:
            spelt[starts[at] : starts[at] + sizes[at]] = self._phrases[-found[at]]
        return spelt, np.repeat(owners, sizes)

    def _number(self, piece: bytes) -> int:
        """The number of the term that a piece of text holds, or minus the place of its several terms in `_phrases`."""
        words = tokens(piece.decode())
        numbers = [number for word in words if (number := self.number(word))]
        if len(numbers) < 2:
            return numbers[0] if numbers else 0
        self._phrases.append(np.array(numbers, np.int32))
        return 1 - len(self._phrases)

    def number(self, token: bytes) -> int:
        """The number of one token's term, new where it was never seen."""
        known = self._by_token.get(token)
        if known is None:
            with self._learning:  # two threads may meet two new words at once; known ones wait for nobody
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


_MOST_REMEMBERED = 1_000_000
"""A process that answers for years, and is asked nonsense, must not remember every word of it."""


@lru_cache(maxsize=1)
def _query_vocabulary() -> Vocabulary:
    return Vocabulary()


def terms(text: str) -> dict[int, tuple[str, float]]:
    """Each term of `text`: its hash, the word by which it first appears, and how often it does."""
    hashes = _query_vocabulary().hash_of
    if len(hashes) > _MOST_REMEMBERED:
        _query_vocabulary.cache_clear()
    found: dict[int, tuple[str, float]] = {}
    for token in tokens(text):
        if term := hashes[token]:
            if known := found.get(term):
                found[term] = known[0], known[1] + 1
            else:
                found[term] = token.decode(), 1
    return found
