"""Files that are given as a draft and cannot be read as one: what each is, and what to do instead, in one line."""

from __future__ import annotations

import re
import zipfile

from citewell.draft.archives import open_archive
from citewell.draft.files import DraftSource
from citewell.errors import CitewellError

FORMATS = ".tex, .md, .typ, .org, .ipynb, .docx or plain text"
_SAVE_AS = f"save your draft as {FORMATS}"
_AS_WORD = "save it as .docx"
_BEGINNINGS = (
    (b"%pdf-", f"a PDF; {_SAVE_AS}, or give the file that the PDF was made from"),
    (b"{\\rtf", f"rich text (RTF); open it in your word processor and {_AS_WORD}"),
    (b"#lyx ", "a LyX document; choose File > Export > LaTeX in LyX and give the .tex file"),
    (
        b"\xd0\xcf\x11\xe0",
        f"a file of an old version of Word, or has a password; open it in Word and {_AS_WORD} without a password",
    ),
    (b"\x1f\x8b", "a compressed file; unpack it and give the main file of your draft"),
    (b"<!doctype html", "a web page; convert it first: pandoc {name} -o draft.md"),
    (b"<html", "a web page; convert it first: pandoc {name} -o draft.md"),
    (b"<?xml", f"XML; {_SAVE_AS}"),
)
"""How files begin that users take for drafts, or that programs save in place of them; in lower case."""
_BIBLIOGRAPHY = "a bibliography, not a draft; add it to your library: citewell add {name}"
_CONVERT = "in a format that citewell does not read; convert it first: pandoc {name} -o draft.md"
_CODE = f"program code or data, not a draft; {_SAVE_AS}"
_SUFFIXES = {
    **dict.fromkeys((".bib", ".bibtex", ".ris", ".nbib", ".enw"), _BIBLIOGRAPHY),
    **dict.fromkeys((".rst", ".adoc", ".asciidoc", ".textile", ".wiki", ".mediawiki", ".html", ".htm", ".fb2"), _CONVERT),
    **dict.fromkeys((".py", ".r", ".jl", ".js", ".c", ".cpp", ".java", ".sh", ".csv", ".tsv", ".json", ".yaml", ".yml"), _CODE),
    **dict.fromkeys((".xml", ".bst", ".cls", ".sty", ".csl", ".log", ".aux", ".bbl"), _CODE),
}
_ARCHIVES = (
    ("application/vnd.oasis.opendocument.text", f"an OpenDocument text (ODT); open it in LibreOffice and {_AS_WORD}"),
    ("application/vnd.oasis.opendocument", f"an OpenDocument file that is not a text; {_SAVE_AS}"),
    ("application/epub+zip", "an e-book; convert it first: pandoc {name} -o draft.md"),
)
_PARTS = (
    ("Index/", "a Pages document; choose File > Export To > Word in Pages and give the .docx file"),
    ("index.xml", "a Pages document; choose File > Export To > Word in Pages and give the .docx file"),
    ("ppt/", f"a PowerPoint presentation; {_SAVE_AS}"),
    ("xl/", f"an Excel workbook; {_SAVE_AS}"),
)
_ENTRY = re.compile(r"\s*(?:%[^\n]*\n\s*){0,50}@(?:comment|string|preamble|[a-z]+)\s*[{(]", re.IGNORECASE)


def require_draft(source: DraftSource) -> None:
    """Raise an error that says what a file is and what to do, where it is not a text that can be a draft."""
    name = source.name or "the draft"
    if kind := _kind(source):
        raise CitewellError(f"{name} is {kind.format(name=name)}")
    if "\x00" in source.text:
        raise CitewellError(f"{name} is not a text file; {_SAVE_AS}")
    if not source.text.strip():
        raise CitewellError(f"{name} is empty; put the title on the first line and the text below it")


def _kind(source: DraftSource) -> str:
    """What a file is that is not a draft, and what to do; empty for a draft."""
    head = source.data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if source.data.startswith(b"PK\x03\x04"):
        return _archive(source.data)
    beginning = next((kind for begin, kind in _BEGINNINGS if head.startswith(begin)), "")
    if beginning or source.suffix in _SUFFIXES:
        return beginning or _SUFFIXES[source.suffix]
    return _BIBLIOGRAPHY if source.data and _ENTRY.match(source.text) else ""


def _archive(data: bytes) -> str:
    try:
        with open_archive(data) as archive:
            names = archive.namelist()
            mimetype = archive.read("mimetype")[:200].decode("latin-1") if "mimetype" in names else ""
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError):
        return "not a Word file, or a damaged one; open it in Word and save it again as .docx"
    for begin, kind in _ARCHIVES:
        if mimetype.startswith(begin):
            return kind
    kind = next((kind for part, kind in _PARTS if any(each.startswith(part) for each in names)), "")
    return kind or f"not a Word file, or a damaged one; {_SAVE_AS}, and unpack an archive first"
