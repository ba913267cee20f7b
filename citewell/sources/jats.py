"""JATS XML, the full-text format of PubMed Central and eLife: one article per file, or several in a wrapper.

The bibliographic record is in the front, the references are in the back, and the body (see `jats_body`) has the sentences and
the context of every citation. Reviews, replies and other sub-articles are not part of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem, Reference
from citewell.sources import clean
from citewell.sources.jats_body import Cited, full_text
from citewell.sources.source import Source
from citewell.sources.xml import RecordError, iso_date, opening, papers, text, text_at, texts
from citewell.text.names import literal, parse, person

NAME = "JATS XML"
PRIORITY = 90

_SIGNS_OF_JATS = ("<article-meta", "<journal-meta", "JATS", "//NLM//DTD", "/ns/archiving/", "<front>", "article-type=")
_HREF = "{http://www.w3.org/1999/xlink}href"
_SCHEMES = {"doi": "doi", "pmid": "pmid", "pmc": "pmcid", "pmcid": "pmcid", "arxiv": "arxiv"}
_NAMES = ("name", "string-name", "collab", "name-alternatives")
_CITATIONS = ("element-citation", "mixed-citation", "nlm-citation", "citation")
_TITLES = ("article-title", "chapter-title", "data-title", "part-title")
_SERIALS = ("journal", "confproc", "")
"""Publication types in which <source> is the periodical, not the cited work."""
_DATES = ("pub", "publication", "epub", "epub-ppub", "ppub", "", "collection")
"""Kinds of publication date, the preferred first; other dates belong to the archive, not to the paper."""
_EMPTY_KEYWORDS = ("Other", "None")
"""Placeholders of eLife for a missing research organism."""
_OTHER_ABSTRACTS = ("digest", "graphical abstract", "summary", "highlights", "significance", "in brief", "key points")


def matches(head: bytes) -> bool:
    root, start = opening(head)
    if root in ("article", "pmc-articleset"):
        return root != "article" or any(sign in start for sign in _SIGNS_OF_JATS)
    return root not in ("", "html", "dblp") and "<article-meta" in start


def read(source: Source) -> Iterator[Paper | Problem]:
    return papers(source, ["article"], _paper)


def _paper(article: _Element) -> Paper:
    _drop_namespace(article)
    meta = article.find("front/article-meta")
    if meta is None:
        raise RecordError("the article has no <article-meta>")
    title = ": ".join(filter(None, (_title(meta, "title-group/article-title"), _title(meta, "title-group/subtitle"))))
    if not title:
        raise RecordError("the article has no title")
    cited = list(_cited(article))
    body = article.find("body")
    sentences, contexts = ([], []) if body is None else full_text(body, cited)
    date = _date(meta)
    return Paper(
        title=title,
        abstract=_abstract(meta),
        authors=_contributors(meta),
        year=clean.year(date),
        date=date,
        venue=text_at(article, "front/journal-meta//journal-title"),
        ids=_ids(meta.findall("article-id")),
        keywords=_keywords(meta),
        references=[reference for work in cited for reference in work.references],
        sentences=sentences,
        contexts=contexts,
        extra=_extra(article, meta),
    )


def _drop_namespace(article: _Element) -> None:
    """Remove the namespace that some archives put every element into; standard JATS has none."""
    if not article.tag.startswith("{"):
        return
    namespace = article.tag[: article.tag.index("}") + 1]
    for element in article.iter(f"{namespace}*"):
        element.tag = element.tag.removeprefix(namespace)


def _title(meta: _Element, path: str) -> str:
    title = meta.find(path)
    if title is None:
        return ""
    for note in [*title.iter("xref", "fn")]:
        for part in [note, *note.iterdescendants()]:
            part.text = None
            if part is not note:
                part.tail = None
    return text(title)


def _abstract(meta: _Element) -> str:
    """The abstract itself, not a digest, highlights or similar."""
    for abstract in meta.findall("abstract"):
        heading = text_at(abstract, "title").lower()
        if not abstract.get("abstract-type") and not any(other in heading for other in _OTHER_ABSTRACTS):
            return " ".join(_parts(abstract))
    return ""


def _parts(abstract: _Element) -> Iterator[str]:
    paragraphs = list(abstract.iter("p"))
    for paragraph in paragraphs:
        parent = paragraph.getparent()
        if parent is None or next(paragraph.iterancestors("p"), None) is not None:
            continue
        content = text(paragraph)
        if content.startswith("DOI:"):
            continue
        label = text_at(parent, "title") if parent.tag == "sec" and parent.find("p") is paragraph else ""
        yield f"{label.rstrip(':.')}: {content}" if label else content
    if not paragraphs:
        yield text(abstract)


def _contributors(meta: _Element) -> list[Name]:
    listed = meta.findall("contrib-group/contrib")
    names = (_name(each) for each in listed if each.get("contrib-type", "author") == "author")
    return [name for name in dict.fromkeys(names) if any(name)]


def _name(contributor: _Element) -> Name:
    """The name of a contributor, or of the name element itself."""
    for kind in ("name", "string-name", "collab", "name-alternatives/*"):
        if (inner := contributor.find(kind)) is not None:
            return _name(inner)
    if contributor.tag == "collab":
        return literal(" ".join(filter(None, _own_text(contributor))))
    family, given = text_at(contributor, "surname"), text_at(contributor, "given-names")
    if family or given:
        return person(family, given, text_at(contributor, "suffix"))
    return parse(text(contributor)) if contributor.tag in ("string-name", "name") else Name()


def _own_text(collaboration: _Element) -> Iterator[str]:
    """The name of a collaboration, without the list of its members."""
    yield collaboration.text or ""
    for part in collaboration:
        if part.tag not in ("contrib-group", "xref", "fn", "email", "address", "aff"):
            yield text(part)
        yield part.tail or ""


def _date(meta: _Element) -> str:
    dates = {date.get("date-type") or date.get("pub-type") or "": date for date in reversed(meta.findall("pub-date"))}
    for kind in _DATES:
        if (date := dates.get(kind)) is not None and (day := _day(date)):
            return day
    return next(filter(None, map(_day, dates.values())), "")


def _day(date: _Element) -> str:
    return iso_date(text_at(date, "year"), text_at(date, "month"), text_at(date, "day")) or clean.date(
        date.get("iso-8601-date", "")
    )


def _ids(elements: list[_Element]) -> list[str]:
    return clean.unique(
        canonical(_SCHEMES[kind], text(element)) or ""
        for element in elements
        if (kind := element.get("pub-id-type", "")) in _SCHEMES
    )


def _keywords(meta: _Element) -> list[str]:
    groups = [group for group in meta.findall("kwd-group") if "abbr" not in group.get("kwd-group-type", "").lower()]
    keywords = texts(keyword for group in groups for keyword in group.iter("kwd"))
    return [keyword for keyword in keywords if keyword not in _EMPTY_KEYWORDS]


def _extra(article: _Element, meta: _Element) -> dict[str, str]:
    first, last = text_at(meta, "fpage"), text_at(meta, "lpage")
    pages = f"{first}-{last}" if first and last and first != last else first or text_at(meta, "elocation-id")
    links = (link.get(_HREF, "") for link in meta.findall("self-uri"))
    fields = {
        "type": "article-journal",
        "genre": article.get("article-type", ""),
        "volume": text_at(meta, "volume"),
        "issue": text_at(meta, "issue"),
        "pages": pages,
        "publisher": text_at(article, "front/journal-meta/publisher/publisher-name"),
        "issn": text_at(article, "front/journal-meta/issn"),
        "url": next((link for link in links if link.startswith("http")), ""),
    }
    return {field: value for field, value in fields.items() if value}


def _cited(article: _Element) -> Iterator[Cited]:
    """The works in each entry of the reference list, in order."""
    for entry in article.iterfind("back//ref"):
        alternatives = entry.find("citation-alternatives")
        citations = [part for part in (entry if alternatives is None else alternatives) if part.tag in _CITATIONS]
        if alternatives is not None:
            citations = sorted(citations, key=lambda part: _CITATIONS.index(part.tag))[:1]
        names = [entry.get("id", ""), *(part.get("id", "") for part in citations)]
        references = [reference for each in citations if (reference := _reference(each)).ids or reference.title]
        yield Cited([*filter(None, names)], references, clean.unique(map(_first_family, citations)))


def _reference(citation: _Element) -> Reference:
    kind = citation.get("publication-type", citation.get("citation-type", ""))
    title = next(filter(None, (text_at(citation, tag) for tag in _TITLES)), "")
    if not title and kind not in _SERIALS:
        title = text_at(citation, "source")
    ids = _ids(citation.findall("pub-id"))
    for link in citation.iter("ext-link", "uri"):
        ids.append(recognise(link.get(_HREF, "")) or "")
    if not any(ids):
        ids = [_id_in_words(citation)]
    return Reference(
        ids=clean.unique(ids),
        title=title,
        year=clean.year(text_at(citation, "year")),
        authors=_cited_authors(citation),
    )


def _id_in_words(citation: _Element) -> str:
    """The identifier in the text of an unstructured citation."""
    words = text(citation).split()
    for word in words:
        word = word.rstrip(".,;)]")
        if word.lower().startswith("arxiv:") and (arxiv := canonical("arxiv", word[6:])):
            return arxiv
        if "10." in word and (doi := canonical("doi", word)):
            return doi
    return ""


def _cited_authors(citation: _Element) -> list[str]:
    groups = citation.findall("person-group")
    authors = [group for group in groups if group.get("person-group-type", "author") == "author"]
    listed = [each for group in authors or groups or [citation] for each in group if each.tag in _NAMES]
    return clean.unique(str(_name(each)) for each in listed)


def _first_family(citation: _Element) -> str:
    return text(next(citation.iter("surname", "collab"), None))
