"""LDA by Gibbs sampling: the compiled sweep compared with a slow reference, and topics that were planted in a corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from citewell.library import Library
from citewell.progress import SILENT
from citewell.train import lda_gibbs
from citewell.train.corpus import Corpus, Rows, read_corpus
from tests.train.test_hyperdoc2vec import NoCheckpoints

NUMBERS = lda_gibbs.Parameters(topics=5, epochs=3, sweeps=2, burn_in=1, alpha=2.0, beta=0.05)


class Generator:
    """SplitMix64."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def uniform(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        return float((mixed ^ mixed >> 31) >> 11) / 2**53


def differences(value: float, counts: list[int]) -> float:
    """The sum of digamma(value + count) - digamma(value), as Mallet adds it up."""
    return sum(1 / (value + step) for count in counts for step in range(count))


def reference(texts: list[list[int]], words: int, numbers: Any, seed: int) -> dict[str, Any]:
    """The same topics, counted again for every draw."""
    size = numbers.topics
    drawn = np.random.default_rng(seed).integers(size, size=sum(map(len, texts)), dtype=np.int32).tolist()
    topics = [[drawn.pop(0) for _ in text] for text in texts]
    alpha, beta = [numbers.alpha / size] * size, numbers.beta

    def count(word: int | None = None, paper: int | None = None) -> list[int]:
        found = [0] * size
        for at, text in enumerate(texts):
            for each, topic in zip(text, topics[at], strict=True):
                if word in (None, each) and paper in (None, at) and topic >= 0:
                    found[topic] += 1
        return found

    for epoch in range(numbers.epochs):
        draw = Generator(int(np.random.default_rng([seed, epoch]).integers(2**64, size=1, dtype=np.uint64)[0]))
        for _ in range(numbers.sweeps):
            for paper, text in enumerate(texts):
                for at, word in enumerate(text):
                    topics[paper][at] = -1
                    counts = zip(count(paper=paper), count(word=word), count(), alpha, strict=True)
                    weights = [(own + a) * (of_word + beta) / (all_ + beta * words) for own, of_word, all_, a in counts]
                    reached = np.cumsum(weights)
                    topics[paper][at] = int(np.searchsorted(reached, draw.uniform() * reached[-1], side="right"))
        if epoch >= numbers.burn_in:
            by_paper = np.array([count(paper=paper) for paper in range(len(texts))])
            whole = differences(sum(alpha), [len(text) for text in texts]) - 1
            alpha = [a * (differences(a, by_paper[:, k].tolist()) + 1.001) / whole for k, a in enumerate(alpha)]
            cells = [cell for word in range(words) for cell in count(word=word)]
            for _ in range(200):
                beta = beta * differences(beta, cells) / differences(beta * words, count()) / words
    of_words = [[(n + beta) / (t + beta * words) for n, t in zip(count(word=w), count(), strict=True)] for w in range(words)]
    docs = [expected(text, of_words, alpha) if text else [0.0] * size for text in texts]
    return {"docs": docs, "words_topics": of_words, "prior": alpha}


def expected(text: list[int], of_words: list[list[float]], alpha: list[float]) -> list[float]:
    """Alpha and the expected number of words of each topic, word by word."""
    mixture = [a + len(text) / len(alpha) for a in alpha]
    for _ in range(50):
        after = list(alpha)
        for word in text:
            shares = [share * weight for share, weight in zip(of_words[word], mixture, strict=True)]
            after = [known + share / sum(shares) for known, share in zip(after, shares, strict=True)]
        mixture = after
    return mixture


def corpus_of(texts: list[list[int]], words: int) -> Corpus:
    none = np.zeros(0, np.int32)
    rows = Rows.of(np.concatenate([np.array(text, np.int32) for text in texts]), np.array(list(map(len, texts))))
    ids = np.arange(words, dtype=np.int64)
    empty = Rows.of(none, np.zeros(0, np.int64))
    papers = np.arange(len(texts), dtype=np.int64)
    return Corpus(papers, ids, np.ones(words, np.int64), rows, empty, none, none, empty)


def test_the_compiled_sweep_equals_the_reference(small: Library) -> None:
    corpus = read_corpus(small, "own", 1)
    texts = [corpus.texts[row][:12].tolist() for row in range(0, len(corpus.texts), 5)] + [[]]
    words = len(corpus.hashes)
    trained = lda_gibbs.train(corpus_of(texts, words), NUMBERS, 7, NoCheckpoints(), SILENT)  # type: ignore[arg-type]
    expected = reference(texts, words, NUMBERS, 7)
    assert np.ptp(expected["prior"]) > 0.01, "alpha became asymmetric"
    for name in expected:
        np.testing.assert_allclose(trained[name], expected[name], rtol=1e-4, err_msg=name)


def test_planted_topics_are_found() -> None:
    draw = np.random.default_rng(1)
    planted = np.repeat([0, 1, 1], 20)
    texts = [(draw.integers(10, size=30) + 10 * topic).tolist() for topic in planted]
    numbers = lda_gibbs.Parameters(topics=2, epochs=10, sweeps=5, burn_in=2, alpha=2.0, beta=0.05)
    trained = lda_gibbs.train(corpus_of(texts, 20), numbers, 3, NoCheckpoints(), SILENT)  # type: ignore[arg-type]
    found = trained["docs"].argmax(axis=1)
    assert set(zip(planted.tolist(), found.tolist(), strict=True)) == {(0, found[0]), (1, 1 - found[0])}
    assert trained["prior"][found[-1]] > trained["prior"][found[0]], "two papers of three have the second topic"
    np.testing.assert_allclose(trained["words_topics"].sum(axis=0), 1, rtol=1e-5)
