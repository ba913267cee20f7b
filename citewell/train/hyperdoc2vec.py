"""HyperDoc2Vec (Han et al. 2018): every paper has a vector as one that cites (IN) and one as one that is cited (OUT).

Words have both too. Two kinds of events teach them, each by telling what is right from a few drawn at random:

    text      the mean of a paper's IN vector and those of the words round a place foretells the word there (its OUT vector);
    citation  the mean of the citing paper's IN vector and those of the words round the place foretells the cited paper (OUT).

As in the study, texts alone come first (`text_epochs`); then both kinds of events take turns, paper by paper. The OUT vector of
a paper starts as the mean of its words' OUT vectors, which is what the words round a place foretell already: so a paper that
nobody has cited yet is found by what it says.

A third kind of event is ours, and `own_passes` = 0 leaves it out: spans of a paper's own text foretell the paper, as the words
round a citation of it do. Half of what is cited next year was never cited before, and learns from nothing else to be found.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import scipy.sparse

from citewell.arrays import Arrays
from citewell.train.corpus import Corpus, Numbers, Places
from citewell.train.monitoring import Watcher
from citewell.train.save import Checkpoints

_CHUNK = 500
"""After so many papers the learning rate is lowered, and whoever watches is told."""
_TABLE = 1 << 20
_STAGE = "hyperdoc2vec"


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of a recipe."""

    size: int
    """Dimensions of the vectors."""
    window: int
    """How many words on either side of a place count as round it, at most."""
    negatives: int
    """How many words are drawn for each right one."""
    doc_negatives: int
    """How many papers are drawn for each cited one."""
    sample: float
    """Of words that are more frequent than this share, some occurrences are left out of texts; 0 for none."""
    text_epochs: int
    """Passes over the texts alone, at first."""
    epochs: int
    """Passes over texts and citations."""
    passes: int
    """How often each citation is learnt in an epoch."""
    own_passes: int
    """How often in an epoch a span of a paper's own text foretells the paper, as a citation of it would; 0 as in the study."""
    span: int
    """How many words such a span has."""
    rate: float
    """The learning rate at the beginning of either part, for texts; it falls to a hundredth."""
    citation_rate: float
    """The same for citations."""


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: Checkpoints, watcher: Watcher) -> Arrays:
    """The four matrices of vectors, a row for each paper or word of the corpus."""
    from citewell.train.hyperdoc2vec_steps import learn

    done, vectors = checkpoints.load(_STAGE)
    vectors = vectors or _fresh(corpus, parameters.size, seed)
    epochs = parameters.text_epochs + parameters.epochs
    papers = len(corpus.papers)
    watcher.training(epochs * papers)
    watcher.trained(done * papers)
    first_context = np.searchsorted(corpus.citing, np.arange(papers + 1)).astype(np.int64)
    word_table = table(corpus.counts)
    doc_table = table(np.bincount(corpus.cited, minlength=papers)) if len(corpus.cited) else np.zeros(1, np.int32)
    own_table = np.arange(papers, dtype=np.int32)
    keep = kept(corpus.counts, parameters.sample)
    for epoch in range(done, epochs):
        with_citations = epoch >= parameters.text_epochs
        if epoch == parameters.text_epochs:
            vectors["docs_out"][:] = _mean_words(corpus, vectors["words_out"])
        order = np.random.default_rng([seed, epoch]).permutation(papers)
        state = np.array([seed * 1_000_003 + epoch + 1], np.uint64)
        for start in range(0, papers, _CHUNK):
            share = _share_left(epoch + start / papers, parameters)
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
                parameters.rate * share,
                parameters.citation_rate * share,
                state,
            )
            watcher.trained(len(chunk))
        checkpoints.save(_STAGE, epoch + 1, vectors)
    # What neither says anything nor is cited has learnt nothing.
    silent = np.diff(corpus.texts.starts) == 0
    cited = np.bincount(corpus.cited, minlength=papers) > 0
    vectors["docs_in"][silent & (np.diff(first_context) == 0)] = 0
    vectors["docs_out"][silent & ~cited] = 0
    return vectors


def _fresh(corpus: Corpus, size: int, seed: int) -> Arrays:
    draw = np.random.default_rng(seed)

    def small(rows: int) -> npt.NDArray[np.float32]:
        return ((draw.random((rows, size), np.float32) - np.float32(0.5)) / np.float32(size)).astype(np.float32)

    papers, words = len(corpus.papers), len(corpus.hashes)
    return {
        "docs_in": small(papers),
        "docs_out": np.zeros((papers, size), np.float32),
        "words_in": small(words),
        "words_out": np.zeros((words, size), np.float32),
    }


def _mean_words(corpus: Corpus, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """For each paper the mean of its words' rows."""
    lengths = np.diff(corpus.texts.starts)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    share = scipy.sparse.csr_array(
        (np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32), (owners, corpus.texts.values)),
        (len(lengths), len(rows)),
    )
    found: npt.NDArray[np.float32] = share @ rows
    return found


def _share_left(epoch: float, parameters: Parameters) -> float:
    """How much of the learning rate is left at a moment of either part."""
    if epoch < parameters.text_epochs:
        gone = epoch / parameters.text_epochs
    else:
        gone = (epoch - parameters.text_epochs) / parameters.epochs
    return max(0.01, 1.0 - gone)


def table(counts: Places) -> Numbers:
    """Places in proportion to counts to the power of 3/4, as word2vec draws them."""
    ends = np.cumsum(counts.astype(np.float64) ** 0.75)
    found: Numbers = np.searchsorted(ends, (np.arange(_TABLE) + 0.5) * (ends[-1] / _TABLE)).astype(np.int32)
    return found


def kept(counts: Places, sample: float) -> npt.NDArray[np.float32]:
    """With which probability an occurrence of each word is kept, by word2vec's rule."""
    if not sample:
        return np.ones(len(counts), np.float32)
    share = counts / counts.sum()
    found: npt.NDArray[np.float32] = np.minimum(1.0, np.sqrt(sample / share) + sample / share).astype(np.float32)
    return found
