"""Papers by their vectors: Doc2Vec, Paper2Vec and HyperDoc2Vec, trained by ``citewell train``, served from mapped arrays.

With HyperDoc2Vec a query is the mean of its words' vectors, each counted as `form` says; papers that the draft is known to cite
count as words do. With the others it is the vector that foretells its words, found by steps along the gradient. Papers are
ranked by how near their vectors are: those they have as citing papers (`in`), as cited ones (`out`), or the mean of both.
Nearness is (1 + cosine) / 2, or, where length tells too, the logistic function of the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from citewell.arrays import Arrays
from citewell.errors import CitewellError
from citewell.ranking.request import Request
from citewell.retrieve.trained import Floats, Trained, rows_of, words_of

VECTORS = ("in", "out", "in+out")
SIMILARITIES = ("cosine", "product")

_STEPS = 30
_RATE = np.float32(0.2)


@dataclass(frozen=True)
class Embedded(Trained):
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "hyperdoc2vec"
    vectors: str = "in"
    similarity: str = "cosine"
    """``cosine``, or ``product``, by which HyperDoc2Vec was trained: vectors of often cited papers are long."""
    form: str = "text"
    size: int = 1000

    def __post_init__(self) -> None:
        if self.vectors not in VECTORS:
            raise CitewellError(f"papers have no vectors {self.vectors!r}; choose one of {', '.join(VECTORS)}")
        if self.similarity not in SIMILARITIES:
            raise CitewellError(f"vectors are compared by {' or '.join(SIMILARITIES)}, not by {self.similarity!r}")

    kind_of_reason: ClassVar[tuple[str, str]] = ("vectors", "near to")

    def shares(self, request: Request, model: Arrays, row: int) -> tuple[list[str], Floats]:
        words, weights, vectors = self._words(request, model)
        return words, weights * _cosines(vectors, sum(model[side][row] for side in self._sides()))

    def score_all(self, request: Request, model: Arrays) -> Floats:
        query = self.query_vector(request, model)
        if not query.any():
            return np.zeros(len(model["papers"]), np.float32)
        sides = [self._nearness(model, side, query) for side in self._sides()]
        return np.where(np.all([side > 0 for side in sides], axis=0), np.mean(sides, axis=0), 0).astype(np.float32)

    def _nearness(self, model: Arrays, side: str, query: Floats) -> npt.NDArray[np.float64]:
        """From 0 to 1 for every row; 0 alone for those that have no vector."""
        lengths = model[f"lengths_of_{side}"]
        products = (model[side] @ query).astype(np.float64)
        nearness = np.zeros(len(lengths))
        if self.similarity == "product":
            np.divide(1, 1 + np.exp(-products), out=nearness, where=lengths > 0)
        else:
            np.divide(products, lengths * np.linalg.norm(query), out=nearness, where=lengths > 0)
            np.divide(1 + np.clip(nearness, -1, 1), 2, out=nearness, where=lengths > 0)
        return nearness

    def query_vector(self, request: Request, model: Arrays) -> Floats:
        """The query as a vector among those of the words."""
        _, weights, vectors = self._words(request, model)
        if "drawn" in model:
            return foretelling(vectors, weights, model["drawn"], int(model["negatives"][0]))
        if "docs_out" in model and len(known := request.known()):
            rows, here = rows_of(model, "papers", known)
            vectors = np.concatenate([vectors, model["docs_in"][rows[here]]])
            weights = np.concatenate([weights, np.ones(int(here.sum()), np.float32)])
        mean: Floats = weights @ vectors / max(np.float32(1e-9), weights.sum())
        return mean

    def _words(self, request: Request, model: Arrays) -> tuple[list[str], Floats, Floats]:
        return words_of(request, self.form, model, "words_in" if "words_in" in model else "words_out")

    def _sides(self) -> list[str]:
        return [f"docs_{side}" for side in self.vectors.split("+")]


def foretelling(words: Floats, weights: Floats, drawn: Floats, negatives: int) -> Floats:
    """The vector that best tells a text's words from drawn ones, by the loss of training, in steps along its whole gradient."""
    total = weights.sum()
    found: Floats = np.zeros(drawn.shape[1], np.float32)
    if not total:
        return found
    shares = weights / total
    for _ in range(_STEPS):
        right = shares * _logistic(-(words @ found))
        wrong = _logistic(drawn @ found) * np.float32(negatives / len(drawn))
        found += _RATE * (right @ words - wrong @ drawn).astype(np.float32)
    return found


def _logistic(values: Floats) -> Floats:
    return (1 / (1 + np.exp(-values))).astype(np.float32)


def _cosines(rows: Floats, vector: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    found: Floats = np.divide(rows @ vector, lengths, out=np.zeros(len(rows), np.float32), where=lengths > 0)
    return found
