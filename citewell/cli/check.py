"""``citewell check``: an audit of drafts, for people and for hooks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from citewell.cli.options import byline, json_option, library_option, print_json, tell
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import Draft

if TYPE_CHECKING:
    from citewell.draft.audit import Finding
    from citewell.pipeline.pipeline import Pipeline

_FORMATS = ("table", "json", "sarif", "github")
_KINDS = ("uncited-claim", "missing-key", "duplicate-entry", "disagrees", "never-cited")
_LEVELS = ("note", "warning", "error")
_UNUSABLE = 2


@click.command("check")
@click.argument(
    "drafts", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="DRAFT..."
)
@click.option("--only", multiple=True, type=click.Choice(_KINDS), help="Only this kind of finding (repeatable).")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Tell of sentences from this score on; default: the one at which four of five cited in the dev years.",
)
@click.option(
    "--fail-on",
    "fail_on",
    type=click.Choice([*_LEVELS, "never"]),
    default="warning",
    show_default=True,
    help="Exit with 1 if there is a finding as bad as this.",
)
@click.option("--no-suggestions", is_flag=True, help="Do not look for papers to cite: much faster.")
@click.option(
    "--pipeline", "name", default="fast", show_default=True, help="How to find papers; 'citewell pipelines' lists them."
)
@click.option("-k", "size", default=3, show_default=True, type=click.IntRange(1, 100), help="How many papers for a sentence.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="table", show_default=True, help="What to print.")
@library_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    drafts: tuple[Path, ...],
    only: tuple[str, ...],
    threshold: float | None,
    fail_on: str,
    no_suggestions: bool,
    name: str,
    size: int,
    form: str,
    library: Library,
    as_json: bool,
) -> None:
    """Audit a draft: what calls for a citation and has none, and what is wrong with its citations.

    \b
    uncited-claim    warning  a sentence that calls for a citation has none; with papers that may fit
    missing-key      error    a key is cited that no entry of the bibliography has
    duplicate-entry  warning  two entries have one key, identifier, or title
    disagrees        warning  an entry's DOI, year or title is not what the library has
    never-cited      note     an entry is never cited

    The exit status is 0 where nothing as bad as --fail-on was found, 1 where something was, 2 where the draft, the library or
    the options cannot be used: fit for a pre-commit hook. --format sarif and github are for CI.

    \b
        citewell check paper.tex
        citewell check paper.tex --only missing-key --only duplicate-entry
        citewell check paper.tex --no-suggestions --format github --fail-on error
    """
    from citewell.draft import reports
    from citewell.draft.audit import LEVELS, not_looked_at
    from citewell.pipeline.registry import pipeline

    named = context.get_parameter_source("library") is ParameterSource.COMMANDLINE
    try:
        there = library if named and len(library) else _opened(library)
        suggesting = None if no_suggestions or there is None else pipeline(name)
        audited = [(str(path), *_audited(path, there, only, threshold, suggesting, size)) for path in drafts]
    except CitewellError as error:
        tell([str(error)])
        sys.exit(_UNUSABLE)
    for path, draft, _ in audited:
        tell(f"{path}: {note}" for note in not_looked_at(draft))
    if as_json or form == "json":
        found = [reports.as_json(path, findings) for path, _, findings in audited]
        print_json(found[0] if len(found) == 1 else found)
    elif form == "sarif":
        print_json(reports.sarif(audited))
    elif form == "github":
        for line in reports.github(audited):
            print(line)
    else:
        _print_tables(audited)
    bad = LEVELS[LEVELS.index(fail_on) :] if fail_on in LEVELS else ()
    sys.exit(any(finding.level in bad for _, _, findings in audited for finding in findings))


def _opened(library: Library) -> Library | None:
    """The library, or None, which is said, where there is none: a draft can be audited without."""
    try:
        if len(library):
            return library
        tell([f"there is no paper in {library.folder}: no entry is compared, and nothing is suggested"])
    except CitewellError as error:
        tell([f"{error}; no entry is compared, and nothing is suggested"])
    return None


def _audited(
    path: Path, library: Library | None, only: Sequence[str], threshold: float | None, suggesting: Pipeline | None, size: int
) -> tuple[Draft, list[Finding]]:
    from citewell.draft import read
    from citewell.draft.audit import audit, suggest
    from citewell.models.claims import load

    draft = read(path)
    findings = audit(draft, library, load(), threshold, only)
    if suggesting is not None and library is not None and any(finding.kind == "uncited-claim" for finding in findings):
        suggest(findings, draft, library, suggesting, size)
        tell(suggesting.notes(library))
    return draft, findings


def _print_tables(audited: Sequence[tuple[str, Draft, Sequence[Finding]]]) -> None:
    from rich.console import Console
    from rich.text import Text

    from citewell.draft.reports import path_of
    from citewell.text.citation_contexts import shorten_context

    styles = {"error": "bold red", "warning": "yellow", "note": "cyan"}
    console = Console(soft_wrap=True, highlight=False)
    for path, _, findings in audited:
        for finding in findings:
            where = f"{path_of(path, finding.place)}:{finding.place.line}: "
            said = f"{finding.message} [{finding.kind}]"
            console.print(Text.assemble((where, "bold"), (f"{finding.level}: ", styles[finding.level]), said))
            if finding.context:
                console.print(Text(f"    {shorten_context(finding.context)}", style="dim"))
            for each in finding.suggestions:
                paper = each.paper
                line = " \u00b7 ".join(filter(None, (paper.title, byline(paper), paper.id)))
                console.print(Text(f"    {each.rank}. {line}"))
    counts = Counter(finding.level for _, _, findings in audited for finding in findings)
    named = (f"{counts[level]} {level}{'s' if counts[level] != 1 else ''}" for level in reversed(_LEVELS))
    console.print(", ".join(named) if counts else "nothing to mend")
