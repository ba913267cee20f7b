"""A manuscript: a draft together with a library.

It resolves the draft's citation keys to papers, suggests what to cite at its gaps, audits its citations, and makes the patches
that fill gaps and extend the bibliography. The command line, the HTTP API and Python code all use this class.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from citewell import draft as drafts
from citewell.draft import audit as auditing
from citewell.draft import bibliography, hayagriva
from citewell.draft.accept import Choice, enclosing_macro, with_citations
from citewell.draft.audit import Finding
from citewell.draft.entries import assign_keys, with_entries
from citewell.draft.files import DraftSource, decode, encoding_of, read_bytes
from citewell.draft.overview import Overview
from citewell.draft.patch import Accepted, Change, Patch
from citewell.draft.queries import DraftQuery, draft_queries
from citewell.draft.reports import Report
from citewell.draft.resolve import resolve_keys
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import Citation, Draft, Paper, Place, Verbatim
from citewell.pipeline.contract import Stage
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import DEFAULT, as_pipeline
from citewell.pipeline.results import Results
from citewell.progress import SILENT, Progress

_ACCEPT = re.compile(r"(\d+)(?:#(\d+)|=(.+))?", re.DOTALL)
_NO_GAP = "no gap; mark the places where a citation is missing with [?]"
_NOTHING_TO_SUGGEST = {
    "": "no title and no text; put the title on the first line, then an empty line and the text",
    "global": "no title and no text; put the title on the first line, then an empty line and the text",
    "local": _NO_GAP,
    "paragraph": "no paragraph without citations; use --task global for the whole draft or --task local for gaps",
}


class CiteAt(NamedTuple):
    """Papers to cite at a place of a draft."""

    place: Place
    ids: Sequence[str]


class PlacedResults(NamedTuple):
    """The suggestions for one place of a draft."""

    place: DraftQuery
    """The gap or the paragraph; `place.place` is None for the whole draft."""
    results: Results


class Manuscript:
    """A draft, the library it cites from, and the files they are in.

    ::

        manuscript = Manuscript("paper.tex", library)
        for place, results in manuscript.suggest(k=5):
            print(place, results)
        print(manuscript.check())
        patch = manuscript.accept("best")
        print(patch.diff())
        patch.write()
    """

    draft: Draft
    library: Library | None
    path: Path | None
    """The main file; None for text that was not read from a file."""
    bib: Path | None
    """The file that new bibliography entries go to."""

    def __init__(self, path: str | Path, library: Library | None = None, bib: str | Path | None = None) -> None:
        """Read the draft at `path`; `bib` is its bibliography, by default the first ``.bib`` file that the draft names."""
        self.path = Path(path)
        self.library = library
        self.draft = drafts.read(self.path)
        self.bib = Path(bib) if bib is not None else None
        if self.bib is None:
            named = next((name for name in self.draft.sources if name.lower().endswith(".bib")), None) or next(
                (name for name in self.draft.sources if name.lower().endswith(hayagriva.SUFFIXES)), None
            )
            self.bib = self.path.parent / named if named else None
        elif self.bib.exists():
            bibliography.add(self.draft, _relative_name(self.path, self.bib), decode(read_bytes(self.bib))[0])

    @classmethod
    def from_draft(cls, draft: Draft, library: Library | None = None) -> Manuscript:
        """A manuscript without files: the draft alone."""
        manuscript = cls.__new__(cls)
        manuscript.draft, manuscript.library, manuscript.path, manuscript.bib = draft, library, None, None
        return manuscript

    @classmethod
    def from_text(cls, text: str, library: Library | None = None, format: str = "", bib: str = "") -> Manuscript:
        """A manuscript from a text and the text of its bibliography; no file is opened, whatever the text names."""
        return cls.from_draft(drafts.parse(text, format, bib), library)

    @classmethod
    def from_bytes(cls, data: bytes, name: str, library: Library | None = None) -> Manuscript:
        """A manuscript from the content of a file called `name`, in any format; no other file is opened."""
        return cls.from_draft(drafts.read_source(DraftSource(data, name)), library)

    def __repr__(self) -> str:
        draft = self.draft
        name = str(self.path) if self.path is not None else repr(draft.title)
        known = f" ({len(self.known)} in the library)" if self.library is not None else ""
        counts = (_count(len(draft.paragraphs), "paragraph"), _count(len(draft.gaps), "gap"))
        return f"<Manuscript {name}: {draft.format}, {', '.join(counts)}, {_count(len(self.cited), 'cited work')}{known}>"

    @cached_property
    def overview(self) -> Overview:
        """What was read: title, abstract, languages, and the number of words, sentences, citations, gaps and entries."""
        return Overview.of(self.draft)

    # -- what the draft cites --------------------------------------------------------------------------------------------

    @cached_property
    def papers(self) -> dict[str, str]:
        """The id of the library's paper for each key that the draft cites or lists; keys that the library lacks are absent."""
        return resolve_keys(self.draft, self.library) if self.library is not None else {}

    @property
    def cited(self) -> dict[str, str | None]:
        """Each key that the draft cites, with the id of the library's paper; None where the library does not have it."""
        return {key: self.papers.get(key) for key in self.draft.cited_keys}

    @property
    def known(self) -> list[str]:
        """The ids of the library's papers that the draft cites."""
        return list(dict.fromkeys(paper for paper in self.cited.values() if paper is not None))

    @property
    def gaps(self) -> list[Citation]:
        """The places where a citation is missing, in reading order. Gap 1 is the first."""
        return self.draft.gaps

    @property
    def notes(self) -> list[str]:
        """What could not be read."""
        missing = [name for name in self.draft.missing if self.bib is None or self.bib.stem != Path(name).stem]
        names = ", ".join(missing)
        unread = [f"{self._name} refers to files that do not exist: {names}; their content is not used"] if missing else []
        return [*unread, *self.draft.notes]

    def file(self, place: Place) -> Path:
        """The file that a place is in."""
        main = self.path or Path()
        return main.parent / place.file if place.file else main

    # -- suggestions -----------------------------------------------------------------------------------------------------

    def queries(self, task: str | None = None, **filters: Any) -> list[DraftQuery]:
        """The queries of the draft: the whole, its gaps and its paragraphs without citations; `task` selects one kind.

        `filters` are fields of `Query`: since, before, venue, exclude, authors.
        """
        queries = draft_queries(self.draft, self.known, task)
        for each in queries:
            each.query = replace(each.query, **filters)
        return queries

    def suggest(
        self,
        pipeline: str | Pipeline | Stage = DEFAULT,
        k: int = 10,
        task: str | None = None,
        progress: Progress = SILENT,
        **filters: Any,
    ) -> list[PlacedResults]:
        """The suggestions for each place: the whole draft, each gap, each paragraph without citations."""
        library, queries = self._require_library(), self.queries(task, **filters)
        if not queries:
            raise CitewellError(f"{self._name} has {_NOTHING_TO_SUGGEST[task or '']}")
        ranker = as_pipeline(pipeline)
        results = []
        progress.start("suggesting", len(queries), "places")
        for each in queries:
            results.append(PlacedResults(each, ranker.suggest(library, each.query, k)))
            progress.advance()
        progress.finish()
        return results

    # -- audit -----------------------------------------------------------------------------------------------------------

    def audit(self, only: Collection[str] = (), threshold: float | None = None) -> list[Finding]:
        """What may need attention, of all kinds or of the kinds in `only` (see `citewell.draft.audit.KINDS`).

        `threshold` is the score from which a sentence is reported as an uncited claim; the default has 80% precision.
        """
        from citewell.models.claims import load

        library = self.library if self.library is not None and len(self.library) else None
        return auditing.audit(self.draft, library, load(), threshold, only)

    def check(
        self,
        only: Collection[str] = (),
        threshold: float | None = None,
        pipeline: str | Pipeline | Stage | None = "fast",
        k: int = 3,
    ) -> Report:
        """The audit as a report, with `k` suggested papers for each uncited claim; pipeline None leaves suggestions out."""
        findings = self.audit(only, threshold)
        notes = auditing.unchecked(self.draft, only)
        claims = [finding for finding in findings if finding.kind == "uncited-claim"]
        if pipeline is not None and claims and self.library is not None and len(self.library):
            ranker = as_pipeline(pipeline)
            for finding in claims:
                query = auditing.claim_query(finding, self.draft, sorted(set(self.papers.values())))
                results = ranker.suggest(self.library, query, k)
                finding.suggestions = list(results)
                notes += [note for note in results.notes if note not in notes]
        judged = auditing.judged_sentences(self.draft) if not only or "uncited-claim" in only else None
        return Report(str(self.path or ""), self.draft, findings, notes, judged)

    # -- patches ---------------------------------------------------------------------------------------------------------

    def accept(
        self,
        *choices: str | CiteAt,
        add: Sequence[str] = (),
        pipeline: str | Pipeline | Stage = DEFAULT,
        word_citations: str = "auto",
        output: str | Path | None = None,
        **filters: Any,
    ) -> Patch:
        """A patch that cites papers in the draft and adds their entries to the bibliography; nothing is written yet.

        A choice is ``"best"`` (the first suggestion for each gap), ``"2"`` (the first suggestion for gap 2), ``"2#3"`` (the
        third), ``"2=ID"`` (this paper), or a `CiteAt`. Papers in `add` are added to the bibliography without being cited.

        A Word file is not changed: the patch makes a copy, ``NAME-cited.docx`` or `output`. `word_citations` says how it cites:
        ``zotero`` (fields), ``text`` (author and year), or ``auto`` (fields where the document has fields of Zotero).
        """
        notes: list[str] = []
        chosen = [(choice.place, self._papers(choice.ids)) for choice in choices if isinstance(choice, CiteAt)]
        accepted: list[Accepted] = []
        named = [choice for choice in choices if isinstance(choice, str)]
        chosen += self._chosen(named, as_pipeline(pipeline), filters, notes, accepted)
        papers = list({paper.id: paper for _, each in chosen for paper in each}.values())
        papers = list({paper.id: paper for paper in (*papers, *self._papers(add))}.values())
        keys = assign_keys(papers, self.draft.bibliography, self.draft.cited_keys)
        if self.path is not None and self.draft.format == "docx":
            patch = self._word_patch(chosen, papers, keys, notes, word_citations, output)
            patch.accepted = accepted
            return patch
        if output is not None:
            raise CitewellError(f"{self._name} is text and is changed in place; --output is for Word files")
        texts = with_citations(self.draft, [Choice(place, tuple(keys[paper.id] for paper in each)) for place, each in chosen])
        missing = [self._with_own_entry(paper) for paper in papers if keys[paper.id] not in self.draft.bibliography]
        if self.path is None:
            old = self.draft.sources.get("bibliography.bib", "")
            return Patch(keys, texts, with_entries(old, missing, keys), notes=notes, accepted=accepted)
        if missing and self.bib is None:
            raise CitewellError(f"{self.path} names no .bib file; say where the entries go: --bib refs.bib")
        entries, changes = self._new_entries(missing, keys)
        encoding = encoding_of(read_bytes(self.path))
        changes += [Change.of(self.file(Place(name)), text, encoding) for name, text in texts.items()]
        return Patch(keys, texts, entries, [change for change in changes if change.old != change.new], notes, accepted)

    def _new_entries(self, papers: Sequence[Paper], keys: Mapping[str, str]) -> tuple[str, list[Change]]:
        """The bibliography with entries for papers that it lacks, and the change of its file."""
        if not papers or self.bib is None:
            return "", []
        extend = hayagriva.with_entries if self.bib.suffix.lower() in hayagriva.SUFFIXES else with_entries
        entries = extend(decode(read_bytes(self.bib))[0] if self.bib.exists() else "", papers, keys)
        return entries, [Change.of(self.bib, entries)]

    def _word_patch(
        self,
        chosen: Sequence[tuple[Place, Sequence[Paper]]],
        papers: Sequence[Paper],
        keys: dict[str, str],
        notes: list[str],
        style: str,
        output: str | Path | None,
    ) -> Patch:
        """A patch that writes a copy of a Word file with citations, and entries to a bibliography where there is one."""
        from citewell.draft import docx_write

        if style not in docx_write.STYLES:
            raise CitewellError(f"unknown kind of Word citations {style!r}; choose one of {', '.join(docx_write.STYLES)}")
        assert self.path is not None, "only files have a Word patch"
        missing = [self._with_own_entry(paper) for paper in papers if keys[paper.id] not in self.draft.bibliography]
        if missing and self.bib is None and not chosen:
            raise CitewellError(f"{self.path} is a Word file; say where the entries go: --bib refs.bib")
        entries, changes = self._new_entries(missing, keys)
        if chosen:
            copy = Path(output) if output is not None else self.path.with_name(f"{self.path.stem}-cited{self.path.suffix}")
            if output is None and copy.exists():
                raise CitewellError(f"{copy} exists; remove it, or name another file with --output FILE")
            data = read_bytes(self.path)
            choices = [docx_write.WordChoice(place, each) for place, each in chosen]
            new, more = docx_write.with_citations(data, str(self.path), self.draft, choices, keys, style)
            notes += dict.fromkeys(more)
            changes.append(Change.of_word_file(copy, new, self.path, self.draft.sources[""]))
        return Patch(keys, {}, entries, [change for change in changes if change.old != change.new], notes)

    def _chosen(
        self,
        choices: Sequence[str],
        pipeline: Pipeline,
        filters: dict[str, Any],
        notes: list[str],
        accepted: list[Accepted],
    ) -> list[tuple[Place, list[Paper]]]:
        """The papers to cite at each gap; the pipeline runs only where no id is given.

        Appends what cannot be done to `notes`, and the papers that were chosen by gap to `accepted`.
        """
        queries = {each.number: each for each in self.queries("local", **filters)} if choices else {}
        chosen: dict[int, list[Paper]] = {}
        for choice in choices:
            for number, rank, name in self._parse(choice):
                gap = self.gaps[number - 1]
                if choice == "best" and (macro := enclosing_macro(self.draft, gap)):
                    notes.append(f"gap {number} stays open: it is in the definition of the macro \\{macro}; fill it there")
                    continue
                if name:
                    [paper] = self._papers([name])
                    chosen.setdefault(number, []).append(paper)
                    accepted.append(Accepted(queries[number].query, paper.id))
                    continue
                suggestions = pipeline.suggest(self._require_library(), queries[number].query, rank)
                if len(suggestions) >= rank:
                    paper = suggestions[rank - 1].paper
                    chosen.setdefault(number, []).append(paper)
                    if choice != "best":
                        accepted.append(Accepted(queries[number].query, paper.id))
                elif choice == "best":
                    notes.append(f"gap {number} stays open: no paper in the library matches")
                else:
                    raise CitewellError(f"gap {number} has no suggestion {rank}; it has {len(suggestions)}")
        return [(self.gaps[number - 1].place, papers) for number, papers in chosen.items()]

    def _parse(self, choice: str) -> list[tuple[int, int, str]]:
        """The gap, the rank and the paper id of each citation that a choice asks for."""
        if choice == "best":
            if not self.gaps:
                raise CitewellError(f"{self._name} has {_NO_GAP}")
            return [(number, 1, "") for number in range(1, len(self.gaps) + 1)]
        match = _ACCEPT.fullmatch(choice)
        if not match:
            raise CitewellError(f"cannot accept {choice!r}; give best, GAP, GAP#RANK or GAP=ID, such as 2=arxiv:1810.04805")
        number, rank = int(match[1]), int(match[2] or 1)
        if not 1 <= number <= len(self.gaps):
            raise CitewellError(f"{self._name} has no gap {number}; it has {_count(len(self.gaps), 'gap')}")
        return [(number, max(1, rank), match[3] or "")]

    def _papers(self, names: Sequence[str]) -> list[Paper]:
        library = self._require_library()
        numbers = [library.number(name) for name in names]
        records = library.store.papers(numbers)
        return [records[number] for number in numbers]

    def _with_own_entry(self, paper: Paper) -> Paper:
        """A paper with the user's own BibTeX entry, where the library has one."""
        from citewell.export.own_entries import own_entry

        library = self._require_library()
        text = own_entry(library, library.number(paper.id))
        return replace(paper, verbatim=Verbatim(text)) if text else paper

    def _require_library(self) -> Library:
        if self.library is None:
            raise CitewellError("suggestions need a library; give one: Manuscript(path, library)")
        return self.library

    @property
    def _name(self) -> str:
        return str(self.path) if self.path is not None else "the draft"


def check(
    library: Library,
    path: str | Path,
    only: Collection[str] = (),
    threshold: float | None = None,
    pipeline: str | Pipeline | Stage | None = "fast",
    k: int = 3,
) -> Report:
    """Audit a draft: sentences that need a citation, and problems with its citation keys and bibliography."""
    return Manuscript(path, library).check(only, threshold, pipeline, k)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _relative_name(path: Path, bib: Path) -> str:
    """The name of a bibliography as the draft would give it: relative to the draft's folder where possible."""
    try:
        return str(bib.resolve().relative_to(path.parent.resolve()))
    except ValueError:
        return str(bib.resolve())
