"""Measures every pipeline on every set and task, and writes the pages of results: ``make results``.

The figures are stored in ``results.json``, so that one set or task can be measured again without the others:
``python -m docs.results --set cs --task local``. External runs have tables of their own:
``python -m docs.results --set cs --task local --table "Medić's re-rankers" --runs FOLDER``.
``python -m docs.results --write-only`` measures nothing and writes the pages and the plot from the stored figures:
``results.md`` with the conclusions, and one page of tables for each set and task in ``results/``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from citewell.cli.progress import TerminalProgress
from citewell.cli.reproduce import available_sets
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.plots import draw_bars, draw_report, heat_map
from citewell.evaluate.report import Report
from citewell.evaluate.sets import DataSet
from citewell.evaluate.tuning import parse_grid, tune
from citewell.pipeline.registry import definitions, pipeline
from citewell.train.training import train_missing
from docs import results_pages

DATA = Path(__file__).with_name("results.json")
PLOTS = Path(__file__).with_name("plots")
SAMPLE = 1000
SMALL_SAMPLE = 500
"""The sample of tables with pipelines that take a second a query."""
BASELINE = "bm25"
TUNING_SAMPLE = 500
STARTS = "seeds=100,200,300,400,500,600,700,800,900,1000"
ROUNDS = ("bm25", "navigate", "navigate-2", "navigate-3")
ROUNDS_SHOWN = ("F1@20", "RR", "R@20", "R@1000", "Overlap@1000")
OURS = (
    "dense-citewell",
    "dense-citewell-context",
    "dense-citewell-abstract",
    "static-citewell",
    "hybrid-rrf",
    "co-cited",
    "references-of-top",
    "references-of-similar",
    "same-authors",
    "references-of-same-authors",
    "context-similarity",
    "cross-encoder",
    "fast",
    "learned",
    "learned-co-citation",
    "best",
)
"""Pipelines with citewell's own models, and those that the commands use by default: they have tables of their own."""
BASELINES_OF_OURS = ("bm25", "bm25-contexts")
"""The other pipelines in these tables."""
EVIDENCE = (
    "jpdrmm",
    "jpdrmm-graph",
    "jpdrmm-semiser",
    "semiser",
    "semiser-tuned",
    "ensemble-sum",
    "ensemble-max",
    "bm25-semiser",
)
"""The systems of AUEB-NLP, which rank sentences: measured on evidence sets, in a table of their own."""
NEEDS_CONTEXT = ("dense-citewell-context", "dense-citewell-abstract")
GRID = ("k1=0.5,1.2,2.0,3.0", "b=0.25,0.5,0.75,0.9")


@click.command()
@click.option("--set", "names", multiple=True, help="Only this set (repeatable).")
@click.option("--task", "tasks", multiple=True, help="Only this task (repeatable).")
@click.option("--table", "part", default="", help="Only tables whose name ends in this, such as 'ours'.")
@click.option("--pipeline", "chosen", multiple=True, help="Only these pipelines of each table (repeatable) and the baseline.")
@click.option(
    "--runs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Score the TREC runs in this folder instead of pipelines.",
)
@click.option("--sample", default=SMALL_SAMPLE, show_default=True, help="The number of queries of the runs.")
@click.option("--tuning-only", is_flag=True, help="Only what is measured on dev: k1 and b, the rounds of navigation.")
@click.option("--write-only", is_flag=True, help="Measure nothing; write the pages and the plot from the stored figures.")
def main(
    names: tuple[str, ...],
    tasks: tuple[str, ...],
    part: str,
    chosen: tuple[str, ...],
    runs: Path | None,
    sample: int,
    tuning_only: bool,
    write_only: bool,
) -> None:
    """Measure, and write docs/results.md and docs/results/."""
    folders = [] if write_only else available_sets()
    if not folders and not write_only:
        raise CitewellError("no data set is available; set $CITEWELL_SETS to the folder of the sets")
    if runs is not None:
        _store_runs(folders, names, tasks, part, runs, sample)
        folders = []
    for folder in folders:
        dataset = DataSet.open(folder)
        selected = not names or dataset.name in names
        if not part and "local" in dataset.tasks and selected and (not tasks or "local" in tasks):
            _store(f"{dataset.name} · tuning", _tuned(folder))
        if not part and "global" in dataset.tasks and selected and (not tasks or "global" in tasks):
            _store(f"{dataset.name} · navigation, dev", _navigated(folder))
        for key, task, rules, pipelines in () if tuning_only else _tables(dataset):
            if selected and (not tasks or task in tasks) and key.endswith(part):
                some = [name for name in pipelines if not chosen or name in (BASELINE, *chosen)]
                _store(key, _measure(folder, key, task, rules, some))
    write_pages()


def write_pages() -> None:
    """Write every page and the plot of the first one from the stored figures."""
    stored = stored_figures()
    draw_bars(*results_pages.panels(stored), PLOTS / "summary")
    (PLOTS / "summary.png").unlink()
    results_pages.FOLDER.mkdir(exist_ok=True)
    for path, text in results_pages.pages(stored).items():
        path.write_text(text, encoding="utf-8")


def stored_figures() -> dict[str, Any]:
    figures: dict[str, Any] = msgspec.json.decode(DATA.read_bytes()) if DATA.exists() else {}
    return figures


def _store(key: str, measured: dict[str, Any]) -> None:
    """Add to the stored figures, to which another process may have added in the meantime."""
    DATA.write_bytes(msgspec.json.format(msgspec.json.encode(stored_figures() | {key: measured})) + b"\n")


def _tables(dataset: DataSet) -> Iterator[tuple[str, str, dict[str, bool], list[str]]]:
    """The tables of a set: a name, the task, the rules, and the pipelines of each."""
    for task in dataset.tasks:
        others = (*OURS, *EVIDENCE, *results_pages.NOT_MEASURED.get(dataset.name, ()))
        yield f"{dataset.name} · {task}", task, {}, _suitable(definitions(), task, others)
        yield f"{dataset.name} · {task} · ours", task, {}, [*BASELINES_OF_OURS, *_suitable(OURS, task)]
        if task == "evidence":
            yield f"{dataset.name} · {task} · AUEB's", task, {}, [BASELINE, *_suitable(EVIDENCE, task)]
        if task in ("local", "paragraph"):
            rules = {"with_bibliography": True}
            yield f"{dataset.name} · {task} · with bibliography", task, rules, ["bm25", "bm25-bibliography", "best"]
        if any(path.name.startswith("distractors") for path in dataset.files()):
            yield f"{dataset.name} · {task} · with distractors", task, {"distractors": True}, ["bm25", "bm25-contexts", "best"]


def _suitable(names: Iterable[str], task: str, others: Collection[str] = ()) -> list[str]:
    return [name for name in names if name not in others and _is_suitable(name, task)]


def _is_suitable(name: str, task: str) -> bool:
    """Whether a pipeline is measured in a task.

    Pipelines that differ from another only if there is a gap are measured only in tasks with a gap. A pipeline whose weights
    are not installed is not measured.
    """
    fused = name in ("dense-fusion", "dense-sum")
    local = (name.startswith("dense-") and not fused) or (name.endswith("-cited") and name != "bm25-cited")
    fits = (task == "local" or not local) and (task in ("local", "paragraph") or name not in NEEDS_CONTEXT)
    return fits and name != "bm25-bibliography" and not pipeline(name).missing_weights()


def _measure(folder: Path, key: str, task: str, rules: dict[str, bool], pipelines: list[str]) -> dict[str, Any]:
    click.echo(key, err=True)
    sample = SMALL_SAMPLE if "best" in pipelines else SAMPLE
    with TerminalProgress() as progress:
        evaluation = Evaluation(
            folder,
            task,
            sample=sample,
            distractors=rules.get("distractors", False),
            with_bibliography=rules.get("with_bibliography", False),
            progress=progress,
            train=train_missing,
        )
        timed = task != "evidence" and evaluation.timeline.split.links_until is not None
        report = evaluation.report(pipelines, baseline=BASELINE, by_citations=timed)
        if not rules:
            _draw(report, evaluation, results_pages.plot_folder(key))
    options = "".join(f" --{name.replace('_', '-')}" for name in (*rules, *(["by_citations"] if timed else [])))
    chosen = "".join(f" --pipeline {name}" for name in pipelines)
    command = f"citewell evaluate {folder} --task {task} --sample {sample}{options}{chosen}"
    return {**_as_json(report), "command": command}


def _store_runs(
    folders: list[Path], names: tuple[str, ...], tasks: tuple[str, ...], part: str, runs: Path, sample: int
) -> None:
    """A table of the external runs in a folder, for one task of one set, and the baseline."""
    known = {DataSet.open(folder).name: folder for folder in folders}
    if len(names) != 1 or len(tasks) != 1 or not part or names[0] not in known:
        raise CitewellError("name the set and the task of the runs, and their table: --set, --task, --table")
    files = sorted(runs.glob("*.run"), key=lambda path: path.stem)
    with TerminalProgress() as progress:
        evaluation = Evaluation(known[names[0]], tasks[0], sample=sample, progress=progress, train=train_missing)
        report = evaluation.report([BASELINE], files, baseline=BASELINE, by_citations=True)
    listed = "".join(f" --run {path.name}" for path in files)
    command = f"citewell evaluate {known[names[0]]} --task {tasks[0]} --sample {sample} --by-citations"
    command += f" --pipeline {BASELINE}{listed}"
    _store(f"{names[0]} · {tasks[0]} · {part}", {**_as_json(report), "command": command})


def _tuned(folder: Path) -> dict[str, Any]:
    """The two parameters of BM25 on dev, as a grid and as a heat map."""
    with TerminalProgress() as progress:
        evaluation = Evaluation(folder, "local", "dev", TUNING_SAMPLE, progress=progress, train=train_missing)
        tuning = tune(evaluation, "bm25", parse_grid(GRID), "R@1000")
    name = evaluation.dataset.name
    click.echo(f"{name} · tuning", err=True)
    (x_name, x_values), (y_name, y_values) = tuning.grid.items()
    title = f"{name} · local · dev · {tuning.queries:,} queries · bm25 · R@1000"
    (PLOTS / f"{name}-local").mkdir(parents=True, exist_ok=True)
    for path in heat_map(
        tuning.matrix(), x_name, x_values, y_name, y_values, title, "R@1000", PLOTS / f"{name}-local" / "heat-map"
    ):
        if path.suffix == ".png":
            path.unlink()
    command = (
        f"citewell tune {folder} --pipeline bm25 --task local --sample {TUNING_SAMPLE} --measure R@1000 --grid {' '.join(GRID)}"
    )
    return {"grid": tuning.grid, "values": tuning.matrix().tolist(), "queries": tuning.queries, "command": command}


def _navigated(folder: Path) -> dict[str, Any]:
    """How many papers to start from (kd; kd + kc = 1000), and the effect of each further round, on dev."""
    with TerminalProgress() as progress:
        evaluation = Evaluation(
            folder, "global", "dev", TUNING_SAMPLE, measures=ROUNDS_SHOWN, progress=progress, train=train_missing
        )
        swept = tune(evaluation, "navigate", parse_grid([STARTS]), "R@1000")
        report = evaluation.report(list(ROUNDS), baseline=BASELINE)
    click.echo(f"{evaluation.dataset.name} · navigation", err=True)
    command = f"citewell evaluate {folder} --task global --split dev --sample {TUNING_SAMPLE}"
    command += "".join(f" --pipeline {name}" for name in ROUNDS) + "".join(f" --measure {name}" for name in ROUNDS_SHOWN)
    sweep = (
        f"citewell tune {folder} --pipeline navigate --task global --sample {TUNING_SAMPLE} --measure R@1000 --grid {STARTS}"
    )
    return {
        **_as_json(report),
        "shown": ROUNDS_SHOWN,
        "command": f"{command}\n{sweep}",
        "sweep": {str(point.settings["seeds"]): point.value for point in swept.points},
    }


def _as_json(report: Report) -> dict[str, Any]:
    figures: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report.as_json()))
    return figures


def _draw(report: Report, evaluation: Evaluation, folder: Path) -> None:
    for path in draw_report(report, evaluation, folder):
        if path.suffix == ".png":
            path.unlink()


if __name__ == "__main__":
    main()
