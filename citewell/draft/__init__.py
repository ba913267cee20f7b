"""Manuscripts: one reader per format, each making a `Draft`.

`read` takes a file and what belongs to it, `parse` a text alone. What the text looks like says which format it has; a name
only decides where the look leaves it open.
"""

from __future__ import annotations

from pathlib import Path

from citewell.draft import bibliography, latex, markdown, plain
from citewell.draft.files import Folder, content, decoded
from citewell.draft.resolve import resolve_keys
from citewell.draft.source_text import SourceText
from citewell.errors import CitewellError
from citewell.papers import Draft

__all__ = ["FORMATS", "detect_format", "parse", "read", "resolve_keys"]

FORMATS = ("latex", "markdown", "docx", "text")
_OTHER = (
    (b"%pdf-", "a PDF"),
    (b"{\\rtf", "rich text (RTF)"),
    (b"pk\x03\x04", "no Word file, or a damaged one"),
    (b"\xd0\xcf\x11\xe0", "a file of an old Word"),
    (b"<!doctype html", "a web page"),
    (b"<html", "a web page"),
)
"""How files begin that people take for text, or that their programs save when told to save a text."""
_SUFFIXES = {
    ".tex": "latex",
    ".ltx": "latex",
    ".latex": "latex",
    ".md": "markdown",
    ".qmd": "markdown",
    ".rmd": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
}


def read(path: Path, within: Path | None = None) -> Draft:
    """The draft in a file, with the files it takes in and its bibliography; only those inside `within`, where that is given."""
    data = content(path)
    folder = Folder(path.parent, within, path.name)
    if data.startswith(b"PK"):
        from citewell.draft import docx

        if docx.looks_like(data):
            return docx.read(data, str(path))
    if kind := next((kind for begins, kind in _OTHER if data.lstrip()[: len(begins)].lower() == begins), ""):
        raise CitewellError(f"{path} is {kind}; save your draft as .tex, .md, .docx or plain text")
    text, _ = decoded(data)
    if "\x00" in text:
        raise CitewellError(f"{path} is not a text file; save your draft as .tex, .md, .docx or plain text")
    if not text.strip():
        raise CitewellError(f"{path} is empty; put the title on its first line and the text below it")
    return _parsed(text, detect_format(text, path.name), folder)


def parse(text: str, format: str = "", bib: str = "") -> Draft:
    """The draft that a text is, with the bibliography `bib`; no file is opened, whatever the text names.

    What stands for a Word file is the Markdown that `read` made of it.
    """
    if format and format not in FORMATS:
        raise CitewellError(f"{format!r} is no format of a draft; choose one of {', '.join(FORMATS)}")
    draft = _parsed(text, format or detect_format(text), Folder())
    if bib:
        bibliography.add(draft, "bibliography.bib", bib)
    return draft


def detect_format(text: str, name: str = "") -> str:
    """Which format a text is in."""
    by_name = _SUFFIXES.get(Path(name).suffix.lower(), "")
    if by_name == "latex" or (by_name in ("", "text") and latex.looks_like(text)):
        return "latex"
    return "markdown" if by_name == "markdown" or markdown.looks_like(text) else "text"


def _parsed(text: str, format: str, folder: Folder) -> Draft:
    if format == "latex":
        return latex.read(text, folder)
    if format in ("markdown", "docx"):
        draft = markdown.read(text, folder)
        draft.format = format
        return draft
    return plain.read(SourceText.of(text))
