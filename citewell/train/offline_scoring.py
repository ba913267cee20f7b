"""Offline scoring: everything that a re-ranker reads for the queries of an evaluation, as arrays in one file.

Medić's models take seconds per query on a CPU, and there are dozens. ``make`` runs a first stage on each query, in the library
of its date, and writes what a served model would read. A machine with a GPU scores the candidates
(`citewell.train.score_offline`), for any number of models. ``run`` turns scores into a run, which ``citewell evaluate --run``
measures::

    python -m citewell.train.offline_scoring make data/cs inputs.npz --recipe medic-textenh --sample 500
    python -m citewell.train.score_offline inputs.npz out scores.npz
    python -m citewell.train.offline_scoring run inputs.npz scores.npz textenh.run
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
from citewell.evaluate.trec import strictly_falling, write_run
from citewell.models.enhanced_context import Candidate, Shape, TensorInputs
from citewell.models.inputs import Inputs, TokenReader
from citewell.models.onnx import tokenizer
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.progress import SILENT, Progress
from citewell.ranking.insertion import missing
from citewell.rerank.enhanced_context import candidates
from citewell.train.packs import Arrays, load, save
from citewell.types import Array

NO_PAPER = -1
"""Padding in a row of candidates."""


def collect_inputs(
    evaluation: Evaluation,
    first: Pipeline,
    depth: int,
    shape: Shape,
    base: Path,
    progress: Progress = SILENT,
    inputs: Inputs | None = None,
) -> Arrays:
    """The arrays: queries, the papers that are candidates of any query, and the candidates of each.

    If the evaluation is lenient, the relevant papers that the first stage missed follow its `depth` candidates.
    """
    inputs = inputs or Inputs()
    tensors = TensorInputs(shape, TokenReader(tokenizer(base), inputs))
    queries = sorted(evaluation.queries(), key=lambda judged: judged.date)
    candidates_by_name: dict[str, Candidate] = {}
    numbers: dict[str, int] = {}
    width = depth + (max(len(judged.relevant) for judged in queries) if evaluation.lenient else 0)
    rows = np.full((len(queries), width), NO_PAPER, np.int32)
    cited = np.zeros((len(queries), width, shape.years + 1), np.float32)
    progress.start("collecting candidates", len(queries), "queries")
    rows_by_query = {judged.id: at for at, judged in enumerate(queries)}
    for runner, group in runners_by_date(queries, evaluation.libraries(), [first], lenient=evaluation.lenient):
        for judged in group:
            request, at = runner.request(judged), rows_by_query[judged.id]
            ranking = first.rank(request)
            missed = missing(ranking, request.inserted[request.passes(request.inserted)], depth)
            for start, papers in ((0, ranking.papers[:depth]), (depth, missed)):
                read, names = candidates(request, papers, shape.years), runner.ids(papers.tolist())
                for name, paper in zip(names, read, strict=True):
                    candidates_by_name.setdefault(name, paper)
                    numbers.setdefault(name, len(numbers))
                rows[at, start : start + len(papers)] = [numbers[name] for name in names]
                cited[at, start : start + len(papers)] = tensors.cited(read)
            progress.advance()
    contexts = [tensors.context(judged.query) for judged in queries]
    return {
        "questions": np.array([judged.id for judged in queries]),
        "papers": np.array(list(candidates_by_name)),
        "rows": rows,
        "depth": np.array(depth, np.int32),
        "first_stage": np.array(first.name),
        "context_characters": np.array(inputs.context_characters, np.int32),
        "cited": cited,
        "gap": np.array([gap for _, gap in contexts], np.int32),
        "authors": tensors.authors(list(candidates_by_name.values())).astype(np.int32),
        **flat("context", [tokens for tokens, _ in contexts]),
        **flat("citing", tensors.texts([(judged.query.title, judged.query.abstract) for judged in queries])),
        **flat("text", tensors.texts([(paper.title, paper.abstract) for paper in candidates_by_name.values()])),
    }


def flat(name: str, texts: Sequence[Sequence[int]]) -> Arrays:
    """The tokens of texts in one array, and the start of each."""
    starts = np.cumsum([0, *map(len, texts)])
    return {name: np.fromiter(chain.from_iterable(texts), np.uint16, int(starts[-1])), f"{name}_at": starts}


def to_run(inputs: Arrays, scores: Arrays, lenient: bool = False) -> dict[str, dict[str, float]]:
    """The candidates of each query sorted by score, as in a run; `lenient`: with the papers that the first stage missed.

    Those take the places of its last candidates, so that the number of candidates stays.
    """
    if scores["scores"].shape != inputs["rows"].shape:
        raise CitewellError("the scores are of other inputs; score these inputs")
    names = inputs["papers"]
    run = {}
    for query, row, values in zip(inputs["questions"].tolist(), inputs["rows"], scores["scores"], strict=True):
        present = _candidates(row, int(inputs.get("depth", len(row))), lenient)
        order = present[np.argsort(-values[present], kind="stable")]
        strictly_decreasing = strictly_falling(values[order].astype(np.float32))
        run[query] = dict(zip(names[row[order]].tolist(), strictly_decreasing.tolist(), strict=True))
    return run


def _candidates(row: Array, depth: int, lenient: bool) -> Array:
    """The places of the candidates in a row of papers."""
    present = np.flatnonzero(row != NO_PAPER)
    retrieved, missed = present[present < depth], present[present >= depth]
    return np.concatenate([retrieved[: depth - len(missed)], missed]) if lenient else retrieved


class Announced(Progress):
    """Prints the start of each step to standard error."""

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        click.echo(f"{step}: {total or 0:,} {unit}", err=True)


@click.group()
def main() -> None:
    """Score on a GPU what takes a CPU hours."""


@main.command("make")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("inputs", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--recipe", required=True, help="A recipe of Medić's: its shape says how much is read.")
@click.option("--split", default="test", show_default=True)
@click.option("--sample", type=int, help="Number of queries, sampled at random.")
@click.option("--seed", default=0, show_default=True)
@click.option("--first-stage", help="The pipeline that retrieves the candidates; default: that of the recipe.")
@click.option("--depth", default=1000, show_default=True)
@click.option("--lenient", is_flag=True, help="Also score the relevant papers that the first stage missed.")
@click.option("--encoder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The base of the models.")
def make_command(folder: Path, inputs: Path, recipe: str, split: str, sample: int | None, seed: int, **options: Any) -> None:
    """Write the inputs for the queries of the set in FOLDER. Contexts are cut as the recipe says, for the first stage too."""
    from citewell.train.from_sets import base_folder
    from citewell.train.recipe import PackRecipe, load_recipe
    from citewell.train.training import train_missing

    chosen = load_recipe(recipe)
    if not isinstance(chosen, PackRecipe) or not chosen.shape:
        raise CitewellError(
            f"the recipe {recipe!r} is not for an enhanced-context model; name one that begins with 'medic-text'"
        )
    shape = Shape(**{**chosen.shape, "kernels": tuple(chosen.shape.get("kernels", Shape.kernels))})
    read = Inputs(**chosen.inputs)
    evaluation = Evaluation(
        *(folder, "local", split, sample, seed),
        lenient=options["lenient"],
        train=train_missing,
        context_characters=read.context_characters,
    )
    save(
        collect_inputs(
            evaluation,
            pipeline(options["first_stage"] or chosen.negatives.get("first_stage") or "bm25"),
            options["depth"],
            shape,
            base_folder(chosen, options["encoder"]),
            Announced(),
            read,
        ),
        inputs,
    )


@main.command("run")
@click.argument("inputs", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("scores", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("run", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--lenient", is_flag=True, help="Rank the relevant papers that the first stage missed, too.")
def run_command(inputs: Path, scores: Path, run: Path, lenient: bool) -> None:
    """Turn scores into a run in TREC's format."""
    with run.open("w", encoding="utf-8") as stream:
        write_run(stream, run.stem, to_run(load(inputs), load(scores), lenient))


if __name__ == "__main__":
    main()
