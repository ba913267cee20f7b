"""Tiny models over word vectors, hand-made or random, in a folder for ``$CITEWELL_MODELS``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from citewell.models.overlap import PAPER_FEATURES, SENTENCE_FEATURES
from citewell.models.word_networks import NETWORK
from citewell.models.word_vectors import WordVectors
from citewell.text.analysis import terms

SIZE = 4


def word_vectors(known: Sequence[str], seed: int = 0) -> WordVectors:
    """Words with random vectors; the word at position n occurs in n of ten papers."""
    hashes = np.array([next(iter(terms(word))) for word in known], np.int64)
    vectors = np.random.default_rng(seed).normal(size=(len(known), SIZE)).astype(np.float32)
    return WordVectors.of(hashes, np.arange(1, len(known) + 1), 10, vectors)


def random_arrays(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    draw = np.random.default_rng(seed)
    return {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def joint_snippets(folder: Path, known: Sequence[str], seed: int = 1, hidden: int = 3, sentences: int = 2) -> Path:
    """A random network."""
    sizes = {
        "term1": (hidden, 6),
        "term2": (1, hidden),
        "sentence1": (hidden, 1 + SENTENCE_FEATURES),
        "sentence2": (1, hidden),
        "paper1": (hidden, sentences + PAPER_FEATURES),
        "paper2": (1, hidden),
        "final": (1, 2),
    }
    shapes: dict[str, tuple[int, ...]] = {f"{name}.weight": size for name, size in sizes.items()}
    shapes |= {f"{name}.bias": size[:1] for name, size in sizes.items()}
    shapes |= {"gate.weight": (1, SIZE + 1)}
    for name in ("context1", "context2"):
        shapes |= {f"{name}.weight": (SIZE, SIZE, 3), f"{name}.bias": (SIZE,)}
    folder.mkdir(parents=True)
    word_vectors(known).save(folder)
    np.savez(folder / NETWORK, **random_arrays(shapes, seed), best=np.array(2), sentences=np.array(sentences))
    return folder


def by_shared_words(folder: Path, known: Sequence[str]) -> Path:
    """A network whose scores are the share of the query's words in a sentence or a paper."""
    joint_snippets(folder, known, hidden=1, sentences=1)
    with np.load(folder / NETWORK) as network:
        arrays = {name: np.zeros_like(network[name]) for name in network.files}
    arrays |= {"best": np.array(1), "sentences": np.array(1)}
    for name in ("sentence2.weight", "paper2.weight"):
        arrays[name][0, 0] = 1.0
    arrays["sentence1.weight"][0, 1] = 1.0  # the share of words, after the similarities
    arrays["paper1.weight"][0, 2] = 1.0  # the share of words, after the best sentence and BM25
    arrays["final.weight"][0, 0] = 1.0
    np.savez(folder / NETWORK, **arrays)
    return folder


def semiser(folder: Path, known: Sequence[str], size: int = 5, seed: int = 2) -> Path:
    """A random network."""
    shapes: dict[str, tuple[int, ...]] = {
        "context1.weight": (size, SIZE, 3),
        "context1.bias": (size,),
        "context2.weight": (size, size, 3),
        "context2.bias": (size,),
    }
    for side in ("sentence", "question"):
        shapes |= {f"{side}1.weight": (3, size), f"{side}1.bias": (3,), f"{side}2.weight": (2, 3), f"{side}2.bias": (2,)}
    folder.mkdir(parents=True)
    word_vectors(known).save(folder)
    np.savez(folder / NETWORK, **random_arrays(shapes, seed))
    return folder
