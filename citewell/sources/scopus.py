"""The CSV export of Scopus; its RIS and BibTeX exports have readers of their own.

Cited works are one cell, separated by semicolons. Scopus has written them in two forms::

    Berg, A., Lund, B., Counting boats (2015) Harbour Studies, 3 (2), pp. 1-9      (until 2023)
    Berg A., Lund B., Counting boats, Harbour Studies, 3, 2, pp. 1-9, (2015)       (since then)

A work becomes a reference if it has a DOI, or if its authors and its year show where its title begins and ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.identifiers import canonical, recognise
from citewell.papers import Paper, Problem, Reference
from citewell.sources.clean import listed_keywords, one_per_scheme, untagged, year
from citewell.sources.first_line import Kind, kind
from citewell.sources.name_lists import listed_names
from citewell.sources.source import Source
from citewell.sources.table_rows import header, rows
from citewell.text.names import parse

NAME = "Scopus CSV"
PRIORITY = 35

_MISSING = ("[No author name available]", "[No authors found]", "[No abstract available]")
_EXTRA = {
    "volume": "volume",
    "issue": "issue",
    "artno": "article-number",
    "publisher": "publisher",
    "issn": "issn",
    "isbn": "isbn",
    "languageoforiginaldocument": "language",
    "abbreviatedsourcetitle": "shortjournal",
    "documenttype": "type",
    "conferencename": "event",
    "link": "url",
    "affiliations": "affiliations",
    "citedby": "cited-by",
}
_DOI = re.compile(r"(\bdoi:? ?|https?://(?:dx\.)?doi\.org/)?\b(10\.\d{4,9}/[^\s,]+)", re.IGNORECASE)
_FORMER_AUTHOR = re.compile(r"(?:([^,;()]{1,80}, (?:[^\W\d_a-z]\.[- ]?){1,5}(?:, (?:Jr|Sr)\.)?)|et al\.?), ")
_AUTHOR = re.compile(r"(?:([^,;()]{1,80} (?:[^\W\d_a-z]\.[- ]?){1,5})|et al\.?), ")
_FORMER_YEAR = re.compile(r" \((1\d{3}|20\d{2})\)(?: |$)")
_YEAR = re.compile(r",? \((1\d{3}|20\d{2})\)\W*$")
_NUMBERS = re.compile(r"(?:pp?\.? |art\. no|vol\.? ?\d|no\.? ?\d|[a-z]?\d)", re.IGNORECASE)
"""The beginning of the parts after the name of a journal."""


def matches(head: bytes) -> bool:
    return kind(head) is Kind.SCOPUS


def read(source: Source) -> Iterator[Paper | Problem]:
    columns = header(source)
    for row in rows(source, columns):
        if isinstance(row, Problem):
            yield row
            continue
        paper = _paper({name: value for name, value in row.named(columns).items() if value not in _MISSING})
        yield paper if paper.title or paper.ids else Problem("the row has neither a title nor an identifier", row.line)


def _paper(cells: dict[str, str]) -> Paper:
    get = cells.get
    ids = [canonical("doi", get("doi", "")), canonical("pmid", get("pubmedid", "")), recognise(get("link", ""))]
    eid = get("eid", "")
    extra = {name: get(column, "") for column, name in _EXTRA.items()}
    extra["pages"] = "-".join(filter(None, (get("pagestart"), get("pageend"))))
    listed = f"{get('authorkeywords', '')}; {get('indexkeywords', '')}"
    return Paper(
        title=untagged(get("title", "")),
        abstract=untagged(get("abstract", "")),
        authors=listed_names(get("authorfullnames", "") or get("authors", "")),
        year=year(get("year", "")),
        venue=get("sourcetitle", "") or get("conferencename", ""),
        ids=one_per_scheme([*ids, f"scopus:{eid}" if eid else ""]),
        keywords=listed_keywords(listed),
        references=[cited for each in get("references", "").split(";") if (cited := reference(each.strip()))],
        extra={name: value for name, value in extra.items() if value},
        people={"editor": editors} if (editors := listed_names(get("editors", ""))) else {},
    )


def reference(cited: str) -> Reference | None:
    """A work in a list of references; None if it has neither a DOI nor a title that can be told from the rest."""
    match = _DOI.search(cited)
    doi = canonical("doi", match[2]) if match else None
    cited = cited[: match.start()].rstrip(" ,") if match else cited
    former = _FORMER_YEAR.search(cited)
    if former and former.end() < len(cited):
        authors, begin = _authors(cited, _FORMER_AUTHOR)
        title, published = cited[begin : former.start()], int(former[1])
    else:
        authors, begin = _authors(cited, _AUTHOR)
        recent = _YEAR.search(cited)
        title = _title(cited[begin : recent.start()]) if recent else ""
        published = int(recent[1]) if recent else 0
    if not authors:
        title = ""
    title = title.strip(" ,.")
    if not doi and not (title and published):
        return None
    return Reference([doi] if doi else [], title, published or None, authors)


def _authors(cited: str, pattern: re.Pattern[str]) -> tuple[list[str], int]:
    """The authors at the beginning, and where they end."""
    authors, at = [], 0
    while author := pattern.match(cited, at):
        at = author.end()
        if author[1]:
            family, _, given = author[1].rpartition(" ") if pattern is _AUTHOR else author[1].partition(", ")
            authors.append(str(parse(f"{family}, {given}")))
    return authors, at


def _title(rest: str) -> str:
    """The title in ``Title, Journal, 3, 2, pp. 1-9``: all but the numbers at the end and the part before them."""
    parts = rest.split(", ")
    while len(parts) > 1 and _NUMBERS.match(parts[-1]):
        parts.pop()
    return ", ".join(parts[:-1] or parts)
