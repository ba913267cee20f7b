"""LDA (Blei et al. 2003) by gensim's online variational Bayes; the papers' mixes by the same E-step that serves queries."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from gensim.models.ldamodel import LdaModel

from citewell.arrays import Arrays
from citewell.retrieve.topics import mixture
from citewell.train.corpus import Corpus
from citewell.train.monitoring import Watcher
from citewell.train.save import Checkpoints

_STAGE = "lda"


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of a recipe."""

    topics: int
    epochs: int
    chunk: int
    """After how many papers the topics are updated."""
    decay: float
    offset: float


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: Checkpoints, watcher: Watcher) -> Arrays:
    """Topics of words and papers."""
    texts = [_counted(words) for words in corpus.texts]
    # In the order of a library papers of one source stand together; topics learned from the first few would shut out the rest.
    spoken = [texts[at] for at in np.random.default_rng(seed).permutation(len(texts)) if texts[at]]
    watcher.training((parameters.epochs + 1) * len(texts))
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
    watcher.trained(done * len(texts))
    for epoch in range(done, parameters.epochs):
        model.update(spoken, passes=1)
        checkpoints.save(_STAGE, epoch + 1, _state(model))
        watcher.trained(len(texts))
    topics = np.ascontiguousarray(model.expElogbeta.T, np.float32)
    prior = np.asarray(model.alpha, np.float32)
    docs = np.zeros((len(texts), parameters.topics), np.float32)
    for row, text in enumerate(texts):
        if text:
            words, counts = (np.array(column) for column in zip(*text, strict=True))
            docs[row] = mixture(counts.astype(np.float32), topics[words], prior)
    watcher.trained(len(texts))
    return {"docs": docs, "words_topics": topics, "prior": prior}


def _counted(words: Any) -> list[tuple[int, int]]:
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
