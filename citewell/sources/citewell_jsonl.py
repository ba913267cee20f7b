"""citewell's own JSON lines: the papers and contexts of a data set, and what `citewell export` writes.

The fields of a line tell what it is. One rule holds for all ids: an identifier of a known scheme becomes canonical, any other
belongs to the namespace of the source. This reader handles large sets, so lines of the usual shape take a fast path.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec

from citewell.identifiers import canonical, recognise
from citewell.papers import Context, Paper, Problem, Reference, Sentence
from citewell.sources import openalex
from citewell.sources.clean import Json, date, lines, mapping, sequence, strings, text, unique, year
from citewell.sources.json_names import names, readable_names
from citewell.sources.json_records import decode, first_record
from citewell.sources.source import Source
from citewell.text.names import parse_all, take_people

NAME = "citewell JSONL"
PRIORITY = 50

_SCHEMES = ("doi", "arxiv", "pmid", "pmcid", "acl", "openalex", "s2", "corpus", "mag", "dblp")
_USUAL = frozenset(("id", "title", "abstract", "authors", "year", "venue", "references", "doi", "keywords", "sentences"))
_KNOWN = _USUAL | {"ids", "date", "extra", "people", *_SCHEMES}
_OURS = frozenset(("authors", "year", "venue", "references", "sentences", "ids"))
_FOREIGN = frozenset(
    {"author", "issued", "container-title", "authorships", "referenced_works", "abstract_inverted_index", "paperId", "paper_id"}
    | {"corpusid", "paperAbstract", "outCitations", "inCitations", "externalIds", "authors_parsed", "versions", "update_date"}
    | {"publication_year", "publication_date", "display_name", "DOI", "PMID", "PMCID", "URL", "ISBN", "ISSN", "citation-key"}
)
_CONTEXT = frozenset(("citing", "cited", "text"))
_EVIDENCE = frozenset(("question", "documents"))
_TEXTS = {str}

Naming = Callable[[str], str]
"""From an id in a line to the canonical one."""


def matches(head: bytes) -> bool:
    keys = first_record(head).keys()
    if keys >= {"citing", "cited"} or keys >= _EVIDENCE:
        return True
    ours = bool(keys & _OURS) or "type" not in keys
    named = "title" in keys and bool(keys & {"id", "ids", "doi"})
    return named and ours and not keys & _FOREIGN and not openalex.matches(head)


def read(source: Source) -> Iterator[Paper | Context | Problem]:
    naming = naming_of(source.namespace)
    strict = msgspec.json.Decoder().decode
    for number, line in source.lines():
        if isinstance(line, Problem):
            yield line
            continue
        try:
            record = strict(line)
            # Only an escape can put characters into a string that a database cannot store.
            safe = b"\\u" not in line
        except (ValueError, RecursionError):
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not line or line.isspace():
                continue
            try:
                record, safe = decode(line), False
            except ValueError as error:
                yield Problem(str(error), number)
                continue
        if type(record) is not dict:
            yield Problem("not a JSON object", number)
        elif "title" not in record and ("citing" in record or "question" in record):
            context = _context(record, naming)
            if context is not None:
                yield context if isinstance(context, Context) else Problem(context, number)
        else:
            paper = _paper(record, naming, safe)
            yield paper if paper.title or paper.ids else Problem("neither a title nor an id", number)


def naming_of(namespace: str) -> Naming:
    """The naming of one source: a data set or a single file."""

    @lru_cache(maxsize=1 << 16)
    def naming(identifier: str) -> str:
        return recognise(identifier) or f"{namespace}:{text(identifier)}"

    return naming


def _paper(record: Json, naming: Naming, safe: bool) -> Paper:
    get = record.get
    title, abstract, venue, own = get("title", ""), get("abstract", ""), get("venue", ""), get("id", "")
    if not (safe and type(title) is type(abstract) is type(venue) is type(own) is str):
        title, venue, own = lines(title), lines(venue), text(own)
        abstract = lines("\n".join(strings(abstract)) if isinstance(abstract, list) else abstract)
    authors = get("authors") or []
    if safe and type(authors) is list and set(map(type, authors)) <= _TEXTS and "" not in authors:
        authors = parse_all(authors)
    else:
        authors = names(authors)
    published = get("year")
    paper = Paper(title, abstract, authors, None, "", venue, [naming(own)] if own else [], own)
    paper.year = published if type(published) is int and 1000 <= published <= 2100 else year(published)
    if doi := get("doi"):
        _add(paper.ids, canonical("doi", text(doi)))
    if keywords := get("keywords"):
        paper.keywords = strings(keywords)
    if references := get("references"):
        paper.references = _references(references, naming)
    if sentences := get("sentences"):
        paper.sentences = [_sentence(each) for each in sequence(sentences)]
    if not _USUAL.issuperset(record):
        _add_unusual(paper, record, naming)
    return paper


def _add_unusual(paper: Paper, record: Json, naming: Naming) -> None:
    """Read the fields that few lines have, and put unknown ones into `Paper.extra`."""
    if listed := _listed_ids(record.get("ids"), naming):
        # The id of the line stays among them because other lines cite the paper by it.
        paper.ids = unique(listed + paper.ids)
    for scheme in _SCHEMES:
        if value := record.get(scheme):
            _add(paper.ids, canonical(scheme, text(value)))
    paper.date = date(record.get("date"))
    paper.year = paper.year or year(paper.date)
    unknown = {key: value for key, value in record.items() if key not in _KNOWN}
    for key, value in (unknown | mapping(record.get("extra"))).items():
        content = "; ".join(strings(value)) if isinstance(value, list) else lines(value)
        if content and (name := text(key)):
            paper.extra[name] = content
    people = {text(role): names(listed) for role, listed in mapping(record.get("people")).items()}
    paper.people = take_people(paper.extra) | {role: listed for role, listed in people.items() if role and listed}


def _add(ids: list[str], identifier: str | None) -> None:
    if identifier and identifier not in ids:
        ids.append(identifier)


def _listed_ids(value: object, naming: Naming) -> list[str]:
    """Ids that should be canonical already: one with a scheme keeps it, even if the scheme is unknown."""
    return [(recognise(each) or each) if ":" in each else naming(each) for each in strings(value)]


def _sentence(value: object) -> Sentence:
    """One sentence; an empty one stays because other records refer to sentences by number."""
    if isinstance(value, dict):
        paragraph = value.get("paragraph")
        number = paragraph if type(paragraph) is int and 0 < paragraph < 1 << 31 else 0
        return Sentence(lines(value.get("text")), lines(value.get("section")), number)
    return Sentence(lines(value))


def _references(value: object, naming: Naming) -> list[Reference]:
    values = value if isinstance(value, list) else [value]
    return [reference for each in values if (reference := _reference(each, naming))]


def _reference(value: object, naming: Naming) -> Reference | None:
    if type(value) is str and value:
        return Reference([naming(value)])
    if not isinstance(value, dict):
        return Reference([naming(identifier)]) if (identifier := text(value)) else None
    ids = _listed_ids(value.get("ids"), naming)
    if own := text(value.get("id")):
        ids.append(naming(own))
    ids += [known for scheme in _SCHEMES if scheme in value and (known := canonical(scheme, text(value[scheme])))]
    reference = Reference(unique(ids), lines(value.get("title")), year(value.get("year")), readable_names(value.get("authors")))
    return reference if reference.ids or reference.title else None


def _context(record: Json, naming: Naming) -> Context | str | None:
    """The context on a line, or the reason why it is invalid; None for the other records of a data set."""
    if not record.keys() >= _CONTEXT or "topic_sentence" in record or "question" in record:
        return None
    citing_ids = _listed_ids(record.get("citing_ids"), naming)
    citing = text(record["citing"])
    context = Context(
        lines(record["text"]),
        _references(record["cited"], naming),
        citing_ids[0] if citing_ids else naming(citing) if citing else "",
        lines(record.get("section")),
        text(record.get("id")),
    )
    if not (context.text and context.citing and context.cited):
        return "a context needs a text, a citing paper and a cited paper"
    return context
