"""What citewell read of a draft: said before any judgement, so that "no findings" is never said of text that was not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from citewell.draft.builder import without_marks
from citewell.draft.languages import draft_languages
from citewell.papers import Draft
from citewell.text.languages import language_name

_OPENING_WORDS = 12
"""How many words of an abstract are shown."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The title and the abstract of a draft, its languages, and how much of everything there is."""

    format: str
    title: str
    abstract: str
    words: int
    """Words of the running text, without the abstract, headings, tables and code."""
    sentences: int
    citations: int
    """Places that cite."""
    cited_works: int
    """Different citation keys."""
    gaps: int
    bibliography: int
    """Entries of the bibliography."""
    languages: dict[str, int] = field(default_factory=dict)
    """The number of paragraphs in each language, by its ISO 639-1 code; the most frequent first."""

    @classmethod
    def of(cls, draft: Draft) -> Overview:
        """The overview of a draft."""
        return cls(
            draft.format,
            draft.title,
            draft.abstract,
            sum(len(without_marks(paragraph.text).split()) for paragraph in draft.paragraphs),
            sum(len(paragraph.sentences) for paragraph in draft.paragraphs),
            sum(not citation.is_gap for citation in draft.citations),
            len(draft.cited_keys),
            len(draft.gaps),
            len({*draft.bibliography, *draft.entries}),
            draft_languages(draft),
        )

    def to_json(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {name: getattr(self, name) for name in self.__slots__}

    def lines(self) -> Iterator[str]:
        """The overview for a person, a few lines."""
        yield f"Title: {self.title or 'none found'}"
        yield f"Abstract: {_opening(self.abstract)}"
        yield f"Languages: {self.spoken or 'none found'}"
        counts = (
            _count(self.words, "word"),
            _count(self.sentences, "sentence"),
            f"{_count(self.citations, 'citation')} of {_count(self.cited_works, 'work')}",
            _count(self.gaps, "gap"),
            _count(self.bibliography, "bibliography entry", "bibliography entries"),
        )
        yield f"Read as {self.format}: {', '.join(counts)}"

    @property
    def spoken(self) -> str:
        """The languages in words, with the number of paragraphs where there are several."""
        names = {language_name(code): count for code, count in self.languages.items()}
        if len(names) == 1:
            return next(iter(names))
        return ", ".join(f"{name} ({_count(count, 'paragraph')})" for name, count in names.items())

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _opening(abstract: str) -> str:
    words = abstract.split()
    if not words:
        return "none found"
    more = " …" if len(words) > _OPENING_WORDS else ""
    return f"{_count(len(words), 'word')}: {' '.join(words[:_OPENING_WORDS])}{more}"


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
