"""What ``suggest`` and ``search`` return: suggestions, and what a user should know of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from citewell.errors import CitewellError
from citewell.papers import Query, Suggestion

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(repr=False)
class Results(Sequence[Suggestion]):
    """The suggestions for one query, best first.

    It is a sequence of `Suggestion`, prints as a short table, shows as HTML in a notebook, and becomes a data frame with
    `to_frame`.
    """

    query: Query
    pipeline: str
    """The name of the pipeline that ranked."""
    suggestions: list[Suggestion]
    notes: list[str] = field(default_factory=list)
    """What the library lacks for better results, one line each."""

    def __len__(self) -> int:
        return len(self.suggestions)

    @overload
    def __getitem__(self, index: int) -> Suggestion: ...

    @overload
    def __getitem__(self, index: slice) -> list[Suggestion]: ...

    def __getitem__(self, index: int | slice) -> Suggestion | list[Suggestion]:
        return self.suggestions[index]

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.suggestions)

    def __repr__(self) -> str:
        lines = [f"{len(self)} suggestion{'' if len(self) == 1 else 's'} by {self.pipeline!r} for a {self.query.task} query"]
        lines += [f"{each.rank:>3}  {each.score:8.3f}  {_title(each)}" for each in self]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{each.rank}</td><td>{escape(_title(each))}</td><td>{escape(_why(each))}</td></tr>" for each in self
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr><th>#</th><th>Paper</th><th>Why</th></tr></thead><tbody>{rows}</tbody></table>{notes}"

    def to_frame(self) -> DataFrame:
        """The suggestions as a pandas data frame, a row each."""
        try:
            import pandas
        except ImportError:
            raise CitewellError("to_frame() needs pandas. Run: pip install pandas") from None
        return pandas.DataFrame([_row(each) for each in self])


def _title(suggestion: Suggestion) -> str:
    paper = suggestion.paper
    year = f" ({paper.year})" if paper.year else ""
    return f"{paper.title or paper.id}{year}"


def _why(suggestion: Suggestion) -> str:
    return " ".join(reason.text for reason in suggestion.reasons if not reason.detail)


def _row(suggestion: Suggestion) -> dict[str, Any]:
    paper = suggestion.paper
    return {
        "rank": suggestion.rank,
        "id": paper.id,
        "title": paper.title,
        "authors": [*map(str, paper.authors)],
        "year": paper.year,
        "venue": paper.venue,
        "score": suggestion.score,
        "reasons": [reason.text for reason in suggestion.reasons if not reason.detail],
        "sentences": [sentence.text for sentence in suggestion.sentences],
    }
