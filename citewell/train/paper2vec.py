"""Paper2Vec (Ganguly and Pudi 2017): Doc2Vec's vectors of papers, moved so that papers which are close by citations are close.

Random walks go along citations in both directions, from every paper that has any. Skip-gram learns the vectors of papers from
the walks as if they were sentences, beginning with the vectors of the texts; papers without citations keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from gensim.models.word2vec import Word2Vec

from citewell.arrays import Arrays
from citewell.train import doc2vec
from citewell.train.corpus import Corpus, Places
from citewell.train.gensim_words import names, run_epochs
from citewell.train.monitoring import Watcher
from citewell.train.save import Checkpoints


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of a recipe."""

    doc2vec: doc2vec.Parameters
    walks: int
    """How many walks start from each paper."""
    length: int
    """How many papers a walk has."""
    window: int
    negatives: int
    epochs: int
    rate: float


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: Checkpoints, watcher: Watcher) -> Arrays:
    """The vectors of papers after the walks, and those of words from before."""
    linked = np.flatnonzero(np.diff(corpus.links.starts))
    size = parameters.walks * len(linked)
    watcher.training(parameters.doc2vec.epochs * len(corpus.papers) + parameters.epochs * size)
    vectors = doc2vec.learn(corpus, parameters.doc2vec, seed, checkpoints, watcher)
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

    run_epochs(model, "walks", parameters.epochs, parameters.rate, sentences, size, checkpoints, watcher)
    vectors["docs_in"][places] = model.wv.vectors
    return vectors


def walk(corpus: Corpus, starts: Places, walks: int, length: int, seed: int) -> npt.NDArray[np.int32]:
    """Random walks along citations, as many from each of `starts`, in random order; a row for each."""
    draw = np.random.default_rng(seed)
    made = np.empty((walks * len(starts), length), np.int32)
    made[:, 0] = draw.permutation(np.tile(starts, walks))
    first, sizes = corpus.links.starts[:-1], np.diff(corpus.links.starts)
    for step in range(1, length):
        here = made[:, step - 1]
        made[:, step] = corpus.links.values[first[here] + (draw.random(len(here)) * sizes[here]).astype(np.int64)]
    return made
