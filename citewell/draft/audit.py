"""An audit of a draft: what it states without a citation, and where its citations, its bibliography and the library disagree.

A draft and a library go in, findings come out, by kind and then by place; nothing is printed or changed. What is told of a
sentence is a guess (`citewell.models.claims`), what is told of keys and entries is not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from citewell.draft.queries import abstract_or_opening, is_uncited_section
from citewell.draft.resolve import resolve_keys
from citewell.library.library import Library
from citewell.library.store.identity import paper_keys, same_years, title_key
from citewell.models.claims import Claims, SentenceBlock, scorable
from citewell.papers import OTHER_MARK, TARGET_MARK, Draft, Paper, Paragraph, Place, Query, Suggestion
from citewell.pipeline.pipeline import Pipeline
from citewell.text.names import families

LEVELS = ("note", "warning", "error")
KINDS = {
    "uncited-claim": "warning",
    "missing-key": "error",
    "duplicate-entry": "warning",
    "disagrees": "warning",
    "never-cited": "note",
}
"""Each kind of finding, and how bad it is."""
ABOUT = {
    "uncited-claim": "A sentence that calls for a citation has none",
    "missing-key": "A key is cited that no entry of the bibliography has",
    "duplicate-entry": "Two entries of the bibliography are one work",
    "disagrees": "An entry of the bibliography says otherwise than the library",
    "never-cited": "An entry of the bibliography is never cited",
}
_STOP = re.compile(r"\s*[.!?\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*\s*$")
_ENTRY = re.compile(r"^[ \t]*@(?!(?:comment|string|preamble)\b)\w+\s*[{(]\s*([^\s,{}()=]+)\s*,", re.MULTILINE | re.IGNORECASE)
_ALIASES = re.compile(r"[,{\s]ids\s*=\s*[{\"]([^{}\"]*)[}\"]", re.IGNORECASE)
"""Further names of an entry, in biblatex."""
_NEEDED = re.compile(r"[,{\s](?:crossref|xref|xdata|related|entryset)\s*=\s*[{\"]([^{}\"]*)[}\"]", re.IGNORECASE)
"""Entries that an entry takes something from."""
_NEAR = 0.8
"""So alike a key must be to one that is there, to be a slip."""
_HINTS = 20
"""Where more keys are missing it is no slip, and looking for each takes long."""
_WORD = re.compile(r"[^\W_]+")
_SAME_WORDS = 0.6
"""Titles of one work share so many of the words of the shorter."""
_PREPRINTS = (
    "doi:10.48550/",
    "doi:10.1101/",
    "doi:10.31219/",
    "doi:10.31234/",
    "doi:10.21203/",
    "doi:10.20944/",
    "doi:10.26434/",
)
"""DOIs of preprints: a work may have one beside that of its journal."""


@dataclass(slots=True)
class Finding:
    """One thing that a writer may want to mend."""

    kind: str
    """A key of `KINDS`."""
    message: str
    place: Place
    key: str = ""
    """Of the entry that it is about."""
    score: float | None = None
    """Of a sentence, how likely it calls for a citation."""
    context: str = ""
    """Of a sentence, the text round it; where the citation would stand is `TARGET_MARK`."""
    suggestions: list[Suggestion] = field(default_factory=list)

    @property
    def level(self) -> str:
        """How bad it is: one of `LEVELS`."""
        return KINDS[self.kind]


def audit(
    draft: Draft,
    library: Library | None = None,
    model: Claims | None = None,
    threshold: float | None = None,
    only: Collection[str] = (),
) -> list[Finding]:
    """All findings, or those of the kinds in `only`; entries are compared where there is a library, sentences where a model.

    `threshold` is the score from which on a sentence is told of; None: the model's sure one.
    """
    wanted = [kind for kind in KINDS if not only or kind in only]
    found: dict[str, list[Finding]] = {kind: [] for kind in wanted}
    if "uncited-claim" in found and model is not None:
        found["uncited-claim"] += _claims(draft, model, model.thresholds.high_precision if threshold is None else threshold)
    if "missing-key" in found:
        found["missing-key"] += _missing(draft)
    if "duplicate-entry" in found:
        found["duplicate-entry"] += _duplicates(draft)
    if "disagrees" in found and library is not None:
        found["disagrees"] += _disagreements(draft, library)
    if "never-cited" in found:
        found["never-cited"] += _never_cited(draft)
    return [finding for findings in found.values() for finding in findings]


def not_looked_at(draft: Draft) -> list[str]:
    """What of a draft could not be audited, and why."""
    notes = [f"{name} cannot be opened: what it says is not checked" for name in draft.missing]
    if not draft.bibliography and any(citation.keys for citation in draft.citations):
        notes.append("the draft has no bibliography that can be read: its keys are not checked")
    return notes


def suggest(findings: Sequence[Finding], draft: Draft, library: Library, pipeline: Pipeline, size: int = 3) -> None:
    """Give every sentence that calls for a citation the best papers; what the draft cites elsewhere may be among them."""
    known = sorted(set(resolve_keys(draft, library).values()))
    for finding in findings:
        if finding.kind == "uncited-claim":
            query = Query(
                "local", draft.title, abstract_or_opening(draft), finding.context, authors=list(draft.authors), known=known
            )
            finding.suggestions = list(pipeline.suggest(library, query, size))


def _claims(draft: Draft, model: Claims, threshold: float) -> Iterator[Finding]:
    passages = [SentenceBlock([each.text for each in paragraph.sentences], paragraph.section) for paragraph in draft.paragraphs]
    for paragraph, scores in zip(draft.paragraphs, model.scores(passages), strict=True):
        for at, (sentence, score) in enumerate(zip(paragraph.sentences, scores.tolist(), strict=True)):
            if (
                score >= threshold
                and not sentence.cited
                and scorable(sentence.text)
                and not is_uncited_section(paragraph.section)
            ):
                words = ", ".join(f"\u201c{term}\u201d" for term in model.top_terms(sentence.text, paragraph.section))
                message = f"this calls for a citation ({score:.2f}{f', for {words}' if words else ''})"
                yield Finding("uncited-claim", message, sentence.place, score=round(score, 4), context=_context(paragraph, at))


def _context(paragraph: Paragraph, at: int) -> str:
    """A sentence with its neighbours, its end marked as the place of the citation."""
    texts = [sentence.text.strip() for sentence in paragraph.sentences]
    text = texts[at]
    stop = _STOP.search(text)
    end = stop.start() if stop else len(text)
    marked = f"{text[:end]} {TARGET_MARK} {text[end:].strip()}"
    return " ".join([*texts[max(0, at - 1) : at], marked.strip(), *texts[at + 1 : at + 2]]).replace(f" {OTHER_MARK} .", ".")


def _missing(draft: Draft) -> Iterator[Finding]:
    if not draft.bibliography:
        return
    # An entry without a title is no work that we could suggest, and yet an entry; so is another name for one.
    there = {*draft.bibliography, *draft.entries, *_named_by(draft, _ALIASES)}
    seen: set[str] = set()
    for citation in draft.citations:
        for key in citation.keys:
            if key not in there and key not in seen:
                seen.add(key)
                hint = _hint(key, there) if len(seen) <= _HINTS else ""
                yield Finding("missing-key", f"no entry of the bibliography is called {key!r}{hint}", citation.place, key)


def _hint(key: str, there: Collection[str]) -> str:
    """The key that is there and may be meant."""
    names = {name.lower(): name for name in there}
    near = get_close_matches(key.lower(), names, 1, _NEAR)
    return f"; is it {names[near[0]]!r}?" if near else ""


def _never_cited(draft: Draft) -> Iterator[Finding]:
    cited = {key for citation in draft.citations for key in citation.keys} | set(draft.listed)
    if "*" in cited:
        return
    aliases, needed = _named_by(draft, _ALIASES), _named_by(draft, _NEEDED)
    cited |= {key for alias, entries in aliases.items() if alias in cited for key in entries}
    cited |= set(needed)  # a cited entry takes its proceedings from them, or an entry that is told of itself
    for key, entry in draft.bibliography.items():
        if key not in cited:
            yield Finding("never-cited", f"{key!r} ({_called(entry)}) is never cited", _place(draft, key), key)


def _named_by(draft: Draft, field: re.Pattern[str]) -> dict[str, list[str]]:
    """What the entries name in a field of BibTeX, and which entries do."""
    named: dict[str, list[str]] = {}
    for key, place in draft.entries.items():
        for found in field.finditer(draft.sources.get(place.file, ""), place.begin, place.end):
            for name in re.split(r"[\s,]+", found[1].strip()):
                named.setdefault(name, []).append(key)
    return named


def _duplicates(draft: Draft) -> Iterator[Finding]:
    """Each entry that has the key of one before it, or is the same work."""
    yield from _repeated_keys(draft)
    by_id: dict[str, str] = {}
    by_title: dict[int, list[str]] = {}
    for key, entry in draft.bibliography.items():
        ids = [name for name in paper_keys(entry) if not name.startswith("record:")]
        title = title_key(entry.title)
        same = next((name for name in ids if name in by_id), None)
        titled = [other for other in by_title.get(title, ()) if _alike(draft.bibliography[other], entry)] if title else []
        if same is not None:
            message = f"{key!r} is the same work as {by_id[same]!r}: both are {same}"
            yield Finding("duplicate-entry", message, _place(draft, key), key)
        elif titled:
            message = f"{key!r} has the same title as {titled[0]!r}: {_called(entry)}"
            yield Finding("duplicate-entry", message, _place(draft, key), key)
        for name in ids:
            by_id.setdefault(name, key)
        if title is not None:
            by_title.setdefault(title, []).append(key)


def _repeated_keys(draft: Draft) -> Iterator[Finding]:
    """Of entries with one key only the first is in the bibliography: the others are looked for in its files."""
    seen: set[str] = set()
    for file in dict.fromkeys(place.file for place in draft.entries.values()):
        text = draft.sources.get(file, "")
        for entry in _ENTRY.finditer(text):
            key = entry[1]
            if key in seen and key in draft.bibliography:
                place = Place(file, entry.start(), entry.end(), text.count("\n", 0, entry.start()) + 1)
                yield Finding("duplicate-entry", f"another entry is called {key!r} already", place, key)
            seen.add(key)


def _alike(one: Paper, other: Paper) -> bool:
    """Whether neither years nor authors speak against two works of one title being the same."""
    years = one.year is None or other.year is None or same_years([one.year], [other.year])
    return years and (not one.authors or not other.authors or not families(one.authors).isdisjoint(families(other.authors)))


def _disagreements(draft: Draft, library: Library) -> Iterator[Finding]:
    for key, entry in draft.bibliography.items():
        for message in _against(entry, library):
            yield Finding("disagrees", f"{key!r} {message}", _place(draft, key), key)


def _against(entry: Paper, library: Library) -> Iterator[str]:
    """What an entry says that the library's record of the same work does not."""
    number = library.store.identified(name for name in paper_keys(entry) if not name.startswith("record:"))
    known = library.store.papers([number]).get(number) if number is not None else _titled(entry, library)
    if known is None:
        return
    if number is not None and not _same_title(entry.title, known.title):
        name = next(iter(entry.ids), "its id")
        yield f"is called \u201c{entry.title}\u201d, but {name} is \u201c{known.title}\u201d in the library"
        return
    if entry.year is not None and known.year is not None and entry.year != known.year:
        yield f"is of {entry.year}, in the library of {known.year} ({known.id})"
    ours, theirs = _dois(entry), _dois(known)
    if ours and theirs and ours.isdisjoint(theirs):
        yield f"has {min(ours)}, in the library it has {min(theirs)}"


def _titled(entry: Paper, library: Library) -> Paper | None:
    """The library's work of this title and one of these authors; of several the one nearest in years."""
    if not entry.title or not entry.authors:
        return None
    found = library.store.papers(library.store.titled(entry.title)).values()
    theirs = [paper for paper in found if not families(paper.authors).isdisjoint(families(entry.authors))]
    return min(theirs, key=lambda paper: abs((paper.year or 0) - (entry.year or 0)), default=None)


def _dois(paper: Paper) -> set[str]:
    return {name for name in paper.ids if name.startswith("doi:") and not name.startswith(_PREPRINTS)}


def _same_title(one: str, other: str) -> bool:
    ours, theirs = (set(_WORD.findall(title.casefold())) for title in (one, other))
    shorter = min(len(ours), len(theirs))
    return not shorter or title_key(one) == title_key(other) or len(ours & theirs) >= _SAME_WORDS * shorter


def _place(draft: Draft, key: str) -> Place:
    return draft.entries.get(key, Place())


def _called(entry: Paper) -> str:
    return f"\u201c{entry.title}\u201d" if entry.title else "without a title"
