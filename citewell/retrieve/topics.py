"""Papers by their topics (LDA, Blei et al. 2003), trained by ``citewell train lda``, served from mapped arrays.

The topics of a query are found as those of a paper were: by the variational E-step, words and topics taking turns until the mix
of topics stands still. Papers are ranked by the cosine between the two mixes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citewell.papers import Ranking, Reason
from citewell.retrieve.query_terms import query_terms
from citewell.retrieve.request import Request
from citewell.retrieve.trained import Floats, load_model, picked, ranked, rows_of

_SHOWN_WORDS = 5
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
class Topics:
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "lda"
    form: str = "text"
    size: int = 1000

    def needs(self) -> set[str]:
        """The models that must have been trained."""
        return {self.model}

    def rank(self, request: Request) -> Ranking:
        return ranked(request, load_model(request.library, self.model), self._scores(request), self.size)

    def score(self, request: Request, papers: npt.NDArray[np.int64]) -> Floats:
        """The scores of some papers, 0 for those that the model does not know."""
        return picked(load_model(request.library, self.model), self._scores(request), papers)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """For each paper the words of the query that belong most to the topics which both have."""
        model = load_model(request.library, self.model)
        words, _, topics = self._words(request)
        gamma = self._mixture(request)
        rows, known = rows_of(model, "papers", np.array(papers, np.int64))
        found = {}
        for num, row in zip(np.array(papers)[known].tolist(), rows[known].tolist(), strict=True):
            share = (topics / np.maximum(topics.sum(axis=1, keepdims=True), _TINY)) @ (gamma * model["docs"][row])
            most = [words[at] for at in np.argsort(-share, kind="stable")[:_SHOWN_WORDS] if share[at] > 0]
            if most:
                found[num] = [Reason("topics", "shares the topics of " + ", ".join(most), most)]
        return found

    def _scores(self, request: Request) -> Floats:
        return request.remember(f"scores of {self}", lambda: self._score_all(request))

    def _score_all(self, request: Request) -> Floats:
        """The score of every row of the model; 0 for all where the query has no word that it knows."""
        model = load_model(request.library, self.model)
        gamma = self._mixture(request)
        scores = np.zeros(len(model["papers"]), np.float32)
        if len(gamma):
            lengths = model["lengths_of_docs"] * np.linalg.norm(gamma)
            np.divide(model["docs"] @ gamma, lengths, out=scores, where=lengths > 0)
        return scores

    def _mixture(self, request: Request) -> Floats:
        """The query's mix of topics; empty where the model knows none of its words."""

        def work_out() -> Floats:
            words, counts, topics = self._words(request)
            prior = load_model(request.library, self.model)["prior"]
            return mixture(counts, topics, prior) if words else np.zeros(0, np.float32)

        return request.remember(f"topics of {self}", work_out)

    def _words(self, request: Request) -> tuple[list[str], Floats, Floats]:
        """The words of the query that the model knows, how often each occurs, and the topics of each."""
        model = load_model(request.library, self.model)
        terms = query_terms(request, self.form, 0)
        rows, known = rows_of(model, "words", np.array(list(terms), np.int64))
        words = [word for (word, _), here in zip(terms.values(), known, strict=True) if here]
        counts = np.array([weight for _, weight in terms.values()], np.float32)[known]
        return words, counts, model["words_topics"][rows[known]]
