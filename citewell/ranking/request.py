"""One query put to one collection, as stages see it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from citewell.collection.interface import Collection, Filters
from citewell.papers import Query, Ranking
from citewell.text.analysis import terms
from citewell.text.languages import analysis_language
from citewell.text.stemming import ENGLISH
from citewell.types import Mask, PaperNumbers

Value = TypeVar("Value")
_SHORT = 20
"""Words of a query."""


@dataclass
class Request:
    """A query, the collection that answers it, and what was computed for it so far.

    Stages may share work through `memo`: the same stage in several pipelines of a fusion runs once. A value depends on nothing
    but its key, the query and the collection, so the memo changes how long an answer takes, never the
    answer.
    """

    collection: Collection
    query: Query
    inserted: PaperNumbers = field(default_factory=lambda: np.zeros(0, np.int64))
    """Papers that are put among the candidates of the first re-ranker if retrieval misses them; for evaluation only."""
    _memo: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def memo(self, stage: Hashable, purpose: str, compute: Callable[[], Value]) -> Value:
        """The value of `compute` for a stage (its `key`) and a purpose, computed the first time."""
        key = stage, purpose
        if key not in self._memo:
            self._memo[key] = compute()
        value: Value = self._memo[key]
        return value

    def terms(self, text: str) -> dict[int, tuple[str, float]]:
        """The terms of a text of the query, in the languages of the collection: hash, first word with it, and frequency."""
        return terms(text, self.collection.languages, self.language)

    def text_language(self, text: str) -> str:
        """The language in which a text of the collection was analysed."""
        return ENGLISH if self.collection.languages == (ENGLISH,) else analysis_language(text)

    @cached_property
    def language(self) -> str:
        """The language whose stop words are left out of the query.

        To a short query of an English library it makes no difference that is worth loading the model of languages.
        """
        text = self.query.text()
        short = self.collection.languages == (ENGLISH,) and len(text.split()) < _SHORT
        return ENGLISH if short else analysis_language(text)

    @cached_property
    def hidden(self) -> PaperNumbers:
        """The papers that the query excludes: not returned, and not counted in any statistics."""
        return self.collection.numbers(self.query.exclude)

    @cached_property
    def known(self) -> PaperNumbers:
        """The papers that the draft cites elsewhere."""
        return self.collection.numbers(self.query.known)

    @cached_property
    def filters(self) -> Filters:
        """Which papers may be returned."""
        query = self.query
        excluded = np.concatenate((self.hidden, self.known)) if query.only_new else self.hidden
        return Filters(query.since, query.before, query.venue, tuple(excluded.tolist()))

    def passes(self, papers: PaperNumbers) -> Mask:
        """Which papers pass the query's filters."""
        return self.collection.passes(papers, self.filters)

    def filtered(self, ranking: Ranking) -> Ranking:
        """The ranking without papers that do not pass the filters."""
        passing = self.passes(ranking.papers)
        if passing.all():
            return ranking
        return Ranking(ranking.papers[passing], ranking.scores[passing], ranking.trace)
