"""A draft on disk as the commands see it: read, its citations resolve_keys against the library, its gaps numbered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from citewell import draft as drafts
from citewell.draft import bibliography
from citewell.draft.files import content, decoded
from citewell.draft.queries import DraftQuery, draft_queries
from citewell.draft.resolve import resolve_keys
from citewell.library.library import Library
from citewell.papers import Citation, Draft


@dataclass(slots=True)
class Manuscript:
    """A draft, where it lies, and what of the library it cites."""

    path: Path
    draft: Draft
    library: Library
    cited: dict[str, str]
    """The id of the library's paper that a key means."""
    bib: Path | None
    """Where entries of its bibliography go."""

    @classmethod
    def open(cls, path: Path, library: Library, bib: Path | None = None) -> Manuscript:
        """Read the draft at `path`; `bib` is a bibliography that it need not name."""
        draft = drafts.read(path)
        if bib is not None and bib.exists():
            bibliography.add(draft, _name_beside(path, bib), decoded(content(bib))[0])
        named = next((name for name in draft.sources if name.lower().endswith(".bib")), None)
        where = bib if bib is not None else path.parent / named if named else None
        return cls(path, draft, library, resolve_keys(draft, library), where)

    def path_of(self, file: str) -> Path:
        """Where a file of the draft lies."""
        return self.path.parent / file if file else self.path

    def cited_keys(self) -> list[str]:
        """The keys that the draft cites, each once."""
        return self.draft.cited_keys

    def known(self) -> list[str]:
        """The library's papers that the draft cites already."""
        return list(dict.fromkeys(self.cited[key] for key in self.cited_keys() if key in self.cited))

    def asked(self, task: str | None = None) -> list[DraftQuery]:
        """What the draft asks the library."""
        return draft_queries(self.draft, self.known(), task)

    def gaps(self) -> list[Citation]:
        """Its gaps, in reading order: gap 1 is the first."""
        return self.draft.gaps

    def gap_number(self, citation: Citation) -> int:
        return next(number for number, gap in enumerate(self.gaps(), 1) if gap is citation)

    def cites(self) -> str:
        """What it cites already, in a line; empty where that is nothing."""
        keys = self.cited_keys()
        if not keys:
            return ""
        there = [key for key in keys if key in self.cited]
        count = f"{len(keys)} work{'s' if len(keys) != 1 else ''}"
        if not there:
            return f"It cites {count} already; the library has none of them."
        found = f"{len(there)}; these are not suggested again: {', '.join(there)}"
        return f"It cites {count} already, of which the library has {found}."

    def notes(self) -> Iterator[str]:
        """What a person should know of how it was read."""
        if missing := [name for name in self.draft.missing if self.bib is None or self.bib.stem != Path(name).stem]:
            yield f"{self.path} names files that are not there: {', '.join(missing)}; what stands in them is not known"


def _name_beside(path: Path, bib: Path) -> str:
    """How the draft would name a file: from its own folder, where it lies there."""
    try:
        return str(bib.resolve().relative_to(path.parent.resolve()))
    except ValueError:
        return str(bib.resolve())
