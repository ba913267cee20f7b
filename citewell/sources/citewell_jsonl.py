"""citewell's own JSON lines: the papers and contexts of a data set, and what `citewell export` writes.

Each line says by its fields what it is. Ids follow one rule everywhere: an identifier of a known scheme becomes canonical, any
other belongs to the namespace of the source. This is the reader of large sets, so a line of the usual shape takes a short way.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec

from citewell.identifiers import canonical, recognise
from citewell.papers import Context, Paper, Problem, Reference, Sentence
from citewell.sources import openalex
from citewell.sources.clean import Json, date, lines, mapping, names, sequence, strings, text, unique, year
from citewell.sources.json_records import decode, first_record
from citewell.sources.source import Source

NAME = "citewell JSONL"
PRIORITY = 50

_SCHEMES = ("doi", "arxiv", "pmid", "pmcid", "acl", "openalex", "s2", "corpus", "mag", "dblp")
_USUAL = frozenset(("id", "title", "abstract", "authors", "year", "venue", "references", "doi", "keywords", "sentences"))
_KNOWN = _USUAL | {"ids", "date", "extra", *_SCHEMES}
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
"""From an id as a line writes it to the canonical one."""


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
            # Only an escape can put into a string what a database cannot store.
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
            found = _context(record, naming)
            if found is not None:
                yield found if isinstance(found, Context) else Problem(found, number)
        else:
            paper = _paper(record, naming, safe)
            yield paper if paper.title or paper.ids else Problem("neither a title nor an id", number)


def naming_of(namespace: str) -> Naming:
    """The naming of one source: a data set, or a lone file."""

    @lru_cache(maxsize=1 << 16)
    def naming(written: str) -> str:
        return recognise(written) or f"{namespace}:{text(written)}"

    return naming


def _paper(record: Json, naming: Naming, safe: bool) -> Paper:
    get = record.get
    title, abstract, venue, own = get("title", ""), get("abstract", ""), get("venue", ""), get("id", "")
    if not (safe and type(title) is type(abstract) is type(venue) is type(own) is str):
        title, venue, own = lines(title), lines(venue), text(own)
        abstract = lines("\n".join(strings(abstract)) if isinstance(abstract, list) else abstract)
    authors = get("authors") or []
    if not (safe and type(authors) is list and set(map(type, authors)) <= _TEXTS and "" not in authors):
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
    """Take the fields that few lines have, and keep those that nobody knows."""
    if given := _given_ids(record.get("ids"), naming):
        # The line's own id stays among them: other lines cite the paper by it.
        paper.ids = unique(given + paper.ids)
    for scheme in _SCHEMES:
        if value := record.get(scheme):
            _add(paper.ids, canonical(scheme, text(value)))
    paper.date = date(record.get("date"))
    paper.year = paper.year or year(paper.date)
    unknown = {key: value for key, value in record.items() if key not in _KNOWN}
    for key, value in (unknown | mapping(record.get("extra"))).items():
        kept = "; ".join(strings(value)) if isinstance(value, list) else lines(value)
        if kept and (name := text(key)):
            paper.extra[name] = kept


def _add(ids: list[str], found: str | None) -> None:
    if found and found not in ids:
        ids.append(found)


def _given_ids(value: object, naming: Naming) -> list[str]:
    """Ids that are said to be canonical: one with a scheme stays in it, even where we do not know that scheme."""
    return [(recognise(each) or each) if ":" in each else naming(each) for each in strings(value)]


def _sentence(value: object) -> Sentence:
    """One sentence; an empty one stays, since others refer to sentences by number."""
    if isinstance(value, dict):
        return Sentence(lines(value.get("text")), lines(value.get("section")))
    return Sentence(lines(value))


def _references(value: object, naming: Naming) -> list[Reference]:
    values = value if isinstance(value, list) else [value]
    return [found for each in values if (found := _reference(each, naming))]


def _reference(value: object, naming: Naming) -> Reference | None:
    if type(value) is str and value:
        return Reference([naming(value)])
    if not isinstance(value, dict):
        return Reference([naming(written)]) if (written := text(value)) else None
    ids = _given_ids(value.get("ids"), naming)
    if own := text(value.get("id")):
        ids.append(naming(own))
    ids += [found for scheme in _SCHEMES if scheme in value and (found := canonical(scheme, text(value[scheme])))]
    reference = Reference(unique(ids), lines(value.get("title")), year(value.get("year")), names(value.get("authors")))
    return reference if reference.ids or reference.title else None


def _context(record: Json, naming: Naming) -> Context | str | None:
    """The context on a line, or what is wrong with it; None for the other records of a data set."""
    if not record.keys() >= _CONTEXT or "topic_sentence" in record or "question" in record:
        return None
    given = _given_ids(record.get("citing_ids"), naming)
    citing = text(record["citing"])
    context = Context(
        lines(record["text"]),
        _references(record["cited"], naming),
        given[0] if given else naming(citing) if citing else "",
        lines(record.get("section")),
        text(record.get("id")),
    )
    if not (context.text and context.citing and context.cited):
        return "a context needs a text, a citing paper and a cited one"
    return context
