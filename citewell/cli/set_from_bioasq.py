"""``citewell set from-bioasq``: BioASQ's training file as a data set."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.options import json_option, print_json
from citewell.errors import CitewellError
from citewell.library.library import Library

if TYPE_CHECKING:
    from citewell.evaluate.bioasq_set import MadeSet

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_LISTED = 20
"""Problems that are printed; the others are counted."""


@click.command("from-bioasq")
@click.argument("training", metavar="TRAINING.json", type=_FILE)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--library", "-l", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR", help="Take its papers."
)
@click.option(
    "--papers",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="Take the papers of PubMed files, or of any others that have PubMed ids (repeatable).",
)
@click.option("--test", "tests", multiple=True, type=_FILE, help="A golden file whose questions are for test (repeatable).")
@click.option("--name", default="bioasq", show_default=True, help="The name of the set.")
@click.option("--about", default="", metavar="TEXT", help="A sentence that describes the set.")
@click.option(
    "--dev", default=100, show_default=True, type=click.IntRange(1), metavar="N", help="Questions that are held out for dev."
)
@click.option("--dev-ids", type=_FILE, metavar="FILE", help="The ids of the questions for dev, one in a line.")
@click.option("--test-ids", type=_FILE, metavar="FILE", help="The ids of the questions for test, one in a line.")
@click.option(
    "--others",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="The share of the papers that answer no question.",
)
@click.option("--with-titles-only", is_flag=True, help="Keep papers that have only a title, which the studies leave out.")
@json_option
def command(
    training: Path,
    folder: Path,
    library: Path | None,
    papers: tuple[Path, ...],
    tests: tuple[Path, ...],
    name: str,
    about: str,
    dev: int,
    dev_ids: Path | None,
    test_ids: Path | None,
    others: float,
    with_titles_only: bool,
    as_json: bool,
) -> None:
    """Make a data set from BioASQ's training file and the papers that its questions refer to.

    The last 100 questions of the file are for dev. Those of --test files are for test, each file a kind of its own (citewell
    evaluate --kind); without --test, the last 100 are for test and the 100 before them for dev. --dev-ids and --test-ids
    replace these rules. Snippets become the sentences that they cover by at least half, by their offsets or else by their text.

    \b
        citewell set from-bioasq training8b.json data/bioasq --library pubmed --test 8B1_golden.json --test 8B2_golden.json
        citewell set from-bioasq training8b.json data/bioasq --papers pubmed20n0001.xml.gz --papers pubmed20n0002.xml.gz
    """
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate.bioasq_set import Choices, make
    from citewell.evaluate.paper_collection import from_files, from_library

    if (library is None) == (not papers):
        raise CitewellError("name the collection: either --library DIR or --papers FILE")
    ids = [frozenset(path.read_text("utf-8").split()) if path else frozenset[str]() for path in (dev_ids, test_ids)]
    choices = Choices(name, about, dev, ids[0], ids[1], others, with_titles_only)
    problems: list[str] = []
    with TerminalProgress() as progress:
        if library is None:
            made = make(training, tests, from_files(papers, problems), folder, choices, progress)
        else:
            with Library(library) as opened:
                made = make(training, tests, from_library(opened), folder, choices, progress)
    made.problems += problems
    for line in made.problems[:_LISTED]:
        print(f"citewell: {line}", file=sys.stderr)
    if len(made.problems) > _LISTED:
        print(f"citewell: {len(made.problems) - _LISTED:,} more records could not be read", file=sys.stderr)
    if as_json:
        print_json({**asdict(made), "folder": str(made.folder)})
    else:
        _print(made)


def _print(made: MadeSet) -> None:
    splits = ", ".join(f"{split} {count:,}" for split, count in made.questions.items())
    mapped = ", ".join(f"{count:,} by {how}" for how, count in made.snippets.items())
    for label, value in (
        ("papers", f"{made.papers:,}, {made.relevant_papers:,} of them relevant to a question"),
        ("questions", f"{splits}; {made.documents:,} relevant papers in all"),
        ("snippets", f"mapped to sentences: {mapped}"),
        ("unreadable", f"{len(made.problems):,} records"),
        ("left out", ", ".join(f"{count:,} {reason}" for reason, count in made.left_out.items()) or "nothing"),
    ):
        click.echo(f"{label:>10}  {value}")
    click.echo(f"written to {made.folder}")
