"""LDA by collapsed Gibbs sampling, as in Mallet: every occurrence of a word has a topic, which is drawn again and again.

Equal to Mallet's ParallelTopicModel in one thread: the distribution that a topic is drawn from, random topics at first, an
asymmetric alpha and a symmetric beta that are estimated from the counts by Mallet's fixed-point equations once the burn-in is
over, and the topics, which are those of the last sample.

Different: Mallet splits the distribution into three parts to draw faster (SparseLDA), here it is computed as a whole; the
random numbers are others; a recipe makes fewer sweeps than the 1,000 of Mallet. Given the topics, Mallet samples the mixture of
a text, and takes that of a paper from the last sample. Here papers have their expected mixture (R@10 on the dev split of cs is
.105, and .075 with those of the last sample), and queries that of the variational E-step that serves `citewell.train.lda`.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.special import digamma

from citewell.arrays import Arrays
from citewell.progress import Progress
from citewell.train.corpus import Corpus, Rows, WordIds
from citewell.train.save import EpochCheckpoints
from citewell.types import Float32Array, Float64Array, IntArray

_CHUNK = 500
"""Papers between updates of the progress."""
_STAGE = "lda-gibbs"
_SHAPE, _SCALE = 1.001, 1.0
"""Mallet's Gamma prior of each alpha."""
_ROUNDS = 200
"""Mallet's rounds for beta."""
_EXPECTATIONS = 50
"""Rounds for the mixture of a paper."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    topics: int
    epochs: int
    sweeps: int
    """Sweeps over all words in an epoch. At its end alpha and beta are estimated, and a checkpoint is saved."""
    burn_in: int
    """Epochs before the first estimate of alpha and beta."""
    alpha: float
    """The initial sum of alpha over topics; Mallet's default is 5."""
    beta: float
    """The initial beta of each word; Mallet's default is 0.01."""


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: EpochCheckpoints, progress: Progress) -> Arrays:
    """Topics of words and papers."""
    from citewell.train.lda_gibbs_steps import sweep

    texts, size = corpus.texts, parameters.topics
    done, sample = checkpoints.load(_STAGE)
    if not done:
        sample = {
            "topics": np.random.default_rng(seed).integers(size, size=len(texts.values), dtype=np.int32),
            "alpha": np.full(size, parameters.alpha / size),
            "beta": np.array([parameters.beta]),
        }
    word_counts = np.zeros((len(corpus.hashes), size), np.int32)
    np.add.at(word_counts, (texts.values, sample["topics"]), 1)
    totals = word_counts.sum(axis=0, dtype=np.int64)
    per_epoch = parameters.sweeps * len(texts)
    progress.start("training", parameters.epochs * per_epoch + len(texts), "papers")
    progress.advance(done * per_epoch)
    for epoch in range(done, parameters.epochs):
        state = np.random.default_rng([seed, epoch]).integers(2**64, size=1, dtype=np.uint64)
        for _ in range(parameters.sweeps):
            for first in range(0, len(texts), _CHUNK):
                last = min(first + _CHUNK, len(texts))
                sweep(
                    first,
                    last,
                    texts.values,
                    texts.starts,
                    sample["topics"],
                    word_counts,
                    totals,
                    sample["alpha"],
                    float(sample["beta"][0]),
                    state,
                )
                progress.advance(last - first)
        if epoch >= parameters.burn_in:
            sample["alpha"] = estimate_alpha(sample["alpha"], _paper_counts(texts, sample["topics"], size))
            sample["beta"] = np.array([estimate_beta(float(sample["beta"][0]), word_counts, totals)])
        checkpoints.save(_STAGE, epoch + 1, sample)
    beta, alpha = float(sample["beta"][0]), sample["alpha"].astype(np.float32)
    topics = ((word_counts + beta) / (totals + beta * len(word_counts))).astype(np.float32)
    docs = np.zeros((len(texts), size), np.float32)
    for row, text in enumerate(texts):
        if len(text):
            words, counts = np.unique(text, return_counts=True)
            docs[row] = expected_mixture(counts.astype(np.float32), topics[words], alpha)
        progress.advance()
    return {"docs": docs, "words_topics": topics, "prior": alpha}


def expected_mixture(counts: Float32Array, words: Float32Array, alpha: Float32Array) -> Float32Array:
    """Alpha plus the expected count of each topic in a text whose words occur `counts` times; `words` are their topics."""
    mixture: Float32Array = alpha + counts.sum() / np.float32(len(alpha))
    for _ in range(_EXPECTATIONS):
        mixture = np.asarray(alpha + mixture * ((counts / (words @ mixture)) @ words), np.float32)
    return mixture


def _paper_counts(texts: Rows, topics: WordIds, size: int) -> Any:
    """How often each topic occurs in each paper: a sparse matrix, one row per paper."""
    ones, shape = np.ones(len(topics), np.int64), (len(texts), size)
    counts = scipy.sparse.csr_array((ones, topics, texts.starts), shape=shape, copy=True)
    counts.sum_duplicates()  # in place
    return counts


def estimate_alpha(alpha: Float64Array, paper_counts: Any) -> Float64Array:
    """One step of the fixed-point iteration for alpha, with a Gamma prior: `Dirichlet.learnParameters` of Mallet."""
    each = digamma(alpha[paper_counts.indices] + paper_counts.data) - digamma(alpha[paper_counts.indices])
    numerator = np.bincount(paper_counts.indices, each, len(alpha))
    whole = alpha.sum()
    denominator = (digamma(whole + paper_counts.sum(axis=1)) - digamma(whole)).sum() - 1 / _SCALE
    result: Float64Array = alpha * (numerator + _SHAPE) / denominator
    return result


def estimate_beta(beta: float, word_counts: npt.NDArray[np.int32], totals: IntArray) -> float:
    """The symmetric beta by fixed-point iteration: `Dirichlet.learnSymmetricConcentration` of Mallet."""
    values, times = np.unique(word_counts[word_counts > 0], return_counts=True)
    words = len(word_counts)
    for _ in range(_ROUNDS):
        numerator = (times * (digamma(beta + values) - digamma(beta))).sum()
        denominator = (digamma(words * beta + totals) - digamma(words * beta)).sum()
        beta = float(beta * numerator / denominator / words)
    return beta
