"""PubMed and MEDLINE XML from the PubMed website, its API or the yearly baseline.

The record of an article consists of <MedlineCitation> (bibliographic data) and <PubmedData> (further identifiers and
references); books have their own structure.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical
from citewell.papers import Name, Paper, Problem, Reference
from citewell.sources import clean
from citewell.sources.source import Source
from citewell.sources.xml import RecordError, iso_date, opening, papers, text, text_at, texts
from citewell.text.names import literal, person

NAME = "PubMed XML"
PRIORITY = 80

_MEDLINE = ("MedlineCitationSet", "MedlineCitation")
_PUBMED = ("PubmedArticleSet", "PubmedArticle", "PubmedBookArticleSet", "PubmedBookArticle")
_SCHEMES = {"pubmed": "pmid", "pmid": "pmid", "doi": "doi", "pmc": "pmcid", "pmcid": "pmcid", "pmcbook": "", "arxiv": "arxiv"}


def matches(head: bytes) -> bool:
    return opening(head).root in _MEDLINE + _PUBMED


def read(source: Source) -> Iterator[Paper | Problem]:
    if opening(source.head).root in _MEDLINE:
        return papers(source, ["MedlineCitation", "DeleteCitation"], _paper)
    return papers(source, ["PubmedArticle", "PubmedBookArticle", "DeleteCitation"], _paper)


def _paper(record: _Element) -> Paper:
    if record.tag == "DeleteCitation":
        raise RecordError(f"PubMed withdraws {len(record)} records here (<DeleteCitation>); citewell keeps them")
    if record.tag == "PubmedBookArticle":
        return _book(record)
    citation = record if record.tag == "MedlineCitation" else record.find("MedlineCitation")
    article = None if citation is None else citation.find("Article")
    if citation is None or article is None:
        raise RecordError("the record has no <Article>")
    issue = article.find("Journal/JournalIssue")
    date = _date(None if issue is None else issue.find("PubDate")) or _date(article.find("ArticleDate"))
    return Paper(
        title=_title(article.find("ArticleTitle"), article.find("VernacularTitle")),
        abstract=_abstract(article),
        authors=_authors(article.find("AuthorList")),
        year=clean.year(date),
        date=date,
        venue=text_at(article, "Journal/Title") or text_at(article, "Journal/ISOAbbreviation"),
        ids=_ids(citation, record.find("PubmedData"), article),
        keywords=texts(
            [*citation.iterfind("KeywordList/Keyword"), *citation.iterfind("MeshHeadingList/MeshHeading/DescriptorName")]
        ),
        references=_references(record.find("PubmedData")),
        extra=_filled(
            type="article-journal",
            genre=text_at(article, "PublicationTypeList/PublicationType"),
            volume=text_at(article, "Journal/JournalIssue/Volume"),
            issue=text_at(article, "Journal/JournalIssue/Issue"),
            pages=_pages(article),
            issn=text_at(article, "Journal/ISSN"),
            language=text_at(article, "Language"),
        ),
    )


def _book(record: _Element) -> Paper:
    book = record.find("BookDocument")
    if book is None:
        raise RecordError("the record has no <BookDocument>")
    whole = text_at(book, "Book/BookTitle")
    chapter = text_at(book, "ArticleTitle")
    date = _date(book.find("Book/PubDate")) or _date(book.find("ContributionDate"))
    authors = book.find("AuthorList")
    return Paper(
        title=_title(book.find("ArticleTitle"), book.find("Book/BookTitle")),
        abstract=_abstract(book),
        authors=_authors(authors if authors is not None else book.find("Book/AuthorList")),
        year=clean.year(date),
        date=date,
        venue=whole if chapter else "",
        ids=_ids(book, record.find("PubmedBookData"), book),
        keywords=texts(book.iterfind("KeywordList/Keyword")),
        references=_references(record.find("PubmedBookData")) or _references(book),
        extra=_filled(
            type="chapter" if chapter else "book",
            publisher=text_at(book, "Book/Publisher/PublisherName"),
            pages=_pages(book),
            isbn=text_at(book, "Book/Isbn"),
        ),
    )


def _title(first: _Element | None, second: _Element | None) -> str:
    """The title as other sources have it (see `clean.pubmed_title`)."""
    bare = clean.pubmed_title(text(first) or text(second))
    if not bare:
        raise RecordError("the record has no title")
    return bare


def _abstract(article: _Element) -> str:
    parts = []
    for part in article.iterfind("Abstract/AbstractText"):
        label, content = part.get("Label", ""), text(part)
        if content:
            parts.append(f"{label.capitalize()}: {content}" if label and label != "UNLABELLED" else content)
    return " ".join(parts)


def _authors(listed: _Element | None) -> list[Name]:
    names = (
        [_author(author) for author in listed.iterfind("Author") if author.get("ValidYN") != "N"] if listed is not None else []
    )
    return [name for name in dict.fromkeys(names) if any(name)]


def _author(author: _Element) -> Name:
    if group := text_at(author, "CollectiveName"):
        return literal(group)
    given = text_at(author, "ForeName") or text_at(author, "Initials")
    return person(text_at(author, "LastName"), given, text_at(author, "Suffix"))


def _date(date: _Element | None) -> str:
    if date is None:
        return ""
    exact = iso_date(text_at(date, "Year"), text_at(date, "Month"), text_at(date, "Day"))
    words = text_at(date, "MedlineDate").split()
    return exact or (iso_date(*words[:2]) if words else "")


def _ids(citation: _Element, data: _Element | None, article: _Element) -> list[str]:
    ids = [canonical("pmid", text_at(citation, "PMID")) or ""]
    for part in (data, citation):
        ids += [] if part is None else _article_ids(part)
    for place in article.iterfind("ELocationID"):
        if place.get("EIdType") == "doi" and place.get("ValidYN") != "N":
            ids.append(canonical("doi", text(place)) or "")
    for other in citation.iterfind("OtherID"):
        if text(other).startswith("PMC"):
            ids.append(canonical("pmcid", text(other).partition(" ")[0]) or "")
    return clean.unique(ids)


def _article_ids(element: _Element) -> list[str]:
    listed = element.iterfind("ArticleIdList/ArticleId")
    return clean.unique(canonical(_SCHEMES.get(item.get("IdType", ""), ""), text(item)) or "" for item in listed)


def _references(data: _Element | None) -> list[Reference]:
    """Cited works with an identifier; the others are lines of text without a recognisable title."""
    listed = () if data is None else data.iterfind("ReferenceList//Reference")
    references = [Reference(_article_ids(item), year=clean.year(text_at(item, "Citation")[-200:])) for item in listed]
    return [reference for reference in references if reference.ids]


def _pages(article: _Element) -> str:
    first, last = text_at(article, "Pagination/StartPage"), text_at(article, "Pagination/EndPage")
    return text_at(article, "Pagination/MedlinePgn") or "-".join(filter(None, (first, last)))


def _filled(**fields: str) -> dict[str, str]:
    return {field: value for field, value in fields.items() if value}
