"""An examination: all that a re-ranker is to read for the questions of an evaluation, as plain arrays in one file.

Medić's models take seconds a question on a CPU, and there are dozens of them. At home each question is put to a first stage in
the library of its own moment, and what a served model would see of it and of its candidates is written down. A machine with a
GPU marks the candidates (`citewell.train.score_offline`), for as many models as are wanted. At home marks become a run, which
``citewell evaluate --run`` measures as it does any other::

    python -m citewell.train.offline_scoring make data/cs exam.npz --recipe medic-textenh --sample 500
    python -m citewell.train.score_offline exam.npz out marks.npz
    python -m citewell.train.offline_scoring run exam.npz marks.npz textenh.run
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.outcomes import Watcher
from citewell.evaluate.trec import strictly_falling, write_run
from citewell.models.enhanced_context import Candidate, Shape, Sight
from citewell.models.inputs import Inputs, Reader
from citewell.models.onnx import tokenizer
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.rerank.enhanced_context import candidates
from citewell.train.packs import Arrays, load, save

NOTHING = -1
"""In a row of candidates: there is none."""


def make(
    evaluation: Evaluation, first: Pipeline, depth: int, shape: Shape, base: Path, watcher: Watcher | None = None
) -> Arrays:
    """The arrays of an examination: questions, the papers that are candidates of any, and which are whose."""
    sight = Sight(shape, Reader(tokenizer(base), Inputs()))
    asked = sorted(evaluation.queries(), key=lambda question: question.date)
    held: dict[str, Candidate] = {}
    number: dict[str, int] = {}
    rows = np.full((len(asked), depth), NOTHING, np.int32)
    cited = np.zeros((len(asked), depth, shape.years + 1), np.float32)
    if watcher:
        watcher.asking(len(asked))
    places = {question.id: at for at, question in enumerate(asked)}
    for runner, group in runners_by_date(asked, evaluation.libraries(), [first]):
        for question in group:
            request, at = runner.request(question), places[question.id]
            papers = first.rank(request).papers[:depth]
            seen, names = candidates(request, papers, shape.years), runner.ids(papers.tolist())
            for name, paper in zip(names, seen, strict=True):
                held.setdefault(name, paper)
                number.setdefault(name, len(number))
            rows[at, : len(papers)] = [number[name] for name in names]
            cited[at, : len(papers)] = sight.cited(seen)
            if watcher:
                watcher.asked(1)
    contexts = [sight.context(question.query) for question in asked]
    return {
        "questions": np.array([question.id for question in asked]),
        "papers": np.array(list(held)),
        "rows": rows,
        "cited": cited,
        "gap": np.array([gap for _, gap in contexts], np.int32),
        "authors": sight.authors(list(held.values())).astype(np.int32),
        **_flat("context", [tokens for tokens, _ in contexts]),
        **_flat("citing", sight.texts([(question.query.title, question.query.abstract) for question in asked])),
        **_flat("text", sight.texts([(paper.title, paper.abstract) for paper in held.values()])),
    }


def _flat(name: str, texts: Sequence[Sequence[int]]) -> Arrays:
    """Token numbers of texts behind one another, and where each begins."""
    starts = np.cumsum([0, *map(len, texts)])
    return {name: np.fromiter(chain.from_iterable(texts), np.uint16, int(starts[-1])), f"{name}_at": starts}


def ranked(exam: Arrays, marks: Arrays) -> dict[str, dict[str, float]]:
    """Each question's candidates by their marks, best first, as a run has them."""
    if marks["marks"].shape != exam["rows"].shape:
        raise CitewellError("the marks are of another examination; mark this one")
    names = exam["papers"]
    found = {}
    for question, row, scores in zip(exam["questions"].tolist(), exam["rows"], marks["marks"], strict=True):
        there = np.flatnonzero(row != NOTHING)
        order = there[np.argsort(-scores[there], kind="stable")]
        falling = strictly_falling(scores[order].astype(np.float32))
        found[question] = dict(zip(names[row[order]].tolist(), falling.tolist(), strict=True))
    return found


@click.group()
def main() -> None:
    """Have a GPU mark what takes a CPU hours."""


@main.command("make")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("exam", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--recipe", required=True, help="Of a model of Medić's: how much its kind reads.")
@click.option("--split", default="test", show_default=True)
@click.option("--sample", type=int, help="So many questions, drawn at random.")
@click.option("--seed", default=0, show_default=True)
@click.option("--first-stage", default="bm25", show_default=True, help="The pipeline that finds the candidates.")
@click.option("--depth", default=1000, show_default=True)
def make_command(folder: Path, exam: Path, recipe: str, split: str, sample: int | None, seed: int, **how: Any) -> None:
    """Write down what is to be read for the questions of the set in FOLDER."""
    from citewell.cli.progress import Bar
    from citewell.train.from_sets import base_of
    from citewell.train.recipe import PackRecipe, load_recipe

    chosen = load_recipe(recipe)
    if not isinstance(chosen, PackRecipe) or not chosen.shape:
        raise CitewellError(
            f"the recipe {recipe!r} is not of an enhanced-context model; name one that begins with 'medic-text'"
        )
    shape = Shape(**{**chosen.shape, "kernels": tuple(chosen.shape.get("kernels", Shape.kernels))})
    with Bar() as bar:
        evaluation = Evaluation(folder, "local", split, sample, seed)
        save(make(evaluation, pipeline(how["first_stage"]), how["depth"], shape, base_of(chosen, None), bar), exam)


@main.command("run")
@click.argument("exam", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("marks", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("run", type=click.Path(dir_okay=False, path_type=Path))
def run_command(exam: Path, marks: Path, run: Path) -> None:
    """Make a run of TREC's format of marks."""
    with run.open("w", encoding="utf-8") as stream:
        write_run(stream, run.stem, ranked(load(exam), load(marks)))


if __name__ == "__main__":
    main()
