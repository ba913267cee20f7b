"""Full text in S2ORC: paragraphs, their citation spans, and the bibliography that the spans refer to.

There are two formats. Releases up to 2020 have a list of paragraphs, each with its own citation spans; later ones have one long
text with annotations of every kind, as lists of spans encoded in strings.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from citewell.identifiers import canonical
from citewell.papers import Name, Paper, Reference, Sentence
from citewell.sources.clean import Json, mapping, sequence, strings, text, unique, year
from citewell.sources.json_names import names, readable_names
from citewell.sources.json_records import decode
from citewell.text.citation_contexts import CitationSpan, citation_contexts, mask_citations
from citewell.text.names import person
from citewell.text.sentences import split_sentences

_PARSES = ("pdf_parse", "latex_parse", "grobid_parse")
_BETWEEN_ADJACENT = re.compile(r"[\s,;&()\[\]–—-]{0,5}|\s*and\s*")
_MAX_HEADER = 300
_OTHER_IDS = {"doi": "doi", "arxiv": "arxiv", "pmid": "pmid", "pmcid": "pmcid"}


class Paragraph(NamedTuple):
    """A paragraph with its citation spans."""

    text: str
    spans: list[tuple[int, int, str]]
    """Start, end, and the key of the cited work in the bibliography; the key is empty if unknown."""
    section: str = ""


def is_full_text(record: Json) -> bool:
    """Whether `record`, with keys in lower case, contains full text."""
    return any(isinstance(record.get(key), dict) for key in ("content", "body", *_PARSES)) or "body_text" in record


def add_full_text(paper: Paper, record: Json) -> None:
    """Add the sentences, references and contexts of `record` to `paper`, and metadata that it lacks."""
    if isinstance(content := record.get("content"), dict):
        body = bibliography = _annotated(content)
    elif isinstance(record.get("body"), dict):
        body, bibliography = _annotated(mapping(record.get("body"))), _annotated(mapping(record.get("bibliography")))
    else:
        _add_parse(paper, record)
        return
    paper.title = paper.title or text(" ".join(body.texts("title")))
    paper.abstract = paper.abstract or text(" ".join(body.texts("abstract")))
    paper.authors = paper.authors or body.people("author", 0, len(body.text))
    paper.venue = paper.venue or text(" ".join(body.texts("venue")))
    _add_paragraphs(paper, _annotated_paragraphs(body), _annotated_entries(bibliography))


def _add_parse(paper: Paper, record: Json) -> None:
    parse = next((each for key in _PARSES if isinstance(each := record.get(key), dict)), record)
    metadata = mapping(record.get("metadata"))
    paper.title = paper.title or text(metadata.get("title"))
    paper.authors = paper.authors or names(metadata.get("authors"))
    paper.year = paper.year or year(metadata.get("year"))
    abstract = [_parsed_paragraph(each) for each in sequence(parse.get("abstract"))]
    paper.abstract = paper.abstract or text(" ".join(each.text for each in abstract))
    body = map(_parsed_paragraph, sequence(parse.get("body_text")))
    _add_paragraphs(paper, body, {key: _parsed_entry(value) for key, value in mapping(parse.get("bib_entries")).items()})


def _parsed_paragraph(value: object) -> Paragraph:
    record = mapping(value)
    content = raw if isinstance(raw := record.get("text"), str) else ""
    spans = _spans(record.get("cite_spans"), len(content))
    return Paragraph(
        content, [(start, end, text(each.get("ref_id"))) for start, end, each in spans], text(record.get("section"))
    )


def _parsed_entry(value: object) -> Reference:
    record = mapping(value)
    ids = [canonical("corpus", text(record.get("link")))]
    for name, values in mapping(record.get("other_ids")).items():
        scheme = _OTHER_IDS.get(name.lower())
        ids += [canonical(scheme, each) for each in strings(values)] if scheme else []
    known = unique(each or "" for each in ids)
    return Reference(known, text(record.get("title")), year(record.get("year")), readable_names(record.get("authors")))


def _add_paragraphs(paper: Paper, paragraphs: Iterable[Paragraph], entries: dict[str, Reference]) -> None:
    known = {key: each for key, each in entries.items() if each.ids or each.title}
    paper.references += known.values()
    marks = 0
    for position, paragraph in enumerate(paragraphs, 1):
        spans = _merged(paragraph, known)
        section = paragraph.section
        sentences = split_sentences(text(mask_citations(paragraph.text, spans)))
        paper.sentences += [Sentence(each, section, position) for each in sentences]
        for context in citation_contexts(paragraph.text, spans, section, marks):
            if context.cited:
                context.text = text(context.text)
                paper.contexts.append(context)
        marks += len(spans)


def _merged(paragraph: Paragraph, entries: dict[str, Reference]) -> list[CitationSpan]:
    """The citation spans; those with only punctuation between them become one span with several works."""
    merged: list[tuple[int, int, dict[str, None]]] = []
    for start, end, key in paragraph.spans:
        if merged and _BETWEEN_ADJACENT.fullmatch(paragraph.text, merged[-1][1], start):
            first, _, keys = merged.pop()
            keys[key] = None
            merged.append((first, end, keys))
        else:
            merged.append((start, end, {key: None}))
    return [(start, end, [entries[key] for key in keys if key in entries]) for start, end, keys in merged]


def _spans(value: object, length: int) -> list[tuple[int, int, Json]]:
    """The spans in a list that fit into a text of `length` and do not overlap, in order."""
    valid = []
    for each in sequence(value):
        record = mapping(each)
        start, end = _offset(record.get("start")), _offset(record.get("end"))
        if 0 <= start < end <= length:
            valid.append((start, end, record))
    valid.sort(key=lambda span: span[:2])
    spans: list[tuple[int, int, Json]] = []
    for span in valid:
        if not spans or span[0] >= spans[-1][1]:
            spans.append(span)
    return spans


def _offset(value: object) -> int:
    if type(value) is int:
        return value
    digits = text(value)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else -1


class _Annotated(NamedTuple):
    """A text and its annotations by kind; annotations of one kind do not overlap."""

    text: str
    kinds: dict[str, list[tuple[int, int, Json]]]

    def spans(self, kind: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, Json]]:
        """The annotations of `kind` between two offsets."""
        all_spans = self.kinds.get(kind, [])
        for at in range(bisect_left(all_spans, start, key=lambda span: span[0]), len(all_spans)):
            if end is not None and all_spans[at][1] > end:
                return
            yield all_spans[at]

    def texts(self, kind: str, start: int = 0, end: int | None = None) -> Iterator[str]:
        for span in self.spans(kind, start, end):
            yield text(self.text[span[0] : span[1]])

    def people(self, kind: str, start: int, end: int) -> list[Name]:
        """The names of the authors annotated as `kind`, from the annotated parts inside each."""
        people = []
        for here, until, _ in self.spans(kind, start, end):
            given, family = (" ".join(self.texts(f"{kind}{part}", here, until)) for part in ("firstname", "lastname"))
            people.append(person(family, given))
        return [each for each in people if any(each)]


def _annotated(value: Json) -> _Annotated:
    content = raw if isinstance(raw := value.get("text"), str) else ""
    kinds = {}
    for kind, packed in mapping(value.get("annotations")).items():
        try:
            spans = decode(packed.encode("utf-8", "surrogatepass")) if isinstance(packed, str) else packed
        except ValueError:
            continue
        kinds[kind.lower().replace("_", "")] = _spans(spans, len(content))
    return _Annotated(content, kinds)


def _annotated_paragraphs(body: _Annotated) -> Iterator[Paragraph]:
    headers = list(body.spans("sectionheader"))
    for start, end, _ in body.spans("paragraph"):
        before = bisect_left(headers, start, key=lambda span: span[0]) - 1
        section = text(body.text[headers[before][0] : headers[before][1]][:_MAX_HEADER]) if before >= 0 else ""
        spans = [
            (here - start, until - start, text(mapping(span.get("attributes")).get("ref_id")))
            for here, until, span in body.spans("bibref", start, end)
        ]
        yield Paragraph(body.text[start:end], spans, section)


def _annotated_entries(bibliography: _Annotated) -> dict[str, Reference]:
    entries = {}
    for number, (start, end, entry) in enumerate(bibliography.spans("bibentry")):
        attributes = mapping(entry.get("attributes"))
        corpus = canonical("corpus", text(attributes.get("matched_paper_id")))
        entries[text(attributes.get("id")) or f"entry {number}"] = Reference(
            [corpus] if corpus else [],
            next(bibliography.texts("bibtitle", start, end), ""),
            year(bibliography.text[start:end][-300:]),
            [*map(str, bibliography.people("bibauthor", start, end))],
        )
    return entries
