"""``citewell bioasq``: answer the questions of the BioASQ challenge, and score the answers as it does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.options import json_option, library_option, print_json, tell, warn
from citewell.library.library import Library
from citewell.pipeline.registry import DEFAULT, pipeline

if TYPE_CHECKING:
    from citewell.evaluate.bioasq_measures import Scores

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("bioasq")
def command() -> None:
    """Take part in the BioASQ challenge (task b, phase A): make a run, and score one."""


@command.command("answer")
@click.argument("questions", type=_FILE)
@library_option
@click.option(
    "--pipeline", "name", default=DEFAULT, show_default=True, help="How to find papers; 'citewell pipelines' lists them."
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="RUN.json",
    help="Where the run is written, once every question is answered.",
)
@click.option(
    "-k",
    "size",
    default=10,
    show_default=True,
    type=click.IntRange(1, 10),
    help="How many documents, and how many snippets, for each question.",
)
def answer(questions: Path, library: Library, name: str, out: Path, size: int) -> None:
    """Answer QUESTIONS, a test file of BioASQ, with papers of the library and sentences in them.

    The run is a file that BioASQ takes. Documents are addresses of PubMed records, so the library should hold those; a paper
    without a PubMed id goes by its own. Snippets are sentences, with their offsets in the abstract or the title.

    \b
        citewell bioasq answer BioASQ-task8bPhaseA-testset1 --library pubmed --out run.json
    """
    from citewell.cli.progress import Bar
    from citewell.evaluate import bioasq
    from citewell.evaluate.bioasq_answers import Answers

    asked = bioasq.read_questions(questions)
    chosen = pipeline(name)
    warn(library)
    out.parent.mkdir(parents=True, exist_ok=True)
    answers, run = Answers(library, chosen, size), []
    with Bar() as bar:
        bar.asking(len(asked))
        for question in asked:
            run.append(answers.answer(question))
            bar.asked(1)
    bioasq.write(out, run)
    tell(chosen.notes(library))
    if answers.nameless:
        tell([f"papers of the run without a PubMed id: {len(answers.nameless):,}; they go by ids that BioASQ does not know"])
    click.echo(f"questions answered: {len(run):,}, written to {out}")


@command.command("score")
@click.argument("run", type=_FILE)
@click.argument("gold", type=_FILE)
@json_option
def score(run: Path, gold: Path, as_json: bool) -> None:
    """Score RUN, made by citewell or any other system, against GOLD, a file of BioASQ with the right answers.

    MAP and GMAP are those of BioASQ 8 and later, which divide a question's sum of precisions by the number of right answers, at
    most ten; those that end in /10 are of BioASQ 3 to 7, which divide it by ten. Those that end in -program are as BioASQ's
    published program computes them: it takes a snippet for right if its article has any right one, overlapping or not.
    A question that the run does not answer counts as zero.

    \b
        citewell bioasq score run.json 8B1_golden.json
    """
    from citewell.evaluate import bioasq
    from citewell.evaluate.bioasq_measures import score

    found = score(bioasq.read(run), bioasq.read(gold))
    if found.missing:
        tell([f"questions that {run} does not answer, which count as zero: {found.missing:,} of {found.questions:,}"])
    if as_json:
        print_json(asdict(found))
    else:
        _print(found)


def _print(found: Scores) -> None:
    from rich.console import Console
    from rich.table import Table

    from citewell.evaluate.bioasq_measures import MEASURES

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("measure")
    kinds = {"documents": found.documents, "snippets": found.snippets}
    for kind in kinds:
        table.add_column(kind, justify="right")
    for measure in MEASURES:
        table.add_row(measure, *(f"{values[measure]:.4f}" if values else "–" for values in kinds.values()))
    click.echo(f"questions: {found.questions:,}")
    Console(highlight=False).print(table)
