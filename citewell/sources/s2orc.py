"""Full text as S2ORC has it: paragraphs, the places in them that cite, and the bibliography those places point to.

There are two ways of writing it down. The releases up to 2020 hold a list of paragraphs, each with its own citation spans; the
later ones hold one long text with annotations of every kind, as lists of spans packed into strings.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from citewell.identifiers import canonical
from citewell.papers import Paper, Reference, Sentence
from citewell.sources.clean import Json, mapping, names, sequence, strings, text, unique, year
from citewell.sources.json_records import decode
from citewell.text.citation_contexts import CitationSpan, citation_contexts, mask_citations
from citewell.text.sentences import split_sentences

_PARSES = ("pdf_parse", "latex_parse", "grobid_parse")
_JOINED = re.compile(r"[\s,;&()\[\]–—-]{0,5}|\s*and\s*")
_LONGEST_HEADER = 300
_OTHER_IDS = {"doi": "doi", "arxiv": "arxiv", "pmid": "pmid", "pmcid": "pmcid"}


class Paragraph(NamedTuple):
    """A paragraph with what it cites, where."""

    text: str
    spans: list[tuple[int, int, str]]
    """Start, end and the bibliography's name of the cited work; empty where it is not known."""
    section: str = ""


def is_full_text(record: Json) -> bool:
    """Whether `record`, its keys in lower case, holds more than metadata."""
    return any(isinstance(record.get(key), dict) for key in ("content", "body", *_PARSES)) or "body_text" in record


def add_full_text(paper: Paper, record: Json) -> None:
    """Give `paper` the sentences, references and contexts of `record`, and what metadata it lacks."""
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
    parse = next((found for key in _PARSES if isinstance(found := record.get(key), dict)), record)
    metadata = mapping(record.get("metadata"))
    paper.title = paper.title or text(metadata.get("title"))
    paper.authors = paper.authors or names(metadata.get("authors"))
    paper.year = paper.year or year(metadata.get("year"))
    abstract = [_parsed_paragraph(each) for each in sequence(parse.get("abstract"))]
    paper.abstract = paper.abstract or text(" ".join(each.text for each in abstract))
    body = map(_parsed_paragraph, sequence(parse.get("body_text")))
    _add_paragraphs(paper, body, {key: _parsed_entry(value) for key, value in mapping(parse.get("bib_entries")).items()})


def _parsed_paragraph(value: object) -> Paragraph:
    given = mapping(value)
    written = found if isinstance(found := given.get("text"), str) else ""
    spans = _spans(given.get("cite_spans"), len(written))
    return Paragraph(
        written, [(start, end, text(each.get("ref_id"))) for start, end, each in spans], text(given.get("section"))
    )


def _parsed_entry(value: object) -> Reference:
    given = mapping(value)
    ids = [canonical("corpus", text(given.get("link")))]
    for name, written in mapping(given.get("other_ids")).items():
        scheme = _OTHER_IDS.get(name.lower())
        ids += [canonical(scheme, each) for each in strings(written)] if scheme else []
    found = unique(each or "" for each in ids)
    return Reference(found, text(given.get("title")), year(given.get("year")), names(given.get("authors")))


def _add_paragraphs(paper: Paper, paragraphs: Iterable[Paragraph], entries: dict[str, Reference]) -> None:
    known = {key: each for key, each in entries.items() if each.ids or each.title}
    paper.references += known.values()
    marks = 0
    for paragraph in paragraphs:
        spans = _joined(paragraph, known)
        section = paragraph.section
        paper.sentences += [Sentence(each, section) for each in split_sentences(text(mask_citations(paragraph.text, spans)))]
        for context in citation_contexts(paragraph.text, spans, section, marks):
            if context.cited:
                context.text = text(context.text)
                paper.contexts.append(context)
        marks += len(spans)


def _joined(paragraph: Paragraph, entries: dict[str, Reference]) -> list[CitationSpan]:
    """Citations with nothing but punctuation between them are one place that cites several works."""
    places: list[tuple[int, int, dict[str, None]]] = []
    for start, end, key in paragraph.spans:
        if places and _JOINED.fullmatch(paragraph.text, places[-1][1], start):
            first, _, keys = places.pop()
            keys[key] = None
            places.append((first, end, keys))
        else:
            places.append((start, end, {key: None}))
    return [(start, end, [entries[key] for key in keys if key in entries]) for start, end, keys in places]


def _spans(value: object, length: int) -> list[tuple[int, int, Json]]:
    """The spans in a list that fit into a text of `length` and do not overlap, in order."""
    found = []
    for each in sequence(value):
        given = mapping(each)
        start, end = _offset(given.get("start")), _offset(given.get("end"))
        if 0 <= start < end <= length:
            found.append((start, end, given))
    found.sort(key=lambda span: span[:2])
    kept: list[tuple[int, int, Json]] = []
    for span in found:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _offset(value: object) -> int:
    if type(value) is int:
        return value
    written = text(value)
    return int(written) if written.isascii() and written.isdigit() and len(written) < 12 else -1


class _Annotated(NamedTuple):
    """A text and its annotations by kind; those of a kind do not overlap."""

    text: str
    kinds: dict[str, list[tuple[int, int, Json]]]

    def spans(self, kind: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, Json]]:
        """The annotations of `kind` that lie between two places."""
        all_spans = self.kinds.get(kind, [])
        for at in range(bisect_left(all_spans, start, key=lambda span: span[0]), len(all_spans)):
            if end is not None and all_spans[at][1] > end:
                return
            yield all_spans[at]

    def texts(self, kind: str, start: int = 0, end: int | None = None) -> Iterator[str]:
        for span in self.spans(kind, start, end):
            yield text(self.text[span[0] : span[1]])

    def people(self, kind: str, start: int, end: int) -> list[str]:
        """The names of the authors marked as `kind`, from the parts that are marked inside each."""
        found = []
        for here, until, _ in self.spans(kind, start, end):
            parts = [*self.texts(f"{kind}firstname", here, until), *self.texts(f"{kind}lastname", here, until)]
            found.append(" ".join(parts))
        return [each for each in found if each]


def _annotated(value: Json) -> _Annotated:
    written = found if isinstance(found := value.get("text"), str) else ""
    kinds = {}
    for kind, packed in mapping(value.get("annotations")).items():
        try:
            spans = decode(packed.encode("utf-8", "surrogatepass")) if isinstance(packed, str) else packed
        except ValueError:
            continue
        kinds[kind.lower().replace("_", "")] = _spans(spans, len(written))
    return _Annotated(written, kinds)


def _annotated_paragraphs(body: _Annotated) -> Iterator[Paragraph]:
    headers = list(body.spans("sectionheader"))
    for start, end, _ in body.spans("paragraph"):
        before = bisect_left(headers, start, key=lambda span: span[0]) - 1
        section = text(body.text[headers[before][0] : headers[before][1]][:_LONGEST_HEADER]) if before >= 0 else ""
        spans = [
            (here - start, until - start, text(mapping(given.get("attributes")).get("ref_id")))
            for here, until, given in body.spans("bibref", start, end)
        ]
        yield Paragraph(body.text[start:end], spans, section)


def _annotated_entries(bibliography: _Annotated) -> dict[str, Reference]:
    entries = {}
    for number, (start, end, given) in enumerate(bibliography.spans("bibentry")):
        attributes = mapping(given.get("attributes"))
        corpus = canonical("corpus", text(attributes.get("matched_paper_id")))
        entries[text(attributes.get("id")) or f"entry {number}"] = Reference(
            [corpus] if corpus else [],
            next(bibliography.texts("bibtitle", start, end), ""),
            year(bibliography.text[start:end][-300:]),
            bibliography.people("bibauthor", start, end),
        )
    return entries
