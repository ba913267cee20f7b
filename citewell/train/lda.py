"""LDA (Blei et al. 2003) with gensim's online variational Bayes; papers get mixtures from the E-step that serves queries."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from gensim.models.ldamodel import LdaModel

from citewell.arrays import Arrays
from citewell.progress import Progress
from citewell.retrieve.topics import mixture
from citewell.train.corpus import Corpus
from citewell.train.save import EpochCheckpoints

_STAGE = "lda"


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    topics: int
    epochs: int
    chunk: int
    """Papers between updates of the topics."""
    decay: float
    offset: float


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: EpochCheckpoints, progress: Progress) -> Arrays:
    """Topics of words and papers."""
    texts = [_word_counts(words) for words in corpus.texts]
    # In library order, papers of one source are adjacent; topics learned from the first ones would crowd out the rest.
    shuffled = [texts[at] for at in np.random.default_rng(seed).permutation(len(texts)) if texts[at]]
    progress.start("training", (parameters.epochs + 1) * len(texts), "papers")
    model: Any = LdaModel(
        id2word={number: str(number) for number in range(len(corpus.hashes))},
        num_topics=parameters.topics,
        chunksize=parameters.chunk,
        decay=parameters.decay,
        offset=parameters.offset,
        eval_every=None,
        random_state=seed,
    )
    done, arrays = checkpoints.load(_STAGE)
    if done:
        _restore(model, arrays)
    progress.advance(done * len(texts))
    for epoch in range(done, parameters.epochs):
        model.update(shuffled, passes=1)
        checkpoints.save(_STAGE, epoch + 1, _state(model))
        progress.advance(len(texts))
    topics = np.ascontiguousarray(model.expElogbeta.T, np.float32)
    prior = np.asarray(model.alpha, np.float32)
    docs = np.zeros((len(texts), parameters.topics), np.float32)
    for row, text in enumerate(texts):
        if text:
            words, counts = (np.array(column) for column in zip(*text, strict=True))
            docs[row] = mixture(counts.astype(np.float32), topics[words], prior)
    progress.advance(len(texts))
    return {"docs": docs, "words_topics": topics, "prior": prior}


def _word_counts(words: Any) -> list[tuple[int, int]]:
    numbers, counts = np.unique(words, return_counts=True)
    return list(zip(numbers.tolist(), counts.tolist(), strict=True))


def _state(model: Any) -> Arrays:
    _, keys, place, has_gauss, gauss = model.random_state.get_state()
    return {
        "sstats": model.state.sstats,
        "numbers": np.array([model.state.numdocs, model.num_updates, place, has_gauss], np.int64),
        "gauss": np.array([gauss]),
        "keys": keys,
    }


def _restore(model: Any, arrays: Arrays) -> None:
    model.state.sstats = arrays["sstats"]
    numdocs, updates, place, has_gauss = arrays["numbers"].tolist()
    model.state.numdocs, model.num_updates = numdocs, updates
    model.random_state.set_state(("MT19937", arrays["keys"], place, has_gauss, float(arrays["gauss"][0])))
    model.sync_state()
