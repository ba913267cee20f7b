"""LDA (Blei et al. 2003): papers with the topics of the query, by a model from ``citewell train lda``.

The topic mixture of a query is inferred like that of a paper, by the variational E-step, until it converges. Papers are ranked
by the cosine between the two mixtures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citewell.ranking.request import Request
from citewell.retrieve.trained import Arrays, Trained, query_words
from citewell.types import Float32Array

_ROUNDS = 50
_STILL = 1e-3
_TINY = 1.1920929e-07
"""Keeps a word that no topic has from a division by zero; gensim's value for single precision."""


def mixture(counts: Float32Array, words: Float32Array, prior: Float32Array) -> Float32Array:
    """The topic mixture of a text whose words occur `counts` times; `words` has a row of topics for each word.

    The rows are exp(E[log beta]), `prior` is alpha; the result is the parameter gamma of the text's Dirichlet distribution.
    """
    from scipy.special import psi

    def shares(weights: Float32Array) -> Float32Array:
        exponents: Float32Array = np.exp(psi(weights) - psi(weights.sum()))
        return exponents

    gamma: Float32Array = np.ones(len(prior), words.dtype)
    theta = shares(gamma)
    norm = words @ theta + _TINY
    for _ in range(_ROUNDS):
        before = gamma
        gamma = (prior + theta * ((counts / norm) @ words)).astype(words.dtype)
        theta = shares(gamma)
        norm = words @ theta + _TINY
        if np.abs(gamma - before).mean() < _STILL:
            break
    return gamma


@dataclass(frozen=True)
class LDA(Trained):
    """Papers with the topics of the query, by LDA."""

    model: str = "lda"
    form: str = "text"
    size: int = 1000

    reason: ClassVar[tuple[str, str]] = ("topics", "Shares the topics of")

    def contributions(self, request: Request, model: Arrays, row: int) -> tuple[list[str], Float32Array]:
        words, _, topics = self._words(request, model)
        shares = topics / np.maximum(topics.sum(axis=1, keepdims=True), _TINY)
        return words, shares @ (self._mixture(request, model) * model["docs"][row])

    def score_rows(self, request: Request, model: Arrays) -> Float32Array:
        gamma = self._mixture(request, model)
        scores = np.zeros(len(model["papers"]), np.float32)
        if len(gamma):
            lengths = model["lengths_of_docs"] * np.linalg.norm(gamma)
            np.divide(model["docs"] @ gamma, lengths, out=scores, where=lengths > 0)
        return scores

    def _mixture(self, request: Request, model: Arrays) -> Float32Array:
        """The query's mixture of topics; empty where the model knows none of its words."""

        def compute() -> Float32Array:
            words, counts, topics = self._words(request, model)
            return mixture(counts, topics, model["prior"]) if words else np.zeros(0, np.float32)

        return request.memo(self.key, "topic mixture", compute)

    def _words(self, request: Request, model: Arrays) -> tuple[list[str], Float32Array, Float32Array]:
        return query_words(request, self.form, model, "words_topics")
