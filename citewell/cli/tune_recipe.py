"""``citewell tune --recipe``: cross-validation of a recipe's settings, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell import threads
from citewell.cli.options import print_json
from citewell.errors import CitewellError

if TYPE_CHECKING:
    from citewell.train.cross_validation import CrossValidation


def tune_and_print(
    folder: Path,
    name: str,
    grid: Sequence[str],
    measure: str | None,
    folds: int,
    out: Path | None,
    jobs: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Tune a recipe on the train queries of a set and print all settings, the best one and those like it."""
    from citewell.cli.progress import TerminalProgress
    from citewell.evaluate.tuning import parse_grid
    from citewell.train.cross_validation import MEAN, tune_recipe
    from citewell.train.recipe import EvidenceRecipe, load_recipe

    recipe = load_recipe(name)
    if not isinstance(recipe, EvidenceRecipe):
        raise CitewellError(f"the recipe {name!r} cannot be tuned; jpdrmm, jpdrmm-graph and jpdrmm-walks can")
    if out is None:
        raise CitewellError("name a folder that keeps the finished trainings: --out DIR")
    if not grid and not recipe.tuning:
        raise CitewellError(f"the recipe {name!r} has no grid of its own; give values to try: --grid rate=0.001,0.005")
    chosen = parse_grid(grid) if grid else dict(recipe.tuning)
    with TerminalProgress() as progress:
        tuned = tune_recipe(recipe, [folder], chosen, out, folds, measure or MEAN, jobs or threads.cores(), seed, progress)
    if as_json:
        print_json(_as_json(folder, tuned))
    else:
        _print(folder, tuned)


def _as_json(folder: Path, tuned: CrossValidation) -> dict[str, Any]:
    return {
        "set": folder.name,
        "split": "train",
        "recipe": tuned.recipe,
        "queries": tuned.queries,
        "folds": tuned.folds,
        "measure": tuned.measure,
        "bm25": tuned.bm25,
        "settings": tuned.rows,
        "best": tuned.best,
        "alike": [row.settings for row in tuned.alike],
    }


def _print(folder: Path, tuned: CrossValidation) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    heading = f"{folder.name} · train · {tuned.queries:,} queries in {tuned.folds} folds · {tuned.recipe}"
    console.print(f"{heading} · mean ± standard deviation over the folds", style="bold", highlight=False)
    varied = [name for name in tuned.best.settings if len({row.settings[name] for row in tuned.rows}) > 1]
    names = varied or list(tuned.best.settings)
    measures = list(tuned.best.figures)
    table = Table(box=None, padding=(0, 1))
    for name in (*names, *measures):
        table.add_column(name, justify="right")
    for row in tuned.rows:
        values = [f"{figure.mean:.4f} ±{figure.spread:.4f}" for figure in row.figures.values()]
        table.add_row(*(f"{row.settings[name]:g}" for name in names), *values, style="bold" if row is tuned.best else "")
    table.add_row("BM25", *[""] * (len(names) - 1), f"{tuned.bm25.mean:.4f} ±{tuned.bm25.spread:.4f}")
    console.print(table)
    settings = ", ".join(f"{name} = {value:g}" for name, value in tuned.best.settings.items())
    console.print(f"best by {tuned.measure}: {settings}", highlight=False)
    console.print(
        f"{len(tuned.alike)} of {len(tuned.rows)} settings are less than one standard error below it", highlight=False
    )
