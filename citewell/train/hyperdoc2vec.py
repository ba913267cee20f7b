"""HyperDoc2Vec (Han et al. 2018): every paper has one vector as a citing paper (IN) and one as a cited paper (OUT).

Words have both too. Two kinds of examples train them, with negative sampling:

    text      the mean of a paper's IN vector and those of the words around a position predicts the word there (OUT);
    citation  the mean of the citing paper's IN vector and those of the words around the citation predicts the cited paper.

As in the study, the first epochs use texts only (`text_epochs`); then both kinds alternate, paper by paper. The OUT vector of a
paper starts as the mean of its words' OUT vectors, which is what the words around a position already predict: so a paper
without citations can be found by its text.

A third kind is ours, and `own_passes` = 0 disables it: spans of a paper's own text predict the paper, like the words around a
citation of it. Half of the papers cited next year have never been cited before, and learn from nothing else.
"""

from __future__ import annotations

import msgspec
import numpy as np
import scipy.sparse

from citewell.arrays import Arrays
from citewell.progress import Progress
from citewell.train.corpus import Corpus, WordIds
from citewell.train.save import EpochCheckpoints
from citewell.types import Float32Array, IntArray

_CHUNK = 500
"""Papers between updates of the learning rate and of the progress."""
_TABLE = 1 << 20
_STAGE = "hyperdoc2vec"


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    size: int
    """Dimensions of the vectors."""
    window: int
    """The most words on either side of a position."""
    negatives: int
    """Noise words per word."""
    doc_negatives: int
    """Noise papers per cited paper."""
    sample: float
    """Words above this relative frequency are downsampled in texts; 0: none."""
    text_epochs: int
    """Epochs over texts only, at first."""
    epochs: int
    """Epochs over texts and citations."""
    passes: int
    """Passes over each citation per epoch."""
    own_passes: int
    """Spans of each paper's own text per epoch that predict the paper; 0 as in the study."""
    span: int
    """Words of such a span."""
    rate: float
    """The initial learning rate of either phase, for texts; it falls to 1% of this."""
    citation_rate: float
    """The same for citations."""


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: EpochCheckpoints, progress: Progress) -> Arrays:
    """The four matrices of vectors, one row per paper or word of the corpus."""
    from citewell.train.hyperdoc2vec_steps import learn

    done, vectors = checkpoints.load(_STAGE)
    vectors = vectors or _initial_vectors(corpus, parameters.size, seed)
    epochs = parameters.text_epochs + parameters.epochs
    papers = len(corpus.papers)
    progress.start("training", epochs * papers, "papers")
    progress.advance(done * papers)
    first_context = np.searchsorted(corpus.citing, np.arange(papers + 1)).astype(np.int64)
    word_table = sampling_table(corpus.counts)
    doc_table = sampling_table(np.bincount(corpus.cited, minlength=papers)) if len(corpus.cited) else np.zeros(1, np.int32)
    own_table = np.arange(papers, dtype=np.int32)
    keep = keep_probability(corpus.counts, parameters.sample)
    for epoch in range(done, epochs):
        with_citations = epoch >= parameters.text_epochs
        if epoch == parameters.text_epochs:
            vectors["docs_out"][:] = _mean_words(corpus, vectors["words_out"])
        order = np.random.default_rng([seed, epoch]).permutation(papers)
        state = np.array([seed * 1_000_003 + epoch + 1], np.uint64)
        for start in range(0, papers, _CHUNK):
            factor = _rate_factor(epoch + start / papers, parameters)
            chunk = order[start : start + _CHUNK]
            learn(
                chunk,
                corpus.texts.values,
                corpus.texts.starts,
                corpus.contexts.values,
                corpus.contexts.starts,
                first_context,
                corpus.cited,
                vectors["docs_in"],
                vectors["docs_out"],
                vectors["words_in"],
                vectors["words_out"],
                keep,
                word_table,
                doc_table,
                own_table,
                parameters.window,
                parameters.negatives,
                parameters.doc_negatives,
                parameters.passes if with_citations else 0,
                parameters.own_passes if with_citations else 0,
                parameters.span,
                parameters.rate * factor,
                parameters.citation_rate * factor,
                state,
            )
            progress.advance(len(chunk))
        checkpoints.save(_STAGE, epoch + 1, vectors)
    # Papers without text and citations have learned nothing.
    empty = np.diff(corpus.texts.starts) == 0
    cited = np.bincount(corpus.cited, minlength=papers) > 0
    vectors["docs_in"][empty & (np.diff(first_context) == 0)] = 0
    vectors["docs_out"][empty & ~cited] = 0
    return vectors


def _initial_vectors(corpus: Corpus, size: int, seed: int) -> Arrays:
    draw = np.random.default_rng(seed)

    def uniform(rows: int) -> Float32Array:
        return ((draw.random((rows, size), np.float32) - np.float32(0.5)) / np.float32(size)).astype(np.float32)

    papers, words = len(corpus.papers), len(corpus.hashes)
    return {
        "docs_in": uniform(papers),
        "docs_out": np.zeros((papers, size), np.float32),
        "words_in": uniform(words),
        "words_out": np.zeros((words, size), np.float32),
    }


def _mean_words(corpus: Corpus, rows: Float32Array) -> Float32Array:
    """The mean of the rows of each paper's words."""
    lengths = np.diff(corpus.texts.starts)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    averaging = scipy.sparse.csr_array(
        (np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32), (owners, corpus.texts.values)),
        (len(lengths), len(rows)),
    )
    means: Float32Array = averaging @ rows
    return means


def _rate_factor(epoch: float, parameters: Parameters) -> float:
    """The factor of the learning rate at a point of either phase."""
    if epoch < parameters.text_epochs:
        progress_share = epoch / parameters.text_epochs
    else:
        progress_share = (epoch - parameters.text_epochs) / parameters.epochs
    return max(0.01, 1.0 - progress_share)


def sampling_table(counts: IntArray) -> WordIds:
    """Positions in proportion to counts to the power of 3/4, as in word2vec."""
    ends = np.cumsum(counts.astype(np.float64) ** 0.75)
    positions: WordIds = np.searchsorted(ends, (np.arange(_TABLE) + 0.5) * (ends[-1] / _TABLE)).astype(np.int32)
    return positions


def keep_probability(counts: IntArray, sample: float) -> Float32Array:
    """The probability that an occurrence of each word is kept, as in word2vec."""
    if not sample:
        return np.ones(len(counts), np.float32)
    frequency = counts / counts.sum()
    probability: Float32Array = np.minimum(1.0, np.sqrt(sample / frequency) + sample / frequency).astype(np.float32)
    return probability
