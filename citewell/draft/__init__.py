"""Drafts: one reader per manuscript format, each making a `Draft`, and `Manuscript`, a draft with a library.

`read` reads a file and the files that it includes, `parse` a text alone. The readers are plug-ins (see `registry`). The content
decides the format; the suffix of the file name decides where the content leaves it open.
"""

from __future__ import annotations

from pathlib import Path

from citewell.draft import bibliography, registry
from citewell.draft.files import DraftSource
from citewell.draft.refusals import require_draft
from citewell.papers import Draft

__all__ = ["DraftSource", "detect_format", "parse", "read", "read_source"]


def read(path: str | Path, within: Path | None = None) -> Draft:
    """The draft in a file, with the files it includes and its bibliography; only files in the folder `within`, if set."""
    return read_source(DraftSource.of_file(Path(path), within))


def read_source(source: DraftSource) -> Draft:
    """The draft in a manuscript that may have any format."""
    format = registry.detect(source)
    if not registry.is_binary(format) and registry.is_own(format):
        require_draft(source)
    return registry.read(source, format)


def parse(text: str, format: str = "", bib: str = "") -> Draft:
    """The draft in a text, with the bibliography `bib`; no file is opened, whatever the text names.

    For ``docx`` the text is the Markdown that `read` makes from a Word file.
    """
    draft = registry.read(DraftSource.of_text(text), format)
    if bib:
        bibliography.add(draft, "bibliography.bib", bib)
    return draft


def detect_format(text: str, name: str = "") -> str:
    """The name of the format of a text; `name` is its file name, where it has one."""
    source = DraftSource.of_text(text)
    source.name = name
    return registry.detect(source)
