"""Files that no reader accepts: what each one is, by its content or else by its name, and how to convert it.

Every message is one line: what the file is, then what to do.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

from citewell.sources.plain_text import beginning

UNKNOWN = "no format that citewell reads: export the references as RIS, BibTeX, CSL-JSON or CSV with column names"
_DOI = "add its DOI instead: citewell add 10.1000/182"
_ENDNOTE = "an EndNote library: in EndNote, choose File > Export, with the output style RefMan (RIS) Export, and add that file"
_MENDELEY = "Mendeley's database: in Mendeley, select all references, choose File > Export > BibTeX, and add that file"
_PAPERS = "a library of Papers: in Papers, select all references, choose File > Export > RIS, and add that file"
_CITAVI = "a Citavi project: in Citavi, choose File > Export > RIS, and add that file"
_JABREF = "a database of JabRef: open it in JabRef, choose File > Save library as, and add the .bib file"
_SPREADSHEET = "a spreadsheet: save it as CSV, with a line of column names such as title, authors and doi, and add that file"
_WORD = "a Word document: 'citewell suggest' reads it as a draft; to add its references, export them as RIS or BibTeX"
_ARCHIVE = "an archive: unpack it and add the folder; of compressed files, citewell reads .gz"
_IMAGE = f"an image: {_DOI}"

_BY_ENDING = {
    ".enl": _ENDNOTE,
    ".enlx": _ENDNOTE,
    ".paperslibrary": _PAPERS,
    ".papers2": _PAPERS,
    ".papersdb": _PAPERS,
    ".papers3": _PAPERS,
    ".ctv4": _CITAVI,
    ".ctv5": _CITAVI,
    ".ctv6": _CITAVI,
    ".bdb": "a library of Bookends: in Bookends, choose File > Export, with the format RIS, and add that file",
    ".pdt": "a ProCite database: open it in EndNote, choose File > Export, with the output style RefMan (RIS) Export",
    ".doc": _WORD,
    ".docx": _WORD,
    ".odt": "an OpenDocument text: save it as .docx for 'citewell suggest'; to add its references, export them as RIS",
    ".xls": _SPREADSHEET,
    ".xlsx": _SPREADSHEET,
    ".ods": _SPREADSHEET,
    ".numbers": _SPREADSHEET,
    ".mdb": "an Access database: export the table of papers as CSV, with column names, and add that file",
    ".accdb": "an Access database: export the table of papers as CSV, with column names, and add that file",
    ".nb": "a Mathematica notebook: it has no list of references; export the references themselves as BibTeX or RIS",
    ".ipynb": "a Jupyter notebook: it has no list of references; add the .bib file that it uses",
    ".bibtexml": _JABREF,
    ".bibx": _JABREF,
    ".sql": "a dump of a database: if JabRef made it, open the database in JabRef and save it as .bib; else export a CSV",
    ".bbl": "a bibliography that BibTeX made: add the .bib file from which it was made",
    ".bst": "a BibTeX style: add the .bib file",
    ".csl": "a citation style: it has no papers",
    ".tex": "a LaTeX document: 'citewell suggest' reads it as a draft; add its .bib file",
    ".md": "a Markdown document: 'citewell suggest' reads it as a draft; add its .bib file",
    ".qmd": "a Quarto document: 'citewell suggest' reads it as a draft; add its .bib file",
    ".epub": f"an e-book: {_DOI}, or export its reference from your reference manager as RIS",
    ".zip": _ARCHIVE,
    ".tar": _ARCHIVE,
    ".7z": _ARCHIVE,
    ".rar": _ARCHIVE,
    ".bz2": _ARCHIVE,
    ".xz": _ARCHIVE,
    ".zst": _ARCHIVE,
}
_BY_CONTENT = (
    (b"%PDF-", f"a PDF: {_DOI}, or export its reference from your reference manager as RIS or BibTeX"),
    (b"\x00\x01\x00\x00Standard Jet DB", _BY_ENDING[".mdb"]),
    (b"\x00\x01\x00\x00Standard ACE DB", _BY_ENDING[".mdb"]),
    (b"{\\rtf", "an RTF document: to add its references, export them from your reference manager as RIS or BibTeX"),
    (b"(* Content-type: application/vnd.wolfram", _BY_ENDING[".nb"]),
    (b"BZh", _ARCHIVE),
    (b"\xfd7zXZ\x00", _ARCHIVE),
    (b"\x28\xb5\x2f\xfd", _ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", _ARCHIVE),
    (b"Rar!", _ARCHIVE),
    (b"\x89PNG", _IMAGE),
    (b"\xff\xd8\xff", _IMAGE),
)
_ZIP_MEMBERS = (("word/", _WORD), ("xl/", _SPREADSHEET), ("sdb/", _ENDNOTE))
_TABLES = (
    (frozenset(("Documents", "DocumentContributors")), _MENDELEY),
    (frozenset(("enl_refs",)), _ENDNOTE),
    (frozenset(("refs", "groups")), _ENDNOTE),
    (frozenset(("Publication", "Author", "Keyword")), _PAPERS),
    (frozenset(("books", "authors", "publishers")), "Calibre's database: in Calibre, create a catalogue in the format BibTeX"),
)
"""The tables by which databases of other programs are recognised."""
_TEXTS = (
    (re.compile(r"<\d+>\s*\n"), "Ovid's own text format: in Ovid, export the references again, with the format RIS"),
    (re.compile(r"RT [A-Z][A-Za-z ]+\n(?:SR|ID|A1|T1) "), "RefWorks' tagged format: in RefWorks, export the references as RIS"),
    (re.compile(r"--[A-Z]{2}-- "), "Biblioscape's tagged format: in Biblioscape, export the references as RIS"),
    (
        re.compile(r"(?:[A-Z][A-Z0-9]  - .*\n+)*(?:TI|T1|AU|A1|JF|JO)  - "),
        "RIS without the first line of its records, such as 'TY  - JOUR': export it again, or add these lines",
    ),
    (
        re.compile(r"Template-type: ", re.IGNORECASE),
        "RePEc's own format: on its web site, export RIS or BibTeX",
    ),
)
"""Texts of other programs, by how they begin."""
_ROOTS = {
    "Sources": "Word's list of sources: import it into JabRef, choose File > Save library as, and add the .bib file",
    "tellico": "a collection of Tellico: in Tellico, choose File > Export > Export to BibTeX, and add that file",
}
"""What XML with these roots is."""
_XML_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_PUBLISH_OR_PERISH = re.compile(r"\"(?:cites_url|related_url|article_url)\"\s*:")
_HTML = re.compile(r"<!doctype html|<html[\s>]", re.IGNORECASE)
_JABREF_SQL = re.compile(r"jabref", re.IGNORECASE)


def advice(path: Path, head: bytes) -> str:
    """What the file at `path`, which begins with `head` and which no reader accepts, is and how to convert it."""
    if not head.strip():
        return "the file is empty"
    for signature, message in _BY_CONTENT:
        if head.startswith(signature):
            return message
    ending = path.suffix.lower()
    if head.startswith(b"PK\x03\x04"):
        return _by_member(path) or _BY_ENDING.get(ending, _ARCHIVE)
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return "a document or spreadsheet of an old Office: save a spreadsheet as CSV, or export the references as RIS"
    return _by_text(beginning(head[:4096]).lstrip("\ufeff \n\t"), head)


def folder_advice(path: Path) -> str:
    """What a folder is that another program keeps as a library; empty for any other folder."""
    ending = path.suffix.lower()
    return _BY_ENDING[ending] if ending in (".paperslibrary", ".papers2", ".papers3", ".enlx") else ""


def database_advice(tables: Iterable[str]) -> str:
    """What an SQLite database with these tables is and how to convert it."""
    names = set(tables)
    for known, message in _TABLES:
        if names >= known:
            return message
    return "an SQLite file, but not a Zotero database: export the references from its program as RIS, BibTeX or CSV"


def _by_member(path: Path) -> str:
    """What a zip archive is by the names of its members."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()[:1000]
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return ""
    return next((message for start, message in _ZIP_MEMBERS if any(name.startswith(start) for name in names)), "")


def _by_text(start: str, head: bytes) -> str:
    if _HTML.match(start):
        return f"a web page: {_DOI}, or use the page's own export of the citation as RIS or BibTeX"
    if known := next((message for begin, message in _TEXTS if begin.match(start)), ""):
        return known
    if start.startswith(("{", "[")) and _PUBLISH_OR_PERISH.search(start):
        return "JSON of Publish or Perish: save the results as RIS, BibTeX or CSV, and add that file"
    if start.startswith(("{", "[")):
        return (
            "JSON of a shape that citewell does not know: export CSL-JSON, or write one object per line with title, authors,"
            " year and doi"
        )
    from citewell.sources.xml import opening

    root, text = opening(head)
    if "bibtexml" in text[:2000]:
        return _JABREF
    if "loc.gov/MARC21" in text[:2000]:
        return "MARC XML: import it into Zotero, export it from there as RIS, and add that file"
    if root in _ROOTS:
        return _ROOTS[root]
    if _XML_NAME.fullmatch(root):
        return f"XML of a kind that citewell does not know (its root is <{root[:40]}>): export the references as RIS or BibTeX"
    if "CREATE TABLE" in start and _JABREF_SQL.search(start):
        return _JABREF
    return UNKNOWN
