"""Dense retrieval: papers whose vectors are nearest to the query's (`scanning` finds them).

What of the query is encoded is the `form`. Of a paper that is near by what is said of it, the reason quotes the context that is
nearest to the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.vectors.encode import encode, missing, near_mark, paper_texts
from citewell.library.vectors.neighbours import Neighbours
from citewell.library.vectors.search import Near
from citewell.library.vectors.status import command_for
from citewell.library.vectors.store import Shelf
from citewell.models import encoder, weights
from citewell.papers import OTHER_MARK, TARGET_MARK, Query, Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.top_k import best_first
from citewell.text.marks import shortened

FORMS = {
    "text": ("context", "title", "abstract"),
    "context": ("context",),
    "abstract": ("title", "abstract"),
    "context, abstract": ("title", "context", "abstract"),
    "abstract, context": ("title", "abstract", "context"),
}
"""The parts of a query that are encoded, in order; the encoder reads some 200 words, so the first count most."""

_SAID = {
    "own": "what it says",
    "cited": "what others say of it",
    "citing": "what it says of others",
    "own+cited": "what it says, and others of it,",
    "own+citing": "what it says, of itself and others,",
}
_QUOTE = {"cited": ("others say of it", "[it]"), "citing": ("it says of others", "[…]")}
"""How a quoted context is introduced, and what stands for the citation in it."""
_QUOTED = 20
"""Of so many papers the contexts are encoded for their reasons: more would keep the user waiting."""
_WIDTH = 200

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Dense:
    """The stage; its parameters are those of ``pipelines.toml``."""

    encoder: str = "minilm"
    text: str = "own"
    """Which vectors of the papers: of their own text, of what others say of them (``cited``), of what they say (``citing``)."""
    form: str = "text"
    size: int = 1000
    may_lack: bool = False
    """Whether it finds nothing, instead of refusing, where the library has no such vectors yet; `notes` says so."""

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise CitewellError(f"a query has no form {self.form!r}; choose one of {'; '.join(FORMS)}")

    def prepare(self, library: Library, donors: Sequence[Path] = ()) -> None:
        """Encode what has no vector yet."""
        encode(library, encoder.load(self.encoder), self.text, donors)

    def weight_versions(self) -> dict[str, str]:
        """The encoder's; one that comes as a package is known by its name."""
        return {self.encoder: (weights.version(self.encoder) or self.encoder) if encoder.available(self.encoder) else ""}

    def notes(self, library: Library) -> list[str]:
        """Whether papers cannot be found for want of a vector."""
        count = missing(library, self.encoder, self.text)
        if not count:
            return []
        lack = "1 paper has" if count == 1 else f"{count:,} papers have"
        whose, them = ("its", "it") if count == 1 else ("their", "them")
        return [f"{lack} no {self.encoder} vectors of {whose} {self.text} text yet; {self._remedy()} makes {them}"]

    def rank(self, request: Request) -> Ranking:
        return request.remember(f"nearest of {self}", lambda: self._rank(request))

    def _rank(self, request: Request) -> Ranking:
        near = self._near(request)
        if near is None:
            return Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))
        papers, cosines = near.nearest(self._vector(request), self.size, request.may_find)
        return best_first(papers, cosines.astype(np.float64) + 2.0, self.size)

    def score(self, request: Request, papers: Numbers) -> Floats:
        """The nearness of some papers, 0 for those that have no vector."""
        near = self._near(request)
        if near is None:
            return np.zeros(len(papers), np.float32)
        scores = near.cosines(self._vector(request), papers).astype(np.float64) + 2.0
        return np.where(np.isnan(scores), 0, scores).astype(np.float32)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        near = self.score(request, np.array(papers, np.int64))
        said = _SAID[self.text]
        found = {
            num: [Reason("meaning", f"{said} is close in meaning ({value - 2:.2f})")]
            for num, value in zip(papers, near.tolist(), strict=True)
            if value > 0
        }
        return found | self._quotes(request, list(found)[:_QUOTED]) if self.text in _QUOTE else found

    def _quotes(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """For each paper that of its contexts which is nearest in meaning to the query."""
        texts = paper_texts(request.library, self.text, papers)
        contexts = [(num, context) for num, text in texts for context in text.contexts]
        if not contexts:
            return {}
        cosines = encoder.load(self.encoder).encode([near_mark(text) for _, text in contexts]) @ self._vector(request)
        opening, target = _QUOTE[self.text]
        quotes: dict[int, list[Reason]] = {}
        for at in np.argsort(-cosines, kind="stable").tolist():
            num, text = contexts[at]
            if num not in quotes:
                quote = shortened(text, _WIDTH, target)
                quotes[num] = [Reason("meaning", f"{opening}: “{quote}” ({cosines[at]:.2f})", [text])]
        return quotes

    def _vector(self, request: Request) -> Floats:
        """The query as a vector."""
        return request.remember(f"{self.encoder} vector of {self.form}", lambda: self._encoded(request.query))

    def _encoded(self, query: Query) -> Floats:
        made = encoder.load(self.encoder)
        if isinstance(made, encoder.ReadsQueries):
            return made.query(_of_form(query, self.form))
        found: Floats = made.encode([_query_text(query, self.form)])[0]
        return found

    def _near(self, request: Request) -> Near | None:
        """The vectors of the library, kept open with its index; None where there may be none and are none."""
        index = request.library.index
        place = (f"{self.encoder} {weights.version(self.encoder)}", self.text)
        opened: Near | None = index.shelves.get(place)
        if opened is None:
            shelf = Shelf(request.library.folder, self.encoder, self.text)
            if not shelf.exists:
                if self.may_lack:
                    return None
                raise CitewellError(
                    f"the papers of {request.library.folder} have no {self.encoder} vectors of their {self.text} text;"
                    f" run {self._remedy()}"
                )
            live = index.listed("own")
            parts = [(segment, speaks & np.isin(segment.papers, live)) for segment, speaks in shelf.segments()]
            opened = index.shelves[place] = Near(parts, Neighbours.open(shelf))
        return opened

    def _remedy(self) -> str:
        """The command that makes the vectors."""
        return f"'{command_for(self.encoder, self.text)}'"


def _of_form(query: Query, form: str) -> Query:
    """The query with those parts alone that a form names; an encoder that was trained on queries orders them itself."""
    kept = {part: getattr(query, part) if part in FORMS[form] else "" for part in ("context", "title", "abstract")}
    return replace(query, context=kept["context"], title=kept["title"], abstract=kept["abstract"])


def _query_text(query: Query, form: str) -> str:
    parts = {"context": query.context, "title": query.title, "abstract": query.abstract}
    if form == "text" and query.task == "local":
        parts["abstract"] = ""
    text = ". ".join(parts[name] for name in FORMS[form] if parts[name]) or query.text()
    return text.replace(TARGET_MARK, " ").replace(OTHER_MARK, " ")
