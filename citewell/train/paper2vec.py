"""Paper2Vec (Ganguly and Pudi 2017): Doc2Vec's paper vectors, refined so that papers linked by citations are close.

Random walks follow citations in both directions, from every paper that has any. Skip-gram trains paper vectors on the walks as
if they were sentences, starting from the Doc2Vec vectors; papers without citations keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from gensim.models.word2vec import Word2Vec

from citewell.arrays import Arrays
from citewell.progress import Progress
from citewell.train import doc2vec
from citewell.train.corpus import Corpus
from citewell.train.gensim_words import names, run_epochs
from citewell.train.save import EpochCheckpoints
from citewell.types import IntArray


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    doc2vec: doc2vec.Parameters
    walks: int
    """Walks per paper."""
    length: int
    """Papers per walk."""
    window: int
    negatives: int
    epochs: int
    rate: float


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: EpochCheckpoints, progress: Progress) -> Arrays:
    """The paper vectors after the walks, and the word vectors from before."""
    linked = np.flatnonzero(np.diff(corpus.links.starts))
    size = parameters.walks * len(linked)
    progress.start("training", parameters.doc2vec.epochs * len(corpus.papers) + parameters.epochs * size, "texts")
    vectors = doc2vec.learn(corpus, parameters.doc2vec, seed, checkpoints, progress)
    if not size:
        return vectors
    walks = walk(corpus, linked, parameters.walks, parameters.length, seed)
    model: Any = Word2Vec(
        vector_size=parameters.doc2vec.size,
        sg=1,
        window=parameters.window,
        negative=parameters.negatives,
        sample=0,
        min_count=1,
        workers=1,
        seed=seed,
    )
    visits = np.bincount(walks.ravel(), minlength=len(corpus.papers))
    model.build_vocab_from_freq({str(paper): int(visits[paper]) for paper in np.flatnonzero(visits)}, corpus_count=size)
    places = np.array([int(name) for name in model.wv.index_to_key])
    model.wv.vectors[:] = vectors["docs_in"][places]

    def sentences() -> Iterator[list[str]]:
        return (names(walked) for walked in walks.tolist())

    run_epochs(model, "walks", parameters.epochs, parameters.rate, sentences, size, checkpoints, progress)
    vectors["docs_in"][places] = model.wv.vectors
    return vectors


def walk(corpus: Corpus, starts: IntArray, walks: int, length: int, seed: int) -> npt.NDArray[np.int32]:
    """Random walks along citations, the same number from each of `starts`, in random order; one row per walk."""
    draw = np.random.default_rng(seed)
    paths = np.empty((walks * len(starts), length), np.int32)
    paths[:, 0] = draw.permutation(np.tile(starts, walks))
    first, sizes = corpus.links.starts[:-1], np.diff(corpus.links.starts)
    for step in range(1, length):
        here = paths[:, step - 1]
        paths[:, step] = corpus.links.values[first[here] + (draw.random(len(here)) * sizes[here]).astype(np.int64)]
    return paths
