"""Semantic Scholar in its many formats: the Open Research Corpus, the S2AG data sets, the Graph API and S2ORC full text.

All are JSON with different spellings of the keys (``paperId``, ``paper_id``, ``corpusid``), so keys are compared in lower case
and one table maps the fields. Lists of citing papers (``inCitations``, ``citations``) are ignored: each citing paper has the
link in its own record, and the lists can have a hundred thousand entries.
"""

from __future__ import annotations

from collections.abc import Iterator

from citewell.identifiers import canonical
from citewell.papers import Context, Paper, Problem, Reference
from citewell.sources.clean import Json, date, mapping, sequence, strings, text, unique, year
from citewell.sources.json_names import names, readable_names
from citewell.sources.json_records import first_record, records
from citewell.sources.s2orc import add_full_text, is_full_text
from citewell.sources.source import Source

NAME = "Semantic Scholar"
PRIORITY = 65

_S2ORC = frozenset(
    {"body_text", "pdf_parse", "latex_parse", "grobid_parse", "bib_entries", "outbound_citations", "has_pdf_parse", "mag_id"}
    | {"has_outbound_citations", "_pdf_hash"}
)
_ID_FIELDS = {
    "paperid": "s2",
    "corpusid": "corpus",
    "doi": "doi",
    "arxiv": "arxiv",
    "arxiv_id": "arxiv",
    "acl": "acl",
    "acl_id": "acl",
    "pmid": "pmid",
    "pubmed": "pmid",
    "pubmed_id": "pmid",
    "pubmedcentral": "pmcid",
    "pmc_id": "pmcid",
    "mag": "mag",
    "mag_id": "mag",
    "magid": "mag",
    "dblp": "dblp",
}
"""Fields with identifiers, in the record itself or in its external ids, and their schemes."""
_CITED = (("outcitations", "s2"), ("outbound_citations", "corpus"))


def matches(head: bytes) -> bool:
    keys = {key.lower() for key in first_record(head)}
    if keys & {"corpusid", "citingcorpusid", "paperid", "paperabstract", "outcitations", "citedpaper", "citingpaper"}:
        return True
    return "paper_id" in keys and bool(keys & _S2ORC)


def read(source: Source) -> Iterator[Paper | Context | Problem]:
    for line, original in records(source):
        if isinstance(original, Problem):
            yield original
            continue
        record = {key.lower(): value for key, value in original.items()}
        record = _inner(record)
        if "citingcorpusid" in record:
            yield from _citation(record, line)
            continue
        paper = _paper(record)
        if is_full_text(record):
            add_full_text(paper, record)
        yield paper if paper.title or paper.ids else Problem("neither a title nor an identifier", line)


def _inner(record: Json) -> Json:
    """The paper inside an entry of the reference and citation lists of the API."""
    for key in ("citedpaper", "citingpaper"):
        if isinstance(inner := record.get(key), dict):
            return {key.lower(): value for key, value in inner.items()}
    return record


def _citation(record: Json, line: int) -> Iterator[Paper | Context | Problem]:
    """A citation and its contexts, which Semantic Scholar cuts without marking the position of the citation."""
    citing = canonical("corpus", text(record.get("citingcorpusid")))
    cited = canonical("corpus", text(record.get("citedcorpusid")))
    if not citing or not cited:
        yield Problem("a citation without a citing and a cited corpus id", line)
        return
    reference = Reference([cited])
    yield Paper(ids=[citing], references=[reference])
    for context in strings(record.get("contexts")):
        yield Context(context, [reference], citing)


def _paper(record: Json) -> Paper:
    published = date(record.get("publicationdate"))
    journal = record.get("journal")
    journal = {"name": journal} if isinstance(journal, str) else mapping(journal)
    return Paper(
        title=text(record.get("title")),
        abstract=text(record.get("abstract")) or text(record.get("paperabstract")),
        authors=names(record.get("authors")),
        year=year(record.get("year")) or year(published),
        date=published,
        venue=text(record.get("venue"))
        or text(journal.get("name"))
        or text(record.get("journalname"))
        or text(mapping(record.get("publicationvenue")).get("name")),
        ids=_ids(record),
        keywords=_keywords(record),
        references=_references(record),
        extra=_extra(record, journal),
    )


def _ids(record: Json) -> list[str]:
    outer = record | {"paperid": record.get("paperid") or record.get("id")}
    external = mapping(record.get("externalids")) or mapping(mapping(record.get("openaccessinfo")).get("externalids"))
    ids = [canonical("corpus", text(record.get("paper_id")))]
    for field, value in [*outer.items(), *((key.lower(), value) for key, value in external.items())]:
        if value and (scheme := _ID_FIELDS.get(field)):
            ids.append(canonical(scheme, text(value)))
    return unique(each or "" for each in ids)


def _references(record: Json) -> list[Reference]:
    references = []
    for field, scheme in _CITED:
        ids = (canonical(scheme, text(each)) for each in sequence(record.get(field)))
        references += [Reference([each]) for each in ids if each]
    for each in sequence(record.get("references")):
        cited = _inner({key.lower(): value for key, value in mapping(each).items()})
        reference = Reference(
            _ids(cited), text(cited.get("title")), year(cited.get("year")), readable_names(cited.get("authors"))
        )
        if reference.ids or reference.title:
            references.append(reference)
    return references


def _keywords(record: Json) -> list[str]:
    studied = [mapping(each).get("category") for each in sequence(record.get("s2fieldsofstudy"))]
    fields = [record.get(field) for field in ("entities", "fieldsofstudy", "mag_field_of_study")]
    return unique([*(each for field in fields if field for each in strings(field)), *map(text, studied)])


def _extra(record: Json, journal: Json) -> dict[str, str]:
    extra = {
        "type": "; ".join(strings(record.get("publicationtypes"))),
        "volume": text(journal.get("volume")) or text(record.get("journalvolume")),
        "pages": (text(journal.get("pages")) or text(record.get("journalpages"))).replace(" ", ""),
        "url": text(record.get("url")) or text(record.get("s2url")),
        "tldr": text(mapping(record.get("tldr")).get("text")),
    }
    return {key: value for key, value in extra.items() if value}
