"""``citewell bioasq``: makes runs for the BioASQ challenge, and scores runs as the challenge does."""

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
    """Take part in the BioASQ challenge (task b, phase A): make a run, or score one."""


@command.command("answer")
@click.argument("questions", type=_FILE)
@library_option
@click.option(
    "--pipeline", "name", default=DEFAULT, show_default=True, help="The pipeline to use; 'citewell pipelines' lists them."
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="RUN.json",
    help="The file of the run; written when every question is answered.",
)
@click.option(
    "-k",
    "size",
    default=10,
    show_default=True,
    type=click.IntRange(1, 10),
    help="The number of documents, and of snippets, for each question.",
)
def answer(questions: Path, library: Library, name: str, out: Path, size: int) -> None:
    """Answer QUESTIONS, a test file of BioASQ, with papers of the library and their sentences.

    The run is a file in BioASQ's format. Documents are URLs of PubMed records, so the papers should have PubMed ids; a paper
    without one is listed by its own id. Snippets are sentences with their offsets in the abstract or the title.

    \b
        citewell bioasq answer BioASQ-task8bPhaseA-testset1 --library pubmed --out run.json
    """
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate import bioasq
    from citewell.evaluate.bioasq_answers import Answering

    test = bioasq.read_questions(questions)
    chosen = pipeline(name)
    warn(library)
    out.parent.mkdir(parents=True, exist_ok=True)
    answers, run = Answering(library, chosen, size), []
    with TerminalProgress() as progress:
        progress.start("answering questions", len(test), "questions")
        for question in test:
            run.append(answers.answer(question))
            progress.advance()
    bioasq.write(out, run)
    tell(chosen.notes(library))
    if answers.without_pubmed_id:
        tell([f"papers without a PubMed id in the run: {len(answers.without_pubmed_id):,}; BioASQ does not know their ids"])
    click.echo(f"questions answered: {len(run):,}, written to {out}")


@command.command("score")
@click.argument("run", type=_FILE)
@click.argument("gold", type=_FILE)
@json_option
def score(run: Path, gold: Path, as_json: bool) -> None:
    """Score RUN, made by citewell or any other system, against GOLD, a golden file of BioASQ.

    MAP and GMAP follow BioASQ 8 and later, which divide a question's sum of precisions by the number of golden items, at most
    ten. Measures that end in /10 follow BioASQ 3 to 7, which divide it by ten. Those that end in -program follow BioASQ's
    published program: it counts a snippet as correct if its article has any golden snippet, overlapping or not.
    A question that the run does not answer counts as zero.

    \b
        citewell bioasq score run.json 8B1_golden.json
    """
    from citewell.evaluate import bioasq
    from citewell.evaluate.bioasq_measures import score

    scores = score(bioasq.read(run), bioasq.read(gold))
    if scores.missing:
        tell([f"questions without an answer in {run}: {scores.missing:,} of {scores.questions:,}; they count as zero"])
    if as_json:
        print_json(asdict(scores))
    else:
        _print(scores)


def _print(scores: Scores) -> None:
    from rich.console import Console
    from rich.table import Table

    from citewell.evaluate.bioasq_measures import MEASURES

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("measure")
    kinds = {"documents": scores.documents, "snippets": scores.snippets}
    for kind in kinds:
        table.add_column(kind, justify="right")
    for measure in MEASURES:
        table.add_row(measure, *(f"{values[measure]:.4f}" if values else "–" for values in kinds.values()))
    click.echo(f"questions: {scores.questions:,}")
    Console(highlight=False).print(table)
