"""Taking suggestions over: ``--accept``, ``--take``, ``--bib`` and ``--write`` of ``citewell suggest``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from citewell.cli.options import print_json, tell
from citewell.draft.accept import Choice, enclosing_macro, with_citations
from citewell.draft.entries import assign_keys, with_entries
from citewell.draft.files import content, decoded
from citewell.draft.manuscript import Manuscript
from citewell.draft.patch import Change
from citewell.draft.queries import DraftQuery
from citewell.errors import CitewellError
from citewell.papers import Paper
from citewell.pipeline.registry import pipeline

_WHAT = re.compile(r"(\d+)(?:#(\d+)|=(.+))?", re.DOTALL)
Chosen = dict[int, list[Paper]]
"""By the number of the gap, what is to be cited there."""


def take_over(
    manuscript: Manuscript,
    asked: Sequence[DraftQuery],
    accept: Sequence[str],
    take: Sequence[str],
    name: str,
    write: bool,
    as_json: bool,
) -> None:
    """Show what the choices change in the draft and its bibliography, or write it."""
    if not accept and not take:
        raise click.UsageError("say what to write: --accept best, --accept GAP=ID or --take ID")
    if accept and manuscript.draft.format == "docx":
        raise CitewellError(
            f"{manuscript.path} is a Word file, which is not written to; put entries into a file with --take ID --bib refs.bib,"
            " import that into Zotero or Mendeley, and cite from there"
        )
    chosen = _chosen(manuscript, asked, accept, name)
    taken = [manuscript.library.paper(each) for each in take]
    papers = list({paper.id: paper for each in (*chosen.values(), taken) for paper in each}.values())
    draft = manuscript.draft
    keys = assign_keys(papers, draft.bibliography, manuscript.cited_keys())
    gaps = manuscript.gaps()
    choices = [Choice(gaps[gap - 1].place, tuple(keys[paper.id] for paper in found)) for gap, found in chosen.items()]
    changes = _bibliography(manuscript, [paper for paper in papers if keys[paper.id] not in draft.bibliography], keys)
    changes += [Change.of(manuscript.path_of(file), text) for file, text in with_citations(draft, choices).items()]
    changes = [change for change in changes if change.old != change.new]
    if write:
        for change in changes:
            change.write()
    diff = "".join(line for change in changes for line in change.diff())
    if as_json:
        print_json({"keys": keys, "diff": diff, "files": [str(change.path) for change in changes], "written": write})
        return
    click.echo(diff, nl=False)
    if not changes:
        tell(["nothing changes: all of it is there already"])
    elif write:
        tell([f"wrote {', '.join(str(change.path) for change in changes)}"])
    else:
        tell(["nothing is written yet; add --write to write it"])


def _chosen(manuscript: Manuscript, asked: Sequence[DraftQuery], accept: Sequence[str], name: str) -> Chosen:
    """The papers to cite at each gap; the library is asked only where no id says which."""
    gaps = {manuscript.gap_number(each.gap): each for each in asked if each.gap is not None}
    chosen: Chosen = {}
    for what in accept:
        for gap, rank, given in _meant(what, gaps, manuscript):
            if what == "best" and (macro := enclosing_macro(manuscript.draft, manuscript.gaps()[gap - 1])):
                tell([f"gap {gap} stays: it stands in the macro \\{macro}; fill it where that is defined"])
                continue
            if given:
                found = manuscript.library.paper(given)
            else:
                suggested = pipeline(name).suggest(manuscript.library, gaps[gap].query, rank)
                if len(suggested) < rank:
                    if what == "best":
                        tell([f"gap {gap} stays: nothing in the library matches"])
                        continue
                    raise CitewellError(f"gap {gap} has no suggestion {rank}; there are {len(suggested)}")
                found = suggested[rank - 1].paper
            chosen.setdefault(gap, []).append(found)
    return chosen


def _meant(what: str, gaps: dict[int, DraftQuery], manuscript: Manuscript) -> list[tuple[int, int, str]]:
    """The gap, the rank and the id that an ``--accept`` names."""
    if what == "best":
        if not gaps:
            raise CitewellError(f"{manuscript.path} has no gap to fill; mark the places where a citation is missing with [?]")
        return [(gap, 1, "") for gap in gaps]
    found = _WHAT.fullmatch(what)
    if not found:
        raise click.UsageError(f"--accept {what}: say best, GAP, GAP#RANK or GAP=ID, such as 2=arxiv:1810.04805")
    gap, rank = int(found[1]), int(found[2] or 1)
    if gap not in gaps:
        count = len(manuscript.gaps())
        raise CitewellError(f"{manuscript.path} has no gap {gap}; it has {count}, and 'citewell suggest' lists them")
    return [(gap, max(1, rank), found[3] or "")]


def _bibliography(manuscript: Manuscript, papers: Sequence[Paper], keys: dict[str, str]) -> list[Change]:
    """The bibliography with entries for papers that it lacks."""
    if not papers:
        return []
    if manuscript.bib is None:
        raise CitewellError(f"{manuscript.path} names no .bib file that is there; say where entries go: --bib refs.bib")
    text = decoded(content(manuscript.bib))[0] if manuscript.bib.exists() else ""
    return [Change.of(manuscript.bib, with_entries(text, papers, keys))]
