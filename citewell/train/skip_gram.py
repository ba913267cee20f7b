"""Word vectors by skip-gram (gensim), from the sentences of papers or from walks over their graph of key terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from citewell.models.word_vectors import WordVectors
from citewell.progress import Progress
from citewell.train.gensim_words import names, run_epochs
from citewell.train.recipe import GraphHyperparameters, WordHyperparameters
from citewell.train.save import EpochCheckpoints
from citewell.train.sentence_data import SentenceData
from citewell.train.term_graph import walks


def train_word_vectors(
    data: SentenceData,
    numbers: WordHyperparameters,
    graph: GraphHyperparameters | None,
    checkpoints: EpochCheckpoints,
    progress: Progress,
) -> WordVectors:
    """The vectors of the words of the papers; with a graph, of the words of its key terms."""
    texts: Sequence[list[int]]
    if graph is None:
        texts = [part.tolist() for part in np.split(data.words, data.sentence_at[1:-1])]
    else:
        texts = list(walks(data, graph, numbers.seed))
    counts = np.bincount(np.fromiter((word for text in texts for word in text), np.int64), minlength=len(data.hashes))
    known = np.flatnonzero(counts >= (numbers.min_count if graph is None else 1))
    vectors = _vectors(texts, counts, known.tolist(), numbers, checkpoints, progress)
    papers = len(data.paper_at) - 1
    return WordVectors.of(data.hashes[known], data.papers_with[known], papers, vectors)


def _vectors(
    texts: Sequence[list[int]],
    counts: Any,
    known: Sequence[int],
    numbers: WordHyperparameters,
    checkpoints: EpochCheckpoints,
    progress: Progress,
) -> Any:
    from gensim.models.word2vec import Word2Vec

    model: Any = Word2Vec(
        vector_size=numbers.size,
        sg=1,
        window=numbers.window,
        negative=numbers.negatives,
        sample=numbers.sample,
        min_count=1,
        workers=1,
        seed=numbers.seed,
    )
    model.build_vocab_from_freq({str(word): int(counts[word]) for word in known}, corpus_count=len(texts))
    model.init_weights()

    def sentences() -> Iterable[list[str]]:
        return map(names, texts)

    progress.start("training", numbers.epochs * len(texts), "texts")
    run_epochs(model, "words", numbers.epochs, numbers.rate, sentences, len(texts), checkpoints, progress)
    rows = [model.wv.key_to_index[str(word)] for word in known]
    return np.array(model.wv.vectors, np.float32)[rows]
