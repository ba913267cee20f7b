"""Takes citations out of a finished manuscript, so that each becomes a gap whose right answer is known.

A key that the manuscript cites once can be masked: its place becomes a gap, and the draft no longer cites its paper.
The query is the one that `citewell suggest` makes for such a gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from citewell.draft.manuscript import Manuscript
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import OTHER_MARK, TARGET_MARK, Citation, Draft, Query

DRAFT_SUFFIXES = (".tex", ".md", ".markdown", ".rmd", ".qmd", ".typ", ".org", ".ipynb", ".docx", ".txt")


@dataclass(frozen=True, slots=True)
class MaskedCitation:
    """The query for a masked citation, and the paper that was cited there."""

    key: str
    paper: str
    query: Query


@dataclass(frozen=True, slots=True)
class Masking:
    """The citations of a manuscript that can be masked, and how many cannot."""

    masked: list[MaskedCitation]
    repeated: int
    """Keys whose paper is cited more than once."""
    unknown: int
    """Keys that are cited once and whose paper is not in the library."""


def read_manuscripts(folder: Path, library: Library) -> tuple[dict[str, Manuscript], list[str]]:
    """The drafts below a folder that cite something, by their path, and a line for each file that cannot be read.

    A file that another draft includes is part of that draft.
    """
    manuscripts, problems = {}, []
    included: set[Path] = set()
    for path in sorted(path for path in folder.rglob("*") if path.suffix.lower() in DRAFT_SUFFIXES and path.is_file()):
        try:
            manuscript = Manuscript(path, library)
        except CitewellError as error:
            problems.append(str(error))
            continue
        included |= {(path.parent / name).resolve() for name in manuscript.draft.sources if name} - {path.resolve()}
        if manuscript.draft.cited_keys:
            manuscripts[path] = manuscript
    mains = {path: each for path, each in manuscripts.items() if path.resolve() not in included}
    return {path.relative_to(folder).as_posix(): each for path, each in mains.items()}, problems


def mask_citations(manuscript: Manuscript) -> Masking:
    """Each citation of a paper that the manuscript cites once, masked one at a time."""
    cited = manuscript.cited
    # Two keys can be two entries for one paper.
    times = Counter(cited[key] or key for citation in manuscript.draft.citations for key in set(citation.keys))
    masked = []
    unknown = 0
    for citation in manuscript.draft.citations:
        for key in dict.fromkeys(citation.keys):
            paper = cited[key]
            if times[paper or key] > 1:
                continue
            if paper is None:
                unknown += 1
            else:
                masked.append(MaskedCitation(key, paper, gap_query(manuscript, citation, key)))
    return Masking(masked, sum(count > 1 for count in times.values()), unknown)


def gap_query(manuscript: Manuscript, citation: Citation, key: str) -> Query:
    """The query of the gap that takes the place of `key` in a citation."""
    draft, gap = with_gap(manuscript.draft, citation, key)
    masked = Manuscript.from_draft(draft, manuscript.library)
    masked.papers = manuscript.papers
    return next(each.query for each in masked.queries("local") if each.gap is gap)


def with_gap(draft: Draft, citation: Citation, key: str) -> tuple[Draft, Citation]:
    """The draft with a gap for `key`, and the gap; other keys of the citation stay before it, as in ``\\cite{other, ?}``."""
    others = [other for other in citation.keys if other != key]
    context = citation.context.replace(TARGET_MARK, f"{OTHER_MARK} {TARGET_MARK}", 1) if others else citation.context
    gap = Citation(context, citation.place)
    rest = [replace(citation, keys=others)] if others else []
    return replace(draft, citations=_replaced(draft.citations, citation, [*rest, gap])), gap


def _replaced(citations: Sequence[Citation], old: Citation, new: list[Citation]) -> list[Citation]:
    return [each for citation in citations for each in (new if citation is old else [citation])]
