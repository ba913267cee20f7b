"""Word vectors by skip-gram (gensim), from the sentences of papers or from walks over a graph of terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from citewell.errors import CitewellError
from citewell.models.word_vectors import WordVectors
from citewell.progress import Progress
from citewell.train.annotations import AnnotatedDocument
from citewell.train.gensim_words import names, run_epochs
from citewell.train.random_walks import spelled, walks
from citewell.train.recipe import GraphHyperparameters, WordHyperparameters
from citewell.train.save import EpochCheckpoints
from citewell.train.sentence_data import SentenceData
from citewell.train.term_graph import TermGraph, annotation_graph, key_term_graph
from citewell.train.word_texts import NumberedWords, numbered_texts
from citewell.types import Float32Array, IntArray

_STARTS = ("sentences", "random")


def train_word_vectors(
    data: SentenceData,
    numbers: WordHyperparameters,
    graph: GraphHyperparameters | None,
    checkpoints: EpochCheckpoints,
    progress: Progress,
    annotated: Iterable[AnnotatedDocument] | None = None,
    further: Sequence[Path] = (),
) -> WordVectors:
    """The vectors of the words of the papers and of `further` sets; with a graph, of the words of its terms.

    With `annotated` documents, the terms are the concepts that these mention.
    """
    words = NumberedWords(data.hashes)
    sentences = [*np.split(data.words, data.sentence_at[1:-1]), *numbered_texts(further, words, progress)]
    if graph is None:
        known, vectors = _of_texts(sentences, len(words.hashes()), numbers.min_count, numbers, checkpoints, progress)
        return _with_idf(data, words.hashes(), known, vectors)
    if annotated is None:
        terms = key_term_graph(data, graph)._replace(hashes=words.hashes())
    else:
        terms = annotation_graph(annotated, words.hashes(), graph)
    if graph.convolution is not None:
        known, vectors = _of_convolutions(sentences, terms, numbers, graph, checkpoints, progress)
    else:
        texts = [np.array(spelled(terms, path)) for path in walks(terms, graph, numbers.seed)]
        known, vectors = _of_texts(texts, len(terms.hashes), 1, numbers, checkpoints, progress)
    return _with_idf(data, terms.hashes, known, vectors)


def _with_idf(data: SentenceData, hashes: IntArray, known: IntArray, vectors: Float32Array) -> WordVectors:
    """The vectors of known words, with the idf that they have in the papers."""
    papers_with = np.concatenate([data.papers_with, np.zeros(len(hashes) - len(data.hashes), np.int64)])
    return WordVectors.of(hashes[known], papers_with[known], len(data.paper_at) - 1, vectors)


def _of_convolutions(
    sentences: Sequence[IntArray],
    terms: TermGraph,
    numbers: WordHyperparameters,
    graph: GraphHyperparameters,
    checkpoints: EpochCheckpoints,
    progress: Progress,
) -> tuple[IntArray, Float32Array]:
    """The words of the graph, and those of the sentences if these give the initial vectors."""
    from citewell.train import graph_convolution

    assert graph.convolution is not None
    if graph.convolution.start not in _STARTS:
        raise CitewellError(f"'start' in [graph.convolution] must be one of {', '.join(_STARTS)}")
    named = np.unique(np.fromiter((word for name in terms.names for word in name), np.int64))
    shape = (len(terms.hashes), numbers.size)
    start = np.random.default_rng(numbers.seed).uniform(-0.5, 0.5, shape).astype(np.float32)
    known = named
    if graph.convolution.start == "sentences":
        known, vectors = _of_texts(sentences, len(start), numbers.min_count, numbers, checkpoints, progress)
        start *= vectors.std()
        start[known] = vectors
        known = np.union1d(known, named)
    return known, graph_convolution.train_word_vectors(terms, start, graph, numbers.seed, checkpoints, progress)[known]


def _of_texts(
    texts: Sequence[IntArray],
    words: int,
    min_count: int,
    numbers: WordHyperparameters,
    checkpoints: EpochCheckpoints,
    progress: Progress,
) -> tuple[IntArray, Float32Array]:
    """The words that occur at least `min_count` times in texts, and their vectors."""
    counts = np.bincount(np.concatenate(texts), minlength=words)
    known = np.flatnonzero(counts >= min_count)
    return known, _vectors(texts, counts, known.tolist(), numbers, checkpoints, progress)


def _vectors(
    texts: Sequence[IntArray],
    counts: IntArray,
    known: Sequence[int],
    numbers: WordHyperparameters,
    checkpoints: EpochCheckpoints,
    progress: Progress,
) -> Float32Array:
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
        return (names(text.tolist()) for text in texts)

    progress.start("training", numbers.epochs * len(texts), "texts")
    run_epochs(model, "words", numbers.epochs, numbers.rate, sentences, len(texts), checkpoints, progress)
    rows = [model.wv.key_to_index[str(word)] for word in known]
    return np.array(model.wv.vectors, np.float32)[rows]
