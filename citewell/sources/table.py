"""Tables with a header: CSV, TSV and the like, with a column of titles and others under the names that people use.

PubMed, IEEE Xplore, Google Scholar, Publish or Perish and Web of Science (saved from a spreadsheet) export such files.
`citewell.sources.table_columns` has the names of the columns. Columns that it does not know become further fields.

Embase puts journal, year, volume, issue and pages into one cell: ``Harbour Studies (2014) 3:2 (1-9). Date ...``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citewell.identifiers import canonical, recognise
from citewell.papers import Paper, Problem, Reference
from citewell.sources.clean import date, listed_keywords, one_per_scheme, text, unique, untagged, year
from citewell.sources.first_line import Kind, kind
from citewell.sources.name_lists import listed_names, separated
from citewell.sources.source import Source
from citewell.sources.table_columns import Header
from citewell.sources.table_rows import Row, header, rows

NAME = "table"
PRIORITY = -10
"""Any reader with a more specific header comes first, also one of another package without a priority."""

_NOT_IN_NAME = re.compile(r"[^\w.:+-]+")
_EMPTY = frozenset(("nan", "none", "null", "n/a", "<na>", "-"))
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s;,|\"]+")
_CITED = re.compile(
    r"(.{1,300}?) \((1\d{3}|20\d{2})\)(?: ([\w-]+(?: SUPPL\.(?: \w+)?)?)?(?::(\S+))?)?(?: \(([^()]{1,40})\))?(?:\.(?: .*)?)?",
    re.DOTALL,
)
"""A cell of Embase: journal, year, volume, issue, pages."""
_PLAIN = ("volume", "issue", "publisher", "issn", "isbn", "language", "type", "citekey", "note")
_TAKEN = frozenset(
    {"title", "authors", "year", "date", "doi", "abstract", "keywords", "pmid", "pmcid", "arxiv", "url", "references"}
    | {"pages", "first page", "last page", "editors", *_PLAIN}
)


def matches(head: bytes) -> bool:
    return kind(head) is Kind.TABLE


def read(source: Source) -> Iterator[Paper | Problem]:
    columns = header(source)
    numbers = columns.columns()
    others = _others(columns)
    of_springer = "itemtitle" in columns.keys
    for row in rows(source, columns):
        if isinstance(row, Problem):
            yield row
            continue
        paper = _paper(_Cells(row, numbers), others, of_springer)
        yield paper if paper.title or paper.ids else Problem("the row has neither a title nor an identifier", row.line)


class _Cited(NamedTuple):
    """What a cell says of the journal."""

    venue: str
    year: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""

    @classmethod
    def of(cls, cell: str) -> _Cited:
        known = _CITED.fullmatch(cell)
        return cls(*(part or "" for part in known.groups())) if known and (known[3] or known[5]) else cls(cell)


class _Cells:
    """The cells of a row by the meaning of their columns."""

    def __init__(self, row: Row, columns: dict[str, list[int]]) -> None:
        self._cells = ["" if cell.strip().lower() in _EMPTY or cell.strip() == "NA" else cell.strip() for cell in row.cells]
        self._columns = columns

    def at(self, number: int) -> str:
        """The content of one column, with its line breaks."""
        return self._cells[number] if number < len(self._cells) else ""

    def all(self, meaning: str) -> list[str]:
        """The cells of all columns with that meaning."""
        return [cell for number in self._columns.get(meaning, ()) if (cell := self.at(number))]

    def first(self, *meanings: str) -> str:
        """The first cell with one of these meanings."""
        return next((cell for meaning in meanings for cell in self.all(meaning)), "")


def _others(columns: Header) -> dict[int, str]:
    """The columns that have no field of their own, with the names of their further fields."""
    known = {number for meaning, numbers in columns.columns().items() if meaning in _TAKEN for number in numbers}
    fields = (
        (number, _NOT_IN_NAME.sub("-", text(name).lower()).strip("-"))
        for number, name in enumerate(columns.names)
        if number not in known
    )
    return {number: field for number, field in fields if field}


def _paper(cells: _Cells, others: dict[int, str], of_springer: bool) -> Paper:
    published = date(cells.first("date")) or date(cells.first("year"))
    cited = _Cited.of(text(cells.first("venue", "conference")))
    return Paper(
        title=untagged(cells.first("title")),
        abstract=untagged(cells.first("abstract")),
        authors=listed_names(separated(cells.first("authors")) if of_springer else cells.first("authors")),
        year=year(cells.first("year")) or year(published) or year(cells.first("date")) or year(cited.year),
        date=published if len(published) > 4 else "",
        venue=cited.venue or text(cells.first("publisher")),
        ids=_ids(cells),
        keywords=unique(word for each in cells.all("keywords") for word in listed_keywords(text(each))),
        references=[Reference([doi]) for doi in _dois(cells.first("references"))],
        extra=_extra(cells, others, cited),
        people={"editor": editors} if (editors := listed_names(cells.first("editors"))) else {},
    )


def _ids(cells: _Cells) -> list[str]:
    ids = [canonical("doi", text(cells.first("doi")))]
    ids += [canonical(scheme, cells.first(scheme).removesuffix(".0")) for scheme in ("pmid", "pmcid", "arxiv")]
    ids += [recognise(link) for each in cells.all("url") for link in each.split()]
    return one_per_scheme(ids)


def _dois(listed: str) -> list[str]:
    return unique(canonical("doi", match) or "" for match in _DOI.findall(listed))


def _extra(cells: _Cells, others: dict[int, str], cited: _Cited) -> dict[str, str]:
    extra = {name: text(cells.first(name)) for name in _PLAIN}
    extra |= {name: getattr(cited, name) for name in ("volume", "issue") if not extra[name]}
    first, last = text(cells.first("first page")), text(cells.first("last page"))
    extra["pages"] = text(cells.first("pages")) or "-".join(filter(None, (first, last))) or cited.pages
    extra["url"] = text(cells.first("url"))
    for number, field in others.items():
        if (content := text(cells.at(number))) and content != cited.venue:
            extra.setdefault(field, content)
    return {name: value for name, value in extra.items() if value}
