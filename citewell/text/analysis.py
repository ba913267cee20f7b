"""Analysis: from text to terms.

Text is folded (case, accents, ligatures), split into runs of letters and digits, filtered by stop words, and stemmed by
Snowball in the language of the text; text of most languages is stemmed before its accents are removed, because their stemmers
need them. A token that contains a digit is not stemmed, so that ``p53``, ``H2O2`` and ``BM25`` survive. Chinese and Japanese,
which do not separate words, become overlapping pairs of characters. A term is represented by a 64-bit hash: the index needs
no dictionary of strings, and independent processes agree.

A query does not know in which language its answers are. So each of its words stands for its stems in all languages of the
library (`terms`), of which any paper has only one: the English words of a German draft still find English papers.

Nearly all words have occurred before. So text is first split at ASCII punctuation only, and a `Vocabulary` caches the result
for each piece: a document takes one ``bytes.translate``, one ``split`` and one dictionary look-up per word, and each distinct
piece is folded once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise
from threading import Lock

import numpy as np
import numpy.typing as npt

from citewell.text.fold import composed, folded
from citewell.text.stemming import ENGLISH, Stems
from citewell.types import IntArray

VERSION = "snowball-1"
"""Stored in every index; an index of another version must be rebuilt."""

_TABLE = bytes(byte if byte > 127 else ord(chr(byte).lower()) if chr(byte).isalnum() else 32 for byte in range(256))
"""For UTF-8: ASCII letters in lower case, digits and the bytes of other letters unchanged, everything else a space."""
TermNumbers = npt.NDArray[np.int32]

_OTHER_PUNCTUATION = re.compile(r"[^\w\x00-\x7f\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309a]+")
"""Everything but letters, digits and ASCII, which comes later; vowel signs of Indian scripts and of Thai belong to letters."""
_UNSEPARATED = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
"""Chinese characters and Japanese syllables, which are written without spaces."""


def tokens(text: str) -> list[bytes]:
    """The folded tokens of `text`, stop words included, in order."""
    if not text.isascii():
        text = _separated(composed(folded(text)))
    return _pieces(text)


def _words_of(piece: bytes) -> list[bytes]:
    """The words in a piece of text, with their accents: the stemmers of most languages need them."""
    return _separated(composed(piece.decode().lower())).encode().split()


def _separated(text: str) -> str:
    """Text with spaces for its punctuation and between the pairs of characters of Chinese and Japanese."""
    return _UNSEPARATED.sub(_pairs, _OTHER_PUNCTUATION.sub(" ", text))


def _pairs(run: re.Match[str]) -> str:
    characters = run[0]
    return f" {' '.join(map(''.join, pairwise(characters))) or characters} "


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


class _Words:
    """What a vocabulary remembers of one language."""

    def __init__(self, language: str, number: Callable[[str], int], keep: Callable[[list[int]], int]) -> None:
        self._english = language == ENGLISH
        self._prefix = "" if self._english else f"{language}:"
        self._stems = Stems(language)
        self._stemming = Lock()
        self._number = number
        self._keep = keep
        self.by_piece = _Cache(self._of_piece)
        """The number of the term in a piece of text or, for several terms, minus their position among the phrases."""
        self.by_token = _Cache(lambda token: self._learn(token.decode()))
        """The number of the term of one token."""

    def _of_piece(self, piece: bytes) -> int:
        words = tokens(piece.decode()) if self._english else _words_of(piece)
        numbers = [number for word in words if (number := self.by_token[word])]
        return self._keep(numbers) if len(numbers) > 1 else numbers[0] if numbers else 0

    def _learn(self, word: str) -> int:
        with self._stemming:
            stem = self._stems.stem(word)
        # A stem of one language must not be taken for one of another: French "parl" is no form of "parlance".
        return self._number(self._prefix + stem) if stem else 0


class Vocabulary:
    """Maps words to term numbers, in order of first occurrence; number 0 is for all stop words."""

    def __init__(self) -> None:
        self.hashes: list[int] = [0]
        """The hash of each term, by its number."""
        self.hash_of = _Cache(lambda token: self.hashes[self.number(token)])
        """The hash of each English token's term, 0 for a stop word."""
        self._words: dict[str, _Words] = {}
        self._phrases: list[TermNumbers] = [np.zeros(0, np.int32)]
        self._by_hash: dict[int, int] = {}
        self._learning = Lock()

    def __len__(self) -> int:
        return sum(len(words.by_piece) for words in self._words.values())

    def numbers(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> tuple[TermNumbers, TermNumbers]:
        """The concatenated term numbers of all texts, without stop words, and the number of terms of each text.

        `languages`: the language in which each text is analysed; English if it is not given.
        """
        pieces = [_pieces(text) for text in texts]
        caches = [self._of(language).by_piece for language in languages or [ENGLISH] * len(texts)]
        looked_up = (map(cache.__getitem__, each) for cache, each in zip(caches, pieces, strict=True))
        numbers = np.fromiter(chain.from_iterable(looked_up), np.int32, sum(map(len, pieces)))
        owners = np.repeat(np.arange(len(texts)), [len(each) for each in pieces])
        numbers, owners = self._expanded(numbers[numbers != 0], owners[numbers != 0])
        return numbers, np.bincount(owners, minlength=len(texts)).astype(np.int32)

    def number(self, token: bytes) -> int:
        """The number of the term of one English token; a new term gets a new number."""
        return self._of(ENGLISH).by_token[token]

    def number_of(self, term: int) -> int:
        """The number of the term with this hash; 0 if no word had it yet."""
        return self._by_hash.get(term, 0)

    def terms_of(self, piece: bytes, language: str) -> list[int]:
        """The hashes of the terms of a piece of text in a language, without stop words."""
        number = self._of(language).by_piece[piece]
        numbers = [number] if number >= 0 else self._phrases[-number].tolist()
        return [self.hashes[each] for each in numbers if each]

    def _of(self, language: str) -> _Words:
        words = self._words.get(language)
        if words is None:
            with self._learning:
                words = self._words.setdefault(language, _Words(language, self._number, self._keep))
        return words

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

    def _keep(self, numbers: list[int]) -> int:
        """Remember several terms; returns minus their position."""
        with self._learning:
            self._phrases.append(np.array(numbers, np.int32))
            return 1 - len(self._phrases)

    def _number(self, stem: str) -> int:
        """The number of a stem."""
        with self._learning:  # two threads may add words at the same time; known words need no lock
            hashed = term_hash(stem.encode())
            number = self._by_hash.setdefault(hashed, len(self.hashes))
            if number == len(self.hashes):
                self.hashes.append(hashed)
            return number


_MAX_CACHED = 1_000_000
"""A server that runs for years must not cache every word of every query."""


@lru_cache(maxsize=1)
def _query_vocabulary() -> Vocabulary:
    return Vocabulary()


def terms(text: str, languages: Sequence[str] = (ENGLISH,), written_in: str = ENGLISH) -> dict[int, tuple[str, float]]:
    """Each term of `text`: its hash, the first word with it, and its frequency.

    A word has a term in each of the `languages` in which it is no stop word, and none if it is one in the language that the
    text is `written_in`. All terms of a word, and of words with the same English stem, come with the first of these words.
    """
    vocabulary = _query_vocabulary()
    if len(vocabulary) + len(vocabulary.hash_of) > _MAX_CACHED:
        _query_vocabulary.cache_clear()
    counts: dict[int, tuple[str, float]] = {}
    if (*languages, written_in) == (ENGLISH, ENGLISH):
        for token in tokens(text):
            if term := vocabulary.hash_of[token]:
                _count(counts, term, token.decode())
        return counts
    first_words: dict[tuple[int, ...], str] = {}
    for token in chain.from_iterable(map(_words_of, _pieces(text))):
        if vocabulary.terms_of(token, written_in):
            same = tuple(vocabulary.terms_of(token, ENGLISH)) or (term_hash(token),)
            word = first_words.setdefault(same, token.decode())
            for term in dict.fromkeys(term for language in languages for term in vocabulary.terms_of(token, language)):
                _count(counts, term, word)
    return counts


def _count(counts: dict[int, tuple[str, float]], term: int, word: str) -> None:
    if known := counts.get(term):
        counts[term] = known[0], known[1] + 1
    else:
        counts[term] = word, 1
