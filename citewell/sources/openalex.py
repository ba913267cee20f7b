"""OpenAlex works: JSON lines of the snapshot, pages of the API, or a single work.

OpenAlex stores an abstract as an index from each word to its positions; sorting the positions restores the text, whatever gaps
they have.
"""

from __future__ import annotations

from collections.abc import Iterator

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem, Reference
from citewell.sources.clean import Json, date, mapping, sequence, text, unique, untagged, year
from citewell.sources.json_records import first_record, records
from citewell.sources.source import Source
from citewell.text.names import parse

NAME = "OpenAlex"
PRIORITY = 70

_MARKERS = frozenset(("authorships", "referenced_works", "abstract_inverted_index", "primary_location", "host_venue"))


def matches(head: bytes) -> bool:
    record = first_record(head)
    if (text(record.get("id")).rpartition("/")[2])[:1] not in ("W", "w"):
        return False
    return bool(record.keys() & _MARKERS) or (_is_url(record.get("id")) and not record.keys() & {"authors", "abstract"})


def read(source: Source) -> Iterator[Paper | Problem]:
    for line, record in records(source):
        if isinstance(record, Problem):
            yield record
            continue
        paper = _paper(record)
        if not any(each.startswith("openalex:") for each in paper.ids):
            yield Problem("not an OpenAlex work: its id is not a W number", line)
        else:
            yield paper


def _is_url(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("https://openalex.org/", "http://openalex.org/"))


def _paper(record: Json) -> Paper:
    location = mapping(record.get("primary_location"))
    host = mapping(location.get("source")) or mapping(record.get("host_venue"))
    published = date(record.get("publication_date"))
    return Paper(
        title=untagged(record.get("title") or record.get("display_name")),
        abstract=_abstract(record.get("abstract_inverted_index")),
        authors=[author for each in sequence(record.get("authorships")) if any(author := _author(mapping(each)))],
        year=year(record.get("publication_year")) or year(published),
        date=published,
        venue=text(host.get("display_name")),
        ids=_ids(record),
        keywords=unique([*_labels(record.get("keywords")), *_labels(record.get("concepts"))]),
        references=[Reference([cited]) for each in sequence(record.get("referenced_works")) if (cited := _number(each))],
        extra=_extra(record, location, host),
    )


def _number(value: object) -> str | None:
    return canonical("openalex", text(value))


def _ids(record: Json) -> list[str]:
    ids = [_number(record.get("id")), canonical("doi", text(record.get("doi")))]
    for scheme, value in mapping(record.get("ids")).items():
        identifier = text(value)
        ids.append(recognise(identifier) or canonical(scheme, identifier))
    return unique(each or "" for each in ids)


def _author(authorship: Json) -> Name:
    return parse(text(mapping(authorship.get("author")).get("display_name")) or text(authorship.get("raw_author_name")))


def _labels(value: object) -> Iterator[str]:
    """Names of keywords and concepts; a concept with score 0 is only an ancestor of a relevant one."""
    for each in sequence(value):
        if isinstance(each, str) or mapping(each).get("score") != 0:
            yield text(each) or text(mapping(each).get("display_name")) or text(mapping(each).get("keyword"))


def _abstract(value: object) -> str:
    index = mapping(value)
    index = mapping(index.get("InvertedIndex")) or index
    words = [(at, word) for word, positions in index.items() for at in sequence(positions) if isinstance(at, int)]
    return untagged(" ".join(word for _, word in sorted(words)))


def _extra(record: Json, location: Json, host: Json) -> dict[str, str]:
    biblio = mapping(record.get("biblio"))
    first, last = text(biblio.get("first_page")), text(biblio.get("last_page"))
    extra = {
        "type": text(record.get("type")),
        "volume": text(biblio.get("volume")),
        "issue": text(biblio.get("issue")),
        "pages": f"{first}-{last}" if first and last and first != last else first or last,
        "publisher": text(host.get("host_organization_name") or host.get("publisher")),
        "issn": text(host.get("issn_l")),
        "url": text(location.get("landing_page_url")),
        "language": text(record.get("language")),
        "retracted": "yes" if record.get("is_retracted") is True else "",
    }
    return {key: value for key, value in extra.items() if value}
