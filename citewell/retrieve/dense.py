"""Dense retrieval: papers whose vectors are nearest to the query's, by an exact scan of int8 vectors.

The query's vector is made int8 too, and products are summed as whole numbers: in numpy for a library that is asked once,
compiled where many queries follow (`scanning`). What of the query is encoded is the `form`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.encoding import encode
from citewell.library.library import Library
from citewell.library.vectors import Shelf, Vectors, quantised
from citewell.models import encoder
from citewell.papers import OTHER_MARK, TARGET_MARK, Query, Ranking, Reason
from citewell.retrieve.best import best_first
from citewell.retrieve.request import Request
from citewell.retrieve.scanning import scan

FORMS = {
    "text": ("context", "title", "abstract"),
    "context": ("context",),
    "abstract": ("title", "abstract"),
    "context, abstract": ("title", "context", "abstract"),
    "abstract, context": ("title", "abstract", "context"),
}
"""The parts of a query that are encoded, in order; the encoder reads some 200 words, so the first count most."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Dense:
    """The stage; its parameters are those of ``pipelines.toml``."""

    encoder: str = "minilm"
    text: str = "own"
    """Which vectors of the papers: of their own text, of what others say of them (``cited``), of what they say (``citing``)."""
    form: str = "text"
    size: int = 1000

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise CitewellError(f"a query has no form {self.form!r}; choose one of {'; '.join(FORMS)}")

    def prepare(self, library: Library, donors: Sequence[Path] = ()) -> None:
        """Encode what has no vector yet."""
        encode(library, encoder.load(self.encoder), self.text, donors)

    def rank(self, request: Request) -> Ranking:
        papers, scores = self._scores(request)
        allowed = request.may_find(papers)
        papers, scores = papers[allowed], scores[allowed]
        if len(papers) > self.size:
            best = np.argpartition(-scores, self.size)[: self.size]
            papers, scores = papers[best], scores[best]
        return best_first(papers, scores.astype(np.float64) + 2.0, self.size)

    def score(self, request: Request, papers: Numbers) -> npt.NDArray[np.float32]:
        """The nearness of some papers, 0 for those that have no vector."""
        known, scores = self._scores(request)
        order = np.argsort(known)
        at = order[np.minimum(np.searchsorted(known[order], papers), len(known) - 1)] if len(known) else np.zeros(0, np.int64)
        found = np.zeros(len(papers), np.float32)
        if len(known):
            here = known[at] == papers
            found[here] = scores[at[here]] + 2.0
        return found

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        near = self.score(request, np.array(papers, np.int64))
        said = {"own": "what it says", "cited": "what others say of it", "citing": "what it says of others"}[self.text]
        return {
            num: [Reason("meaning", f"{said} is close in meaning ({value - 2:.2f})")]
            for num, value in zip(papers, near.tolist(), strict=True)
            if value > 0
        }

    def _scores(self, request: Request) -> tuple[Numbers, npt.NDArray[np.float32]]:
        """All papers that have a vector, and the cosine of each with the query."""
        return request.remember(f"cosines of {self.encoder} {self.text} {self.form}", lambda: self._scan(request))

    def _scan(self, request: Request) -> tuple[Numbers, npt.NDArray[np.float32]]:
        shelf = _shelf(request, self.encoder, self.text)
        code, scale = quantised(encoder.load(self.encoder).encode([_query_text(request.query, self.form)]))
        papers, scores = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
        for segment, speaks in shelf:
            near = scan(segment.codes, segment.scales, code[0], float(scale[0]))
            papers.append(segment.papers[speaks].astype(np.int64))
            scores.append(near[speaks])
        return np.concatenate(papers), np.concatenate(scores)


def _shelf(request: Request, name: str, text: str) -> list[tuple[Vectors, npt.NDArray[np.bool_]]]:
    """The segments of a shelf, kept open with the library's index."""
    index = request.library.index
    opened = index.shelves.get((name, text))
    if opened is None:
        shelf = Shelf(request.library.folder, name, text)
        if not shelf.exists:
            raise CitewellError(
                f"the papers of {request.library.folder} have no {name} vectors of their {text} text;"
                f" run 'citewell library encode --encoder {name} --text {text}'"
            )
        live = index.listed("own")
        opened = index.shelves[name, text] = [
            (segment, speaks & np.isin(segment.papers, live)) for segment, speaks in shelf.segments()
        ]
    return opened


def _query_text(query: Query, form: str) -> str:
    parts = {"context": query.context, "title": query.title, "abstract": query.abstract}
    if form == "text" and query.task == "local":
        parts["abstract"] = ""
    text = ". ".join(parts[name] for name in FORMS[form] if parts[name]) or query.text()
    return text.replace(TARGET_MARK, " ").replace(OTHER_MARK, " ")
