"""``CITATION.cff``: how a program or a data set wants to be cited, in YAML.

The file describes the program itself, often an article to cite in its place (``preferred-citation``), and the works that it
uses (``references``). Each becomes a paper, and the works become references of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem, Reference
from citewell.sources.clean import Json, date, day, mapping, sequence, strings, text, unique, untagged, year
from citewell.sources.first_line import Kind, kind
from citewell.sources.plain_text import chunks
from citewell.sources.source import InputError, Source
from citewell.text.names import literal, person

NAME = "CITATION.cff"
PRIORITY = 35

_MAX_LENGTH = 500_000
_LINE_KEY = " line"
"""The key under which an object keeps its line; no key in YAML begins with a space."""
_EXTRA = {
    "volume": "volume",
    "issue": "issue",
    "pages": "pages",
    "publisher": "publisher",
    "isbn": "isbn",
    "issn": "issn",
    "edition": "edition",
    "version": "version",
    "license": "license",
    "repository-code": "repository",
    "repository": "repository",
    "url": "url",
    "notes": "note",
    "thesis-type": "genre",
    "number": "number",
}
_VENUES = ("journal", "collection-title", "conference", "publisher", "institution", "repository")
_NAME_PARTS = ("given-names", "family-names", "name-suffix", "name-particle")


def matches(head: bytes) -> bool:
    return kind(head) is Kind.CFF


def read(source: Source) -> Iterator[Paper | Problem]:
    whole = _load(_content(source))
    if not isinstance(whole, dict):
        raise InputError(
            "not a mapping of fields such as title and authors; check it at https://citation-file-format.github.io"
        )
    listed = sequence(whole.get("references"))
    cited = [paper for each in listed if (paper := _paper(mapping(each)))]
    program = _paper(whole, str(whole.get("type") or "software"))
    if program is not None:
        program.references = [Reference(paper.ids, paper.title, paper.year, [*map(str, paper.authors)]) for paper in cited]
    works = [(whole, program)]
    if "preferred-citation" in whole:
        works.append((mapping(whole["preferred-citation"]), _paper(mapping(whole["preferred-citation"]))))
    for record, paper in [*works, *((mapping(each), _paper(mapping(each))) for each in listed)]:
        yield paper or Problem("neither a title nor an identifier", record.get(_LINE_KEY, 1))


def _content(source: Source) -> str:
    parts: list[str] = []
    size = 0
    for chunk in chunks(source):
        size += len(chunk)
        if size > _MAX_LENGTH:
            raise InputError(f"longer than {_MAX_LENGTH:,} characters; a CITATION.cff is shorter")
        parts.append(chunk)
    return "".join(parts)


def _load(content: str) -> Any:
    """The content of a YAML file, with the line of each mapping. Aliases are refused: a few can expand to gigabytes."""
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases are not supported")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            return {**super().construct_mapping(node, deep=True), _LINE_KEY: node.start_mark.line + 1}

    # Dates and numbers stay text: 2020-05-17 and the version 1.10 mean what they say.
    Plain.yaml_implicit_resolvers = {}
    try:
        return yaml.load(content, Plain)
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"not valid YAML{line}: {text(str(error.problem or error))[:200]}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"not valid YAML: {text(str(error))[:200]}") from None


def _paper(record: Json, kind_of_work: str = "") -> Paper | None:
    ids = _ids(record)
    title = untagged(record.get("title"))
    if not title and not ids:
        return None
    published = date(record.get("date-released")) or date(record.get("date-published"))
    published = published or day(record.get("year"), record.get("month"))
    venue = next((venue for field in _VENUES if (venue := _named(record.get(field)))), "")
    extra = {name: _named(record.get(field)) for field, name in _EXTRA.items()}
    first, last = text(record.get("start")), text(record.get("end"))
    extra["pages"] = "-".join(filter(None, (first, last))) or extra["pages"]
    extra["type"] = kind_of_work or text(record.get("type"))
    return Paper(
        title=title,
        abstract=untagged(record.get("abstract")),
        authors=_people(record.get("authors")),
        year=year(published) or year(record.get("year")),
        date=published if len(published) > 4 else "",
        venue="" if kind_of_work else venue,
        ids=ids,
        keywords=strings(record.get("keywords")),
        extra={name: value for name, value in extra.items() if value},
        people={"editor": editors} if (editors := _people(record.get("editors"))) else {},
    )


def _named(value: object) -> str:
    """A text, or the name of a person or an organisation."""
    return text(value.get("name")) if isinstance(value, dict) else text(value)


def _people(value: object) -> list[Name]:
    people = []
    for each in map(mapping, sequence(value)):
        given, family, suffix, particle = (text(each.get(part)) for part in _NAME_PARTS)
        organisation = text(each.get("name")) or ("" if family or given else text(each.get("alias")))
        people.append(
            literal(organisation) if organisation else person(family or given, given if family else "", suffix, particle)
        )
    return [name for name in people if any(name)]


def _ids(record: Json) -> list[str]:
    ids = [canonical("doi", text(record.get("doi"))), canonical("pmcid", text(record.get("pmcid")))]
    for each in map(mapping, sequence(record.get("identifiers"))):
        scheme, value = text(each.get("type")), text(each.get("value"))
        ids.append(canonical("doi", value) if scheme == "doi" else recognise(value))
    ids += [recognise(text(record.get(field))) for field in ("url", "repository-artifact")]
    return unique(each or "" for each in ids)
