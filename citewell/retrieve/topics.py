"""Papers by their topics (LDA, Blei et al. 2003), trained by ``citewell train lda``, served from mapped arrays.

The topics of a query are found as those of a paper were: by the variational E-step, words and topics taking turns until the mix
of topics stands still. Papers are ranked by the cosine between the two mixes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citewell.arrays import Arrays
from citewell.ranking.request import Request
from citewell.retrieve.trained import Floats, Trained, words_of

_ROUNDS = 50
_STILL = 1e-3
_TINY = 1.1920929e-07
"""What keeps a word that no topic has from being divided by zero; gensim's value for single precision."""


def mixture(counts: Floats, words: Floats, prior: Floats) -> Floats:
    """How much each topic has of a text whose words occur `counts` times; `words` has a row of topics for each word.

    The rows are exp(E[log beta]), `prior` is alpha; the result is the parameter gamma of the text's Dirichlet distribution.
    """
    from scipy.special import psi

    def shares(weights: Floats) -> Floats:
        found: Floats = np.exp(psi(weights) - psi(weights.sum()))
        return found

    gamma: Floats = np.ones(len(prior), words.dtype)
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
class Topics(Trained):
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "lda"
    form: str = "text"
    size: int = 1000

    kind_of_reason: ClassVar[tuple[str, str]] = ("topics", "shares the topics of")

    def shares(self, request: Request, model: Arrays, row: int) -> tuple[list[str], Floats]:
        words, _, topics = self._words(request, model)
        share = (topics / np.maximum(topics.sum(axis=1, keepdims=True), _TINY)) @ (
            self._mixture(request, model) * model["docs"][row]
        )
        return words, share

    def score_all(self, request: Request, model: Arrays) -> Floats:
        gamma = self._mixture(request, model)
        scores = np.zeros(len(model["papers"]), np.float32)
        if len(gamma):
            lengths = model["lengths_of_docs"] * np.linalg.norm(gamma)
            np.divide(model["docs"] @ gamma, lengths, out=scores, where=lengths > 0)
        return scores

    def _mixture(self, request: Request, model: Arrays) -> Floats:
        """The query's mix of topics; empty where the model knows none of its words."""

        def work_out() -> Floats:
            words, counts, topics = self._words(request, model)
            return mixture(counts, topics, model["prior"]) if words else np.zeros(0, np.float32)

        return request.remember(f"topics of {self}", work_out)

    def _words(self, request: Request, model: Arrays) -> tuple[list[str], Floats, Floats]:
        return words_of(request, self.form, model, "words_topics")
