"""The header of a table: its delimiter, and what each column means under the many names that programs and people use."""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

from citewell.text.fold import folded

DELIMITERS = ("\t", ",", ";", "|")
_MAX_HEADER = 32 * 1024
_MAX_COLUMNS = 2000
_SEPARATOR_LINE = re.compile(r"\"?sep=([\t,;|])\"?")
_NOT_WORD = re.compile(r"[\W_]+")

_NAMES = {
    "title": "title articletitle papertitle itemtitle documenttitle worktitle primarytitle fulltitle titleofpaper titre titel"
    " titulo titolo ti t1",
    "authors": "authors author authorfullnames authornames authorname authorlist authorss creators creator auteurs auteur"
    " autoren autor autores autori autore au af",
    "year": "year publicationyear pubyear yearofpublication yearpublished publishedyear jahr annee ano anno py",
    "date": "date publicationdate pubdate datepublished publisheddate published coverdate issued issuedate datum fecha",
    "doi": "doi dois digitalobjectidentifier doinumber itemdoi doilink doiurl articledoi di",
    "abstract": "abstract abstracts abstractnote abstracttext summary resume resumen resumo zusammenfassung riassunto ab",
    "venue": "journal journals journaltitle journalname publicationtitle publicationname sourcetitle source venue booktitle"
    " containertitle publication journalbook journalconference conferencejournal secondarytitle publishedin periodical"
    " zeitschrift revue revista rivista so jf",
    "conference": "conference conferencename conferencetitle proceedings proceedingstitle event",
    "keywords": "keywords keyword authorkeywords indexkeywords tags tag manualtags automatictags subjects subject topics"
    " meshterms ieeeterms keywordsplus motscles schlagworte schlagworter stichworte palabrasclave",
    "pmid": "pmid pubmedid pubmed pubmednumber pm",
    "pmcid": "pmcid pmc pubmedcentralid",
    "arxiv": "arxiv arxivid arxivnumber eprint",
    "url": "url urls link links articleurl articlelink doiurl pdflink web website fulltexturl",
    "volume": "volume vol journalvolume band vl",
    "issue": "issue number issuenumber journalissue heft numero",
    "pages": "pages page pagerange pagenumbers seiten paginas",
    "first page": "startpage pagestart beginningpage firstpage spage frompage bp",
    "last page": "endpage pageend endingpage lastpage epage topage ep",
    "publisher": "publisher verlag editorial editeur editora",
    "editors": "editors editor editornames herausgeber",
    "issn": "issn eissn issns sn",
    "isbn": "isbn isbns bn",
    "language": "language lang languageoforiginaldocument sprache langue idioma",
    "type": "type itemtype documenttype publicationtype contenttype referencetype doctype entrytype worktype reftype",
    "citekey": "citekey citationkey bibtexkey bibkey",
    "note": "note notes extra comments comment",
    "references": "references citedreferences cr",
}
"""The normalised names of the columns with each meaning; the first listed name that a table has counts most."""
MEANINGS = {name: meaning for meaning, names in _NAMES.items() for name in names.split()}
_RANKS = {name: rank for names in _NAMES.values() for rank, name in enumerate(names.split())}
_PAPER = frozenset(("authors", "year", "doi", "abstract", "venue", "pmid", "arxiv", "conference"))
"""Meanings of which a table of papers has at least one in addition to the title."""


class Header(NamedTuple):
    """The first row of a table."""

    delimiter: str
    names: tuple[str, ...]
    """The names of the columns as the file has them."""
    keys: tuple[str, ...]
    """The same names, normalised by `key`."""

    def columns(self) -> dict[str, list[int]]:
        """The columns with each meaning, the one with the most specific name first."""
        columns: dict[str, list[int]] = {}
        for at, name in enumerate(self.keys):
            if meaning := MEANINGS.get(name):
                columns.setdefault(meaning, []).append(at)
        for numbers in columns.values():
            numbers.sort(key=lambda at: _RANKS[self.keys[at]])
        return columns


def key(name: str) -> str:
    """The name of a column in lower case, without accents, spaces and punctuation: ``Author(s)`` is ``authors``."""
    return _NOT_WORD.sub("", folded(name[:200]))


def header_of(start: str) -> Header | None:
    """The header of a table of papers that begins with `start`: it has a title and at least one other field of a paper."""
    delimiters: tuple[str, ...] = DELIMITERS
    rest = start
    while True:
        line, newline, rest = rest.partition("\n")
        line = line.strip("\ufeff ")
        if separator := _SEPARATOR_LINE.fullmatch(line):
            delimiters = (separator[1],)
        elif line:
            break
        elif not newline:
            return None
    if len(line) > _MAX_HEADER:
        return None
    headers = [header for delimiter in delimiters if (header := _parsed(line, delimiter))]
    return max(headers, key=lambda header: len(header.columns()), default=None)


def _parsed(line: str, delimiter: str) -> Header | None:
    """The header in `line` if `delimiter` separates its columns."""
    if not 0 < line.count(delimiter) < _MAX_COLUMNS:
        return None
    try:
        cells = next(csv.reader([line], delimiter=delimiter))
    except csv.Error:
        return None
    names = tuple(" ".join(cell.split()) for cell in cells)
    header = Header(delimiter, names, tuple(map(key, names)))
    columns = header.columns()
    return header if "title" in columns and not columns.keys().isdisjoint(_PAPER) else None
