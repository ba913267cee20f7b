"""Doc2Vec (Le and Mikolov 2014) by gensim: a vector for each paper that foretells its words.

The distributed bag of words: a paper's vector tells the OUT vectors of its own words from those of words drawn at random. The
vector of a query is found in the same way, with all else fixed, so the words' vectors are kept, and those of some drawn ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from gensim.models.doc2vec import Doc2Vec, TaggedDocument

from citewell.arrays import Arrays
from citewell.train.corpus import Corpus
from citewell.train.gensim_words import names, rows_by_number, run_epochs
from citewell.train.monitoring import Watcher
from citewell.train.save import Checkpoints

_DRAWN = 500


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of a recipe."""

    size: int
    """Dimensions of the vectors."""
    negatives: int
    sample: float
    """Of words that are more frequent than this share, some occurrences are left out."""
    epochs: int
    rate: float
    """The learning rate at the beginning; it falls to a hundredth."""


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: Checkpoints, watcher: Watcher) -> Arrays:
    """The vectors of papers, of words, and of words drawn as training draws them."""
    watcher.training(parameters.epochs * len(corpus.papers))
    return learn(corpus, parameters, seed, checkpoints, watcher)


def learn(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: Checkpoints, watcher: Watcher) -> Arrays:
    model: Any = Doc2Vec(
        vector_size=parameters.size,
        dm=0,
        negative=parameters.negatives,
        sample=parameters.sample,
        min_count=1,
        workers=1,
        seed=seed,
    )
    papers = len(corpus.papers)

    def texts() -> Iterator[TaggedDocument]:
        for paper, words in enumerate(corpus.texts):
            yield TaggedDocument(names(words.tolist()), [paper])

    model.build_vocab_from_freq({str(number): int(count) for number, count in enumerate(corpus.counts)}, corpus_count=papers)
    model.dv.index_to_key = list(range(papers))
    model.dv.key_to_index = {paper: paper for paper in range(papers)}
    model.init_weights()
    run_epochs(model, "doc2vec", parameters.epochs, parameters.rate, texts, papers, checkpoints, watcher)
    rows = rows_by_number(model, len(corpus.hashes))
    docs = np.array(model.dv.vectors, np.float32)
    docs[np.diff(corpus.texts.starts) == 0] = 0
    words = np.array(model.syn1neg, np.float32)[rows]
    chance = corpus.counts**0.75 / (corpus.counts**0.75).sum()
    drawn = words[np.random.default_rng(seed).choice(len(words), _DRAWN, p=chance)]
    return {"docs_in": docs, "words_out": words, "drawn": drawn, "negatives": np.array([parameters.negatives], np.int32)}
