"""Papers by embeddings that were trained on the library: Doc2Vec, Paper2Vec and HyperDoc2Vec (``citewell train``).

For HyperDoc2Vec the query is the mean of its words' vectors, weighted as `form` says, and of the papers that the draft cites.
For the others it is the vector that best predicts its words, inferred by gradient steps. Papers are ranked by the similarity of
their vectors as citing papers (`in`), as cited papers (`out`), or the mean of both. Similarity is (1 + cosine) / 2, or the
logistic function of the inner product, where the length of vectors counts too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citewell.errors import CitewellError
from citewell.ranking.request import Request
from citewell.retrieve.trained import Arrays, Trained, query_words, rows_of
from citewell.types import Float32Array, Float64Array

VECTORS = ("in", "out", "in+out")
SIMILARITIES = ("cosine", "product")

_STEPS = 30
_RATE = np.float32(0.2)


@dataclass(frozen=True)
class PaperEmbeddings(Trained):
    """Papers by the embeddings of a model that was trained on the library."""

    model: str = "hyperdoc2vec"
    vectors: str = "in"
    similarity: str = "cosine"
    """``cosine`` or ``product``. HyperDoc2Vec is trained with products: often cited papers have long vectors."""
    form: str = "text"
    size: int = 1000

    def __post_init__(self) -> None:
        if self.vectors not in VECTORS:
            raise CitewellError(f"Papers have no vectors {self.vectors!r}. Choose one of {', '.join(VECTORS)}.")
        if self.similarity not in SIMILARITIES:
            raise CitewellError(f"There is no similarity {self.similarity!r}. Choose one of {', '.join(SIMILARITIES)}.")

    reason: ClassVar[tuple[str, str]] = ("embeddings", "Near to")

    def contributions(self, request: Request, model: Arrays, row: int) -> tuple[list[str], Float32Array]:
        words, weights, vectors = self._words(request, model)
        return words, weights * _cosines(vectors, sum(model[side][row] for side in self._sides()))

    def score_rows(self, request: Request, model: Arrays) -> Float32Array:
        query = self.query_vector(request, model)
        if not query.any():
            return np.zeros(len(model["papers"]), np.float32)
        sides = [self._similarity(model, side, query) for side in self._sides()]
        return np.where(np.all([side > 0 for side in sides], axis=0), np.mean(sides, axis=0), 0).astype(np.float32)

    def _similarity(self, model: Arrays, side: str, query: Float32Array) -> Float64Array:
        """From 0 to 1 for every row; exactly 0 only for rows without a vector."""
        lengths = model[f"lengths_of_{side}"]
        products = (model[side] @ query).astype(np.float64)
        similarity = np.zeros(len(lengths))
        if self.similarity == "product":
            np.divide(1, 1 + np.exp(-products), out=similarity, where=lengths > 0)
        else:
            np.divide(products, lengths * np.linalg.norm(query), out=similarity, where=lengths > 0)
            np.divide(1 + np.clip(similarity, -1, 1), 2, out=similarity, where=lengths > 0)
        return similarity

    def query_vector(self, request: Request, model: Arrays) -> Float32Array:
        """The query as a vector among those of the words."""
        _, weights, vectors = self._words(request, model)
        if "drawn" in model:
            return infer_vector(vectors, weights, model["drawn"], int(model["negatives"][0]))
        if "docs_out" in model and len(known := request.known):
            rows, here = rows_of(model, "papers", known)
            vectors = np.concatenate([vectors, model["docs_in"][rows[here]]])
            weights = np.concatenate([weights, np.ones(int(here.sum()), np.float32)])
        mean: Float32Array = weights @ vectors / max(np.float32(1e-9), weights.sum())
        return mean

    def _words(self, request: Request, model: Arrays) -> tuple[list[str], Float32Array, Float32Array]:
        return query_words(request, self.form, model, "words_in" if "words_in" in model else "words_out")

    def _sides(self) -> list[str]:
        return [f"docs_{side}" for side in self.vectors.split("+")]


def infer_vector(words: Float32Array, weights: Float32Array, drawn: Float32Array, negatives: int) -> Float32Array:
    """The vector that best separates a text's words from sampled ones: the training loss, minimised by full gradient steps."""
    total = weights.sum()
    vector: Float32Array = np.zeros(drawn.shape[1], np.float32)
    if not total:
        return vector
    shares = weights / total
    for _ in range(_STEPS):
        right = shares * _logistic(-(words @ vector))
        wrong = _logistic(drawn @ vector) * np.float32(negatives / len(drawn))
        vector += _RATE * (right @ words - wrong @ drawn).astype(np.float32)
    return vector


def _logistic(values: Float32Array) -> Float32Array:
    return (1 / (1 + np.exp(-values))).astype(np.float32)


def _cosines(rows: Float32Array, vector: Float32Array) -> Float32Array:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    cosines: Float32Array = np.divide(rows @ vector, lengths, out=np.zeros(len(rows), np.float32), where=lengths > 0)
    return cosines
