"""``citewell add``: add files to the library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from citewell.arrays import DamagedFileError
from citewell.cli.options import json_option, library_option, print_json, tell
from citewell.errors import CitewellError
from citewell.library.add import Outcome
from citewell.library.library import Library

_SHOWN_PROBLEMS = 20


@click.command("add")
@click.argument("inputs", nargs=-1, required=True, metavar="PATH|ID...")
@click.option("--distractors", is_flag=True, help="Also add the papers of a data set that none of its papers cites.")
@click.option("--sync", is_flag=True, help="Remove what a file had when it was last added and no longer has.")
@click.option("--watch", is_flag=True, help="Keep running, and add a file again whenever it changes.")
@click.option(
    "--vectors/--no-vectors",
    default=True,
    show_default=True,
    help="Compute vectors in the background if an encoder is installed ($CITEWELL_BACKGROUND=off: never).",
)
@click.option(
    "--email",
    envvar="CITEWELL_EMAIL",
    default="",
    metavar="ADDRESS",
    help="Your address, sent with identifiers to the services that look them up; default: $CITEWELL_EMAIL.",
)
@library_option
@json_option
def command(
    inputs: tuple[str, ...],
    distractors: bool,
    sync: bool,
    watch: bool,
    vectors: bool,
    email: str,
    library: Library,
    as_json: bool,
) -> None:
    """Add papers from files, folders or data sets, or by identifier.

    The format is detected from the content: BibTeX, RIS, CSL-JSON, EndNote, Web of Science, Scopus, Zotero, PubMed, tables
    (CSV, TSV) with column names, CITATION.cff, MODS, JATS, OpenAlex, Semantic Scholar, ACL Anthology, DBLP, arXiv, citewell's
    JSON lines and data sets; each also as .gz.

    Adding a file twice changes nothing; after an edit, what the file says now replaces what it said before. Entries that it no
    longer has stay in the library unless you give --sync. An interrupted add resumes where it stopped.

    An ID is a DOI, an arXiv id, a PMID or another known identifier, also as a URL. Its record is fetched from Crossref, arXiv,
    PubMed, OpenAlex or Semantic Scholar.

        citewell add refs.bib ~/downloads/works.jsonl.gz

        citewell add 10.1000/182 arXiv:1706.03762 pmid:123

        citewell add --watch --sync refs.bib
    """
    from citewell.cli.watch import changes

    paths, identifiers = _sorted(inputs)
    changed_since = changes(paths)  # an edit while the file is being added counts
    outcome = _add(paths, identifiers, distractors, sync, vectors, email, library, as_json)
    if watch:
        if not as_json:
            click.echo("Watching for changes; press Ctrl-C to stop.")
        for changed in changed_since:
            _add(changed, [], distractors, sync, vectors, email, library, as_json)
    if outcome.skipped and not (outcome.papers or outcome.contexts):
        sys.exit(1)


def _add(
    paths: Sequence[Path],
    identifiers: Sequence[str],
    distractors: bool,
    sync: bool,
    vectors: bool,
    email: str,
    library: Library,
    as_json: bool,
) -> Outcome:
    from citewell.cli.progress import TerminalProgress

    with TerminalProgress() as progress:
        outcome = library.add(paths, progress, distractors, sync) if paths else Outcome()
        if identifiers:
            from citewell.fetch.by_identifier import add_by_identifier

            add_by_identifier(library, identifiers, outcome, email, progress)
    if as_json:
        print_json(outcome)
    else:
        _report(outcome, library)
    if vectors and (outcome.files or outcome.papers) and started_encoding(library) and not as_json:
        click.echo("Vectors are being computed in the background; 'citewell library info' shows their progress.")
    return outcome


def _sorted(inputs: tuple[str, ...]) -> tuple[list[Path], list[str]]:
    """The paths and the identifiers among the arguments; what exists on disk is a path."""
    paths, identifiers = [], []
    for given in inputs:
        if Path(given).exists():
            paths.append(Path(given))
            continue
        from citewell.fetch.by_identifier import identifier

        if known := identifier(given):
            identifiers.append(known)
        elif "://" in given:
            raise CitewellError(f"{given} has no DOI, arXiv id or PMID in it; pass the DOI, or download a file and add that")
        else:
            raise CitewellError(f"{given} does not exist, and is no identifier such as a DOI, arXiv:1706.03762 or pmid:123")
    return paths, identifiers


def started_encoding(library: Library) -> bool:
    """Start computing vectors; if that fails, the papers stay added."""
    from citewell.library.vectors.background import encode_in_background

    try:
        return encode_in_background(library)
    except (CitewellError, DamagedFileError, OSError) as error:
        tell([f"the papers were added, but their vectors cannot be computed: {error}"])
        return False


def _report(outcome: Outcome, library: Library) -> None:
    known = outcome.papers - outcome.new_papers
    counted = [(outcome.files, "file"), (outcome.identifiers, "identifier")]
    sources = [f"{count:,} {name if count == 1 else f'{name}s'}" for count, name in counted if count] or ["0 files"]
    click.echo(
        f"{outcome.papers:,} papers read from {' and '.join(sources)}: "
        f"{outcome.new_papers:,} new, {known:,} already in the library or merged"
        f"{f', {outcome.changed:,} of them changed' if outcome.changed else ''}; "
        f"{outcome.contexts:,} contexts; {outcome.skipped:,} skipped"
    )
    _report_gone(outcome)
    if outcome.files or outcome.papers:  # else the library may not exist
        counts = library.store.counts()
        click.echo(
            f"{library.folder} now has {counts['papers']:,} papers, {counts['citations']:,} citations"
            f" ({counts['waiting']:,} unresolved), {counts['contexts']:,} contexts"
        )
    tell(outcome.notes)
    for problem in outcome.problems[:_SHOWN_PROBLEMS]:
        place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
        click.echo(f"  skipped {place}: {problem.reason}", err=True)
    if outcome.skipped > _SHOWN_PROBLEMS:
        click.echo(f"  and {outcome.skipped - _SHOWN_PROBLEMS:,} more; --json lists the first 1,000", err=True)


def _report_gone(outcome: Outcome) -> None:
    """Say what a file no longer has."""
    if not outcome.gone:
        return
    count = f"{len(outcome.gone):,} {'entry' if len(outcome.gone) == 1 else 'entries'}"
    if outcome.removed:
        click.echo(f"Removed {count} that the file no longer has:")
    else:
        click.echo(f"The file no longer has {count}, which the library keeps; --sync removes such entries:")
    for gone in outcome.gone[:_SHOWN_PROBLEMS]:
        click.echo(f"  {gone.key}: {gone.title}")
    if len(outcome.gone) > _SHOWN_PROBLEMS:
        click.echo(f"  and {len(outcome.gone) - _SHOWN_PROBLEMS:,} more; --json lists them all")
