"""Dense retrieval: papers whose vectors are nearest to the query's.

The `form` selects the parts of the query that are encoded. For a paper whose contexts are encoded, the reason quotes the
context that is nearest to the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from citewell.collection.interface import TEXT_LABELS, VectorSet
from citewell.errors import CitewellError
from citewell.models import encoder, weights
from citewell.models.inputs import PaperText
from citewell.papers import OTHER_MARK, TARGET_MARK, Query, Ranking, Reason
from citewell.pipeline.contract import Explanations, Requirement, Retriever, Vectors, Weights
from citewell.ranking.request import Request
from citewell.text.citation_contexts import near_mark, shorten_context
from citewell.types import Float32Array, PaperNumbers

FORMS = {
    "text": ("context", "title", "abstract"),
    "context": ("context",),
    "title, context": ("title", "context"),
    "abstract": ("title", "abstract"),
    "context, abstract": ("title", "context", "abstract"),
    "abstract, context": ("title", "abstract", "context"),
}
"""The parts of a query that are encoded, in order; the first count most, because long texts are cut (`Dense.tokens`)."""

_QUOTE = {"cited": ("Cited elsewhere as", "[it]"), "citing": ("It says of others", "[…]")}
"""How a quoted context is introduced, and what replaces the citation in it."""
_QUOTED_PAPERS = 20
"""For how many papers the contexts are encoded to find the one to quote: more would keep the user waiting."""
_QUOTE_WIDTH = 200


@dataclass(frozen=True)
class Dense(Retriever):
    """Dense retrieval by the vectors of one encoder."""

    encoder: str = "minilm"
    text: str = "own"
    """Which text of the papers: ``own``, ``cited``, ``citing``, ``own+cited`` or ``own+citing``."""
    form: str = "text"
    size: int = 1000
    tokens: int = 0
    """How many tokens of a query are read; 0: as many as of a paper."""
    optional: bool = False
    """Whether it returns nothing, instead of an error, where the library has no such vectors yet."""

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise CitewellError(f"A query has no form {self.form!r}. Choose one of {'; '.join(FORMS)}.")

    def requirements(self) -> Sequence[Requirement]:
        installed = encoder.available(self.encoder)
        # An encoder that comes as a Python package has no folder of weights: its name is its fingerprint.
        fingerprint = (weights.fingerprint(self.encoder) or self.encoder) if installed else ""
        return [Vectors(self.encoder, self.text), Weights(self.encoder, fingerprint)]

    def retrieve(self, request: Request) -> Ranking:
        if not self._has_vectors(request):
            return Ranking.empty()
        return request.collection.nearest(self._vectors, self.query_vector(request), self.size, request.filters)

    def score(self, request: Request, papers: PaperNumbers) -> Float32Array:
        """The cosines of papers, NaN for those without a vector."""
        if not self._has_vectors(request):
            return np.full(len(papers), np.nan, np.float32)
        return request.collection.cosines(self._vectors, self.query_vector(request), papers)

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        cosines = self.score(request, np.array(papers, np.int64)).tolist()
        texts = request.collection.texts(self.text, np.array(papers, np.int64))
        vectors = f"{self.encoder} vectors ({TEXT_LABELS.get(self.text, self.text)})"
        reasons: Explanations = {
            number: [
                Reason("similarity", _close(self.text, texts.get(number, PaperText()))),
                Reason("cosine", f"Cosine of {vectors}: {cosine:.2f}.", detail=True),
            ]
            for number, cosine in zip(papers, cosines, strict=True)
            if not np.isnan(cosine)
        }
        return reasons | self._quotes(request, list(reasons)[:_QUOTED_PAPERS]) if self.text in _QUOTE else reasons

    def _quotes(self, request: Request, papers: list[int]) -> Explanations:
        """For each paper its context that is nearest to the query."""
        texts = request.collection.texts(self.text, np.array(papers, np.int64))
        contexts = [(number, context) for number, text in texts.items() for context in text.contexts]
        if not contexts:
            return {}
        vectors = encoder.load(self.encoder).encode([near_mark(text) for _, text in contexts])
        cosines = vectors @ self.query_vector(request)
        start, target = _QUOTE[self.text]
        quotes: Explanations = {}
        for at in np.argsort(-cosines, kind="stable").tolist():
            number, text = contexts[at]
            if number not in quotes:
                quotes[number] = [Reason("similarity", f"{start}: “{shorten_context(text, _QUOTE_WIDTH, target)}”", [text])]
        return quotes

    def query_vector(self, request: Request) -> Float32Array:
        """The query as a vector."""
        return request.memo((self.encoder, self.form, self.tokens), "query vector", lambda: self._encoded(request.query))

    def query_tokens(self, query: Query) -> list[int]:
        """The tokens that the encoder, a transformer, reads of a query."""
        model = encoder.load(self.encoder)
        if not isinstance(model, encoder.Encoder):
            raise CitewellError(f"the encoder {self.encoder!r} is static: it reads no sequence of tokens")
        if isinstance(model, encoder.PairEncoder):
            return model.query_tokens(_parts(query, self.form))
        return model.tokens(_query_text(query, self.form))

    def _encoded(self, query: Query) -> Float32Array:
        model = encoder.load(self.encoder)
        if isinstance(model, encoder.QueryEncoder):
            return model.query(_parts(query, self.form))
        text = _query_text(query, self.form)
        vectors = (
            model.encode([text], self.tokens) if self.tokens and isinstance(model, encoder.Encoder) else model.encode([text])
        )
        vector: Float32Array = vectors[0]
        return vector

    @property
    def _vectors(self) -> VectorSet:
        return VectorSet(self.encoder, self.text)

    def _has_vectors(self, request: Request) -> bool:
        if request.collection.has_vectors(self._vectors):
            return True
        if self.optional:
            return False
        raise CitewellError(
            f"The papers of {request.collection.name} have no {self.encoder} vectors ({TEXT_LABELS.get(self.text, self.text)})."
            f" Run 'citewell library encode --encoder {self.encoder} --text {self.text}'."
        )


def _close(text: str, paper: PaperText) -> str:
    """What of a paper is close to the query, as a sentence that names only what the paper has."""
    own = ("Its abstract" if paper.abstract else "Its title") if "own" in text else ""
    others = "the sentences in which it cites others" if "citing" in text else "the sentences that cite it"
    if not paper.contexts:
        return f"{own or 'Its text'} is close to your text."
    return f"{own} and {others} are close to yours." if own else f"{others.capitalize()} are close to yours."


def _parts(query: Query, form: str) -> Query:
    """The query with only those parts that a form names; an encoder that was trained on queries orders them itself."""
    parts = {part: getattr(query, part) if part in FORMS[form] else "" for part in ("context", "title", "abstract")}
    return replace(query, context=parts["context"], title=parts["title"], abstract=parts["abstract"])


def _query_text(query: Query, form: str) -> str:
    parts = {"context": query.context, "title": query.title, "abstract": query.abstract}
    if form == "text" and query.task == "local":
        parts["abstract"] = ""
    text = ". ".join(parts[name] for name in FORMS[form] if parts[name]) or query.text()
    return text.replace(TARGET_MARK, " ").replace(OTHER_MARK, " ")
