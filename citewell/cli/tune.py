"""``citewell tune``: finds the best parameters of a pipeline on the dev years of a set, or of a recipe by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell import extras
from citewell.cli.evaluate import TASKS
from citewell.cli.options import json_option, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.evaluate.tuning import Tuning

_LISTED = 20


@click.command("tune")
@click.argument("folder", metavar="SET", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("more", nargs=-1, metavar="[NAME=VALUES]...")
@click.option("--pipeline", "name", default="bm25", show_default=True, help="The pipeline to tune.")
@click.option(
    "--recipe", metavar="RECIPE", help="Tune the settings of this recipe (jpdrmm and others) by cross-validation on train."
)
@click.option("--grid", multiple=True, metavar="NAME=VALUES", help="A parameter and the values to try: k1=0.5,1.2,2.5")
@click.option(
    "--measure",
    help="The measure to maximise; default: R@1000, or with --recipe the mean of AP (papers) and sentences:AP.",
)
@click.option("--folds", type=click.IntRange(2), metavar="N", help="With --recipe: the number of folds; default: 10.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="With --recipe: keeps the finished trainings, so that the same command resumes.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="With --recipe: processes; default: one per core.")
@click.option("--task", type=click.Choice(TASKS), help="The task of the queries; default: the first task of the set.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Run a random sample of N queries; default: all.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed of the sample.")
@click.option("--distractors", is_flag=True, help="Add the set's distractors: papers that nobody cites.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw the heat map of two parameters to FILE.png and FILE.svg.",
)
@json_option
def command(
    folder: Path,
    more: tuple[str, ...],
    name: str,
    recipe: str | None,
    grid: tuple[str, ...],
    measure: str | None,
    folds: int | None,
    out: Path | None,
    jobs: int | None,
    task: str | None,
    sample: int | None,
    seed: int,
    distractors: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Measure a pipeline with every setting of a grid, on the dev split only.

    With --recipe, train a recipe with every setting of a grid, once for each fold of the train queries, and measure it on that
    fold. Without --grid, a recipe's own grid is used: for jpdrmm, the nine weights that AUEB tried for both losses.

    \b
        citewell tune data/cs --pipeline bm25 --grid k1=0.5,1.2,2.5 b=0.25,0.5,0.75 --measure R@1000
        citewell tune data/cs --pipeline bm25-contexts --task local --grid k1=1,2,3 --measure R@10 --sample 2000
        citewell tune data/scifact --recipe jpdrmm --out tuning
        citewell tune data/scifact --recipe jpdrmm --out tuning --grid paper_loss=1 sentence_loss=0,0.01,1 steps=60 --folds 5
    """
    if recipe:
        from citewell.cli.tune_recipe import tune_and_print

        refused = {
            "--pipeline": name != "bm25",
            "--task": task,
            "--sample": sample,
            "--distractors": distractors,
            "--plot": plot,
        }
        if used := [option for option, value in refused.items() if value]:
            raise click.UsageError(f"{used[0]} is for a pipeline, not for --recipe; leave it out")
        tune_and_print(folder, recipe, (*grid, *more), measure, folds or 10, out, jobs, seed, as_json)
        return
    if used := [option for option, value in {"--folds": folds, "--out": out, "--jobs": jobs}.items() if value]:
        raise click.UsageError(f"{used[0]} is for --recipe; leave it out")
    measure = measure or "R@1000"
    extras.require("ir_measures", *(["matplotlib"] if plot else []))
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate.evaluation import Evaluation
    from citewell.evaluate.sets import DataSet
    from citewell.evaluate.tuning import parse_grid, tune
    from citewell.train.training import train_missing

    chosen = parse_grid((*grid, *more))
    if plot and len(chosen) != 2:
        raise click.UsageError("a heat map needs exactly two parameters in --grid")
    task = task or DataSet.open(folder).tasks[0]
    with TerminalProgress() as progress:
        evaluation = Evaluation(folder, task, "dev", sample, seed, distractors, progress=progress, train=train_missing)
        tuning = tune(evaluation, name, chosen, measure)
    heading = f"{evaluation.dataset.name} · {task} · dev · {tuning.queries:,} queries · {name} · {measure}"
    if plot:
        from citewell.evaluate.plots import heat_map

        (x_name, x_values), (y_name, y_values) = chosen.items()
        heat_map(tuning.matrix(), x_name, x_values, y_name, y_values, heading, measure, bare(plot))
    if as_json:
        print_json(_as_json(evaluation.dataset.name, task, tuning))
    else:
        from rich.console import Console

        console = Console()
        console.print(heading, style="bold", highlight=False)
        _print(tuning, console)


def bare(path: Path) -> Path:
    """The path without the suffix of an image."""
    return path.with_suffix("") if path.suffix in (".png", ".svg") else path


def _as_json(name: str, task: str, tuning: Tuning) -> dict[str, Any]:
    return {
        "set": name,
        "task": task,
        "split": "dev",
        "queries": tuning.queries,
        "pipeline": tuning.pipeline,
        "measure": tuning.measure,
        "points": tuning.points,
        "best": tuning.best,
    }


def _print(tuning: Tuning, console: Console) -> None:
    if len(tuning.grid) == 2:
        _print_heat(tuning, console)
    else:
        for point in sorted(tuning.points, key=lambda point: -point.value)[:_LISTED]:
            console.print(f"{point.value:.4f}  {_listed(point.settings)}", highlight=False)
    console.print(f"best: {_listed(tuning.best.settings)}: {tuning.measure} {tuning.best.value:.4f}", highlight=False)


def _print_heat(tuning: Tuning, console: Console) -> None:
    """Print the grid as a table with a background colour for each value."""
    from rich.table import Table

    (x_name, x_values), (y_name, y_values) = tuning.grid.items()
    matrix = tuning.matrix()
    low, high = float(matrix.min()), float(matrix.max())
    table = Table(box=None, padding=(0, 1))
    table.add_column(f"{y_name} \\ {x_name}", style="bold")
    for value in x_values:
        table.add_column(str(value), justify="right")
    for value, row in zip(y_values, matrix, strict=True):
        table.add_row(str(value), *(f"[{_shade(float(cell), low, high)}]{cell:.4f}[/]" for cell in row))
    console.print(table)


def _shade(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low) if high > low else 1.0
    red, green, blue = 250 - int(40 * share), 245 - int(45 * share), 220 - int(170 * share)
    return f"{'bold ' if share == 1.0 else ''}black on rgb({red},{green},{blue})"


def _listed(settings: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in settings.items())
