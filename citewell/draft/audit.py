"""Audits a draft: uncited claims, and problems with its citation keys, its bibliography and their agreement with the library.

The findings come by kind, then by place; nothing is printed or changed. Whether a sentence needs a citation is a prediction
(`citewell.models.claims`); findings about keys and entries are facts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from citewell.draft.languages import draft_languages, paragraph_languages
from citewell.draft.queries import abstract_or_opening
from citewell.draft.sections import is_uncited
from citewell.identifiers import recognise
from citewell.library.library import Library
from citewell.library.store.identity import paper_keys, same_years, title_key
from citewell.models.claims import Claims, SentenceBlock, scorable
from citewell.papers import OTHER_MARK, TARGET_MARK, Draft, Paper, Paragraph, Place, Query, Suggestion
from citewell.text.author_terms import families
from citewell.text.languages import language_name
from citewell.text.stemming import ENGLISH

MODEL_LANGUAGE = ENGLISH
"""The language that the model of citation-worthiness is trained on; it does not judge others."""
LEVELS = ("note", "warning", "error")
KINDS = {
    "uncited-claim": "warning",
    "missing-key": "error",
    "duplicate-entry": "warning",
    "disagrees": "warning",
    "never-cited": "note",
}
"""Each kind of finding, and its level."""
DESCRIPTIONS = {
    "uncited-claim": "A sentence needs a citation and has none",
    "missing-key": "A cited key has no entry in the bibliography",
    "duplicate-entry": "Two entries of the bibliography describe the same work",
    "disagrees": "An entry of the bibliography disagrees with the library",
    "never-cited": "An entry of the bibliography is never cited",
}
_SENTENCE_END = re.compile(r"\s*[.!?\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*\s*$")
_ENTRY = re.compile(r"^[ \t]*@(?!(?:comment|string|preamble)\b)\w+\s*[{(]\s*([^\s,{}()=]+)\s*,", re.MULTILINE | re.IGNORECASE)
_ALIASES = re.compile(r"[,{\s]ids\s*=\s*[{\"]([^{}\"]*)[}\"]", re.IGNORECASE)
"""Other names of an entry, in biblatex."""
_CROSS_REFERENCES = re.compile(r"[,{\s](?:crossref|xref|xdata|related|entryset)\s*=\s*[{\"]([^{}\"]*)[}\"]", re.IGNORECASE)
"""Entries that an entry takes something from."""
_SIMILAR = 0.8
"""Minimum similarity between a missing key and an existing one to suggest a typing error."""
_MAX_HINTS = 20
"""With more missing keys these are not typing errors, and the comparison would take long."""
_WORD = re.compile(r"[^\W_]+")
_SAME_WORDS = 0.6
"""Two titles of one work share at least this part of the words of the shorter one."""
_PREPRINTS = (
    "doi:10.48550/",
    "doi:10.1101/",
    "doi:10.31219/",
    "doi:10.31234/",
    "doi:10.21203/",
    "doi:10.20944/",
    "doi:10.26434/",
)
"""DOIs of preprints: a work may have one in addition to that of its journal."""


@dataclass(slots=True)
class Finding:
    """One thing that the author may want to fix."""

    kind: str
    """A key of `KINDS`."""
    message: str
    place: Place
    key: str = ""
    """The key of the entry that the finding is about."""
    score: float | None = None
    """For a sentence, the probability that it needs a citation."""
    context: str = ""
    """For a sentence, the text around it; the place for the citation is `TARGET_MARK`."""
    suggestions: list[Suggestion] = field(default_factory=list)
    """For a sentence, papers that it could cite."""

    @property
    def level(self) -> str:
        """Its severity: one of `LEVELS`."""
        return KINDS[self.kind]


def audit(
    draft: Draft,
    library: Library | None = None,
    model: Claims | None = None,
    threshold: float | None = None,
    only: Collection[str] = (),
) -> list[Finding]:
    """All findings, or those of the kinds in `only`. Comparing entries needs a library, judging sentences needs a model.

    `threshold` is the minimum score of a sentence; None means the model's threshold of high precision.
    """
    findings: dict[str, list[Finding]] = {kind: [] for kind in KINDS if not only or kind in only}
    if "uncited-claim" in findings and model is not None:
        findings["uncited-claim"] += _claims(draft, model, model.thresholds.high_precision if threshold is None else threshold)
    if "missing-key" in findings:
        findings["missing-key"] += _missing(draft)
    if "duplicate-entry" in findings:
        findings["duplicate-entry"] += _duplicates(draft)
    if "disagrees" in findings and library is not None:
        findings["disagrees"] += _disagreements(draft, library)
    if "never-cited" in findings:
        findings["never-cited"] += _never_cited(draft)
    return [finding for of_kind in findings.values() for finding in of_kind]


def unchecked(draft: Draft, only: Collection[str] = ()) -> list[str]:
    """What of a draft could not be checked, and why, one line each; `only` as in `audit`."""
    notes = [*(f"{name} cannot be opened; its content is not checked" for name in draft.missing), *draft.notes]
    if not only or "uncited-claim" in only:
        others = {language_name(code): count for code, count in draft_languages(draft).items() if code != MODEL_LANGUAGE}
        notes += [
            f"{count} paragraph{'s' if count != 1 else ''} in {name}: sentences that need a citation are not looked for,"
            f" because the model knows only {language_name(MODEL_LANGUAGE)}"
            for name, count in others.items()
        ]
    if not draft.bibliography and draft.cited_keys:
        notes.append("the draft has no bibliography that citewell can read; citation keys are not checked")
    return notes


def judged_sentences(draft: Draft) -> int:
    """How many sentences of the running text are in a language that the model judges."""
    languages = paragraph_languages(draft)
    return sum(
        len(each.sentences) for each, language in zip(draft.paragraphs, languages, strict=True) if language == MODEL_LANGUAGE
    )


def claim_query(finding: Finding, draft: Draft, known: Sequence[str]) -> Query:
    """The query for papers to cite at an uncited claim; papers that the draft cites elsewhere may be suggested."""
    abstract = abstract_or_opening(draft)
    return Query("local", draft.title, abstract, finding.context, authors=list(draft.authors), known=list(known))


def _claims(draft: Draft, model: Claims, threshold: float) -> Iterator[Finding]:
    blocks = [SentenceBlock([each.text for each in paragraph.sentences], paragraph.section) for paragraph in draft.paragraphs]
    for paragraph, scores, language in zip(draft.paragraphs, model.scores(blocks), paragraph_languages(draft), strict=True):
        if language != MODEL_LANGUAGE or is_uncited(paragraph):
            continue
        for at, (sentence, score) in enumerate(zip(paragraph.sentences, scores.tolist(), strict=True)):
            if score >= threshold and not sentence.cited and scorable(sentence.text):
                terms = ", ".join(f"\u201c{term}\u201d" for term in model.top_terms(sentence.text, paragraph.section))
                message = f"this sentence needs a citation (score {score:.2f}{f', because of {terms}' if terms else ''})"
                yield Finding("uncited-claim", message, sentence.place, score=round(score, 4), context=_context(paragraph, at))


def _context(paragraph: Paragraph, at: int) -> str:
    """A sentence with its neighbours; the place for the citation is marked at its end."""
    texts = [sentence.text.strip() for sentence in paragraph.sentences]
    text = texts[at]
    stop = _SENTENCE_END.search(text)
    end = stop.start() if stop else len(text)
    marked = f"{text[:end]} {TARGET_MARK} {text[end:].strip()}"
    return " ".join([*texts[max(0, at - 1) : at], marked.strip(), *texts[at + 1 : at + 2]]).replace(f" {OTHER_MARK} .", ".")


def _missing(draft: Draft) -> Iterator[Finding]:
    if not draft.bibliography:
        return
    # Entries without a title and other names of an entry are not in the bibliography but can be cited.
    existing = {*draft.bibliography, *draft.entries, *_names_in_field(draft, _ALIASES)}
    seen: set[str] = set()
    for citation in draft.citations:
        for key in citation.keys:
            if key not in existing and key not in seen and not (recognise(key) or "").startswith("doi:"):  # MyST cites by DOI
                seen.add(key)
                hint = _hint(key, existing) if len(seen) <= _MAX_HINTS else ""
                yield Finding("missing-key", f"the bibliography has no entry {key!r}{hint}", citation.place, key)


def _hint(key: str, existing: Collection[str]) -> str:
    """The existing key that may be meant."""
    names = {name.lower(): name for name in existing}
    similar = get_close_matches(key.lower(), names, 1, _SIMILAR)
    return f"; did you mean {names[similar[0]]!r}?" if similar else ""


def _never_cited(draft: Draft) -> Iterator[Finding]:
    cited = {*draft.cited_keys, *draft.listed}
    if "*" in cited:
        return
    aliases = _names_in_field(draft, _ALIASES)
    cited |= {key for alias, entries in aliases.items() if alias in cited for key in entries}
    cited |= set(_names_in_field(draft, _CROSS_REFERENCES))  # proceedings, which entries refer to
    for key, entry in draft.bibliography.items():
        if key not in cited:
            yield Finding("never-cited", f"{key!r} ({_title(entry)}) is never cited", _place(draft, key), key)


def _names_in_field(draft: Draft, field: re.Pattern[str]) -> dict[str, list[str]]:
    """The names in a BibTeX field, each with the entries that have it."""
    names: dict[str, list[str]] = {}
    for key, place in draft.entries.items():
        for match in field.finditer(draft.sources.get(place.file, ""), place.begin, place.end):
            for name in re.split(r"[\s,]+", match[1].strip()):
                names.setdefault(name, []).append(key)
    return names


def _duplicates(draft: Draft) -> Iterator[Finding]:
    """Each entry that has the key of an earlier one, or describes the same work."""
    yield from _repeated_keys(draft)
    by_id: dict[str, str] = {}
    by_title: dict[int, list[str]] = {}
    for key, entry in draft.bibliography.items():
        ids = [name for name in paper_keys(entry) if not name.startswith("record:")]
        title = title_key(entry.title)
        same_id = next((name for name in ids if name in by_id), None)
        same_title = (
            [other for other in by_title.get(title, ()) if _may_be_same(draft.bibliography[other], entry)] if title else []
        )
        if same_id is not None:
            message = f"{key!r} is the same work as {by_id[same_id]!r}: both are {same_id}"
            yield Finding("duplicate-entry", message, _place(draft, key), key)
        elif same_title:
            message = f"{key!r} has the same title as {same_title[0]!r}: {_title(entry)}"
            yield Finding("duplicate-entry", message, _place(draft, key), key)
        for name in ids:
            by_id.setdefault(name, key)
        if title is not None:
            by_title.setdefault(title, []).append(key)


def _repeated_keys(draft: Draft) -> Iterator[Finding]:
    """Entries with the key of an earlier one, which are in the files but not in `Draft.bibliography`."""
    seen: set[str] = set()
    for file in dict.fromkeys(place.file for place in draft.entries.values()):
        text = draft.sources.get(file, "")
        for entry in _ENTRY.finditer(text):
            key = entry[1]
            if key in seen and key in draft.bibliography:
                place = Place(file, entry.start(), entry.end(), text.count("\n", 0, entry.start()) + 1)
                yield Finding("duplicate-entry", f"another entry already has the key {key!r}", place, key)
            seen.add(key)


def _may_be_same(one: Paper, other: Paper) -> bool:
    """Whether two works with one title have compatible years and authors."""
    years = one.year is None or other.year is None or same_years([one.year], [other.year])
    return years and (not one.authors or not other.authors or not families(one.authors).isdisjoint(families(other.authors)))


def _disagreements(draft: Draft, library: Library) -> Iterator[Finding]:
    for key, entry in draft.bibliography.items():
        for message in _differences(entry, library):
            yield Finding("disagrees", f"{key!r} {message}", _place(draft, key), key)


def _differences(entry: Paper, library: Library) -> Iterator[str]:
    """How an entry differs from the library's record of the same work."""
    number = library.store.identified(name for name in paper_keys(entry) if not name.startswith("record:"))
    known = library.store.papers([number]).get(number) if number is not None else _same_title_and_author(entry, library)
    if known is None:
        return
    if number is not None and not _similar_titles(entry.title, known.title):
        name = next(iter(entry.ids), "its id")
        yield f"has the title \u201c{entry.title}\u201d, but {name} is \u201c{known.title}\u201d in the library"
        return
    if entry.year is not None and known.year is not None and entry.year != known.year:
        yield f"has the year {entry.year}; the library has {known.year} ({known.id})"
    ours, theirs = _dois(entry), _dois(known)
    if ours and theirs and ours.isdisjoint(theirs):
        yield f"has {min(ours)}; the library has {min(theirs)}"


def _same_title_and_author(entry: Paper, library: Library) -> Paper | None:
    """The library's work with this title and one of these authors; of several the one with the nearest year."""
    if not entry.title or not entry.authors:
        return None
    candidates = library.store.papers(library.store.titled(entry.title)).values()
    theirs = [paper for paper in candidates if not families(paper.authors).isdisjoint(families(entry.authors))]
    return min(theirs, key=lambda paper: abs((paper.year or 0) - (entry.year or 0)), default=None)


def _dois(paper: Paper) -> set[str]:
    return {name for name in paper.ids if name.startswith("doi:") and not name.startswith(_PREPRINTS)}


def _similar_titles(one: str, other: str) -> bool:
    ours, theirs = (set(_WORD.findall(title.casefold())) for title in (one, other))
    shorter = min(len(ours), len(theirs))
    return not shorter or title_key(one) == title_key(other) or len(ours & theirs) >= _SAME_WORDS * shorter


def _place(draft: Draft, key: str) -> Place:
    return draft.entries.get(key, Place())


def _title(entry: Paper) -> str:
    return f"\u201c{entry.title}\u201d" if entry.title else "without a title"
