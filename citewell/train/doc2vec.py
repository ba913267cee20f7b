"""Doc2Vec (Le and Mikolov 2014) with gensim: paper vectors that predict the words of the paper.

This is PV-DBOW: the vector of a paper separates its own words from random ones. The vector of a query is inferred in the same
way with everything else fixed, so the model keeps the output vectors of all words and of a sample of noise words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from gensim.models.doc2vec import Doc2Vec, TaggedDocument

from citewell.arrays import Arrays
from citewell.progress import Progress
from citewell.train.corpus import Corpus
from citewell.train.gensim_words import names, rows_by_number, run_epochs
from citewell.train.save import EpochCheckpoints

_NOISE_WORDS = 500


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    size: int
    """Dimensions of the vectors."""
    negatives: int
    sample: float
    """Words above this relative frequency are downsampled."""
    epochs: int
    rate: float
    """The initial learning rate; it falls to 1% of this."""


def train(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: EpochCheckpoints, progress: Progress) -> Arrays:
    """The vectors of papers, of words, and of sampled noise words."""
    progress.start("training", parameters.epochs * len(corpus.papers), "papers")
    return learn(corpus, parameters, seed, checkpoints, progress)


def learn(corpus: Corpus, parameters: Parameters, seed: int, checkpoints: EpochCheckpoints, progress: Progress) -> Arrays:
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
    run_epochs(model, "doc2vec", parameters.epochs, parameters.rate, texts, papers, checkpoints, progress)
    rows = rows_by_number(model, len(corpus.hashes))
    docs = np.array(model.dv.vectors, np.float32)
    docs[np.diff(corpus.texts.starts) == 0] = 0
    words = np.array(model.syn1neg, np.float32)[rows]
    chance = corpus.counts**0.75 / (corpus.counts**0.75).sum()
    noise = words[np.random.default_rng(seed).choice(len(words), _NOISE_WORDS, p=chance)]
    return {"docs_in": docs, "words_out": words, "drawn": noise, "negatives": np.array([parameters.negatives], np.int32)}
