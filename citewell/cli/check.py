"""``citewell check``: audits drafts, for people, hooks and CI."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from citewell.cli.options import byline, json_option, library_option, print_json, tell
from citewell.errors import CitewellError
from citewell.library.library import Library

if TYPE_CHECKING:
    from citewell.draft.reports import Report

_FORMATS = ("table", "json", "sarif", "github")
_KINDS = ("uncited-claim", "missing-key", "duplicate-entry", "disagrees", "never-cited")
_LEVELS = ("note", "warning", "error")
_UNUSABLE = 2


@click.command("check")
@click.argument(
    "drafts", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="DRAFT..."
)
@click.option("--only", multiple=True, type=click.Choice(_KINDS), help="Report only this kind of finding (repeatable).")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Minimum score of an uncited claim (default: 80% precision on the dev set).",
)
@click.option(
    "--fail-on",
    "fail_on",
    type=click.Choice([*_LEVELS, "never"]),
    default="warning",
    show_default=True,
    help="Exit with status 1 if there is a finding of this level or above.",
)
@click.option("--no-suggestions", is_flag=True, help="Do not suggest papers; much faster.")
@click.option("--pipeline", "name", default="fast", show_default=True, help="Pipeline; 'citewell pipelines' lists them.")
@click.option("-k", "size", default=3, show_default=True, type=click.IntRange(1, 100), help="Number of papers per sentence.")
@click.option("--format", "format", type=click.Choice(_FORMATS), default="table", show_default=True, help="Output format.")
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
    format: str,
    library: Library,
    as_json: bool,
) -> None:
    """Audit drafts: sentences that need a citation, and problems with citation keys and bibliographies.

    \b
    uncited-claim    warning  a sentence needs a citation and has none; with suggested papers
    missing-key      error    a cited key has no entry in the bibliography
    duplicate-entry  warning  two entries have the same key, identifier or title
    disagrees        warning  the DOI, year or title of an entry differs from the library
    never-cited      note     an entry is never cited

    The exit status is 0 without findings of the level --fail-on, 1 with such findings, and 2 if a draft, the library or an
    option cannot be used. Use it as a pre-commit hook, or in CI with --format sarif or github.

    \b
        citewell check paper.tex
        citewell check paper.tex --only missing-key --only duplicate-entry
        citewell check paper.tex --no-suggestions --format github --fail-on error
    """
    from citewell.draft.manuscript import Manuscript
    from citewell.draft.reports import github, sarif
    from citewell.pipeline.registry import pipeline

    explicit = context.get_parameter_source("library") is ParameterSource.COMMANDLINE
    try:
        available = library if explicit and len(library) else _library_with_papers(library)
        ranker = None if no_suggestions or available is None else pipeline(name)
        reports = [Manuscript(path, available).check(only, threshold, ranker, size) for path in drafts]
    except CitewellError as error:
        tell([str(error)])
        sys.exit(_UNUSABLE)
    for report in reports:
        tell(f"{report.path}: {note}" for note in report.notes)
    if as_json or format == "json":
        objects = [report.to_json() for report in reports]
        print_json(objects[0] if len(objects) == 1 else objects)
    elif format == "sarif":
        print_json(sarif(reports))
    elif format == "github":
        for line in github(reports):
            print(line)
    else:
        _print_tables(reports)
    failing = _LEVELS[_LEVELS.index(fail_on) :] if fail_on in _LEVELS else ()
    sys.exit(any(finding.level in failing for report in reports for finding in report.findings))


def _library_with_papers(library: Library) -> Library | None:
    """The library, or None with a message where it has no papers: a draft can be audited without one."""
    consequence = "entries are not compared and no papers are suggested"
    try:
        if len(library):
            return library
        tell([f"the library {library.folder} has no papers; {consequence}"])
    except CitewellError as error:
        tell([f"{error}; {consequence}"])
    return None


def _print_tables(reports: Sequence[Report]) -> None:
    from rich.console import Console
    from rich.text import Text

    from citewell.draft.reports import summary
    from citewell.text.citation_contexts import shorten_context

    styles = {"error": "bold red", "warning": "yellow", "note": "cyan"}
    console = Console(soft_wrap=True, highlight=False)
    for report in reports:
        console.print(Text(report.path, style="bold"))
        for line in report.overview.lines():
            console.print(Text(f"  {line}", style="dim"))
        for finding in report.findings:
            where = f"{report.file(finding.place)}:{finding.place.line}: "
            message = f"{finding.message} [{finding.kind}]"
            console.print(Text.assemble((where, "bold"), (f"{finding.level}: ", styles[finding.level]), message))
            if finding.context:
                console.print(Text(f"    {shorten_context(finding.context)}", style="dim"))
            for each in finding.suggestions:
                paper = each.paper
                line = " \u00b7 ".join(filter(None, (paper.title, byline(paper), paper.id)))
                console.print(Text(f"    {each.rank}. {line}"))
    console.print(summary(reports))
