"""Measures every pipeline on every set and task and writes ``results.md``: ``make results``.

What was measured is kept in ``results.json``, so that one set or task can be done again without the others:
``python -m docs.results --set cs --task local``. Runs that were made elsewhere have tables of their own:
``python -m docs.results --set cs --task local --table "medić's" --runs FOLDER``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from citewell.cli.progress import Bar
from citewell.cli.reproduce import sets_at_hand
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.plots import draw_report, heat_map
from citewell.evaluate.report import SHOWN, Report
from citewell.evaluate.sets import DataSet
from citewell.evaluate.tuning import parse_grid, tune
from citewell.pipeline.registry import definitions, pipeline

PAGE = Path(__file__).with_name("results.md")
DATA = Path(__file__).with_name("results.json")
PLOTS = Path(__file__).with_name("plots")
SAMPLE = 1000
SAMPLE_OF_OURS = 500
BASELINE = "bm25"
TUNING_SAMPLE = 500
STARTS = "seeds=100,200,300,400,500,600,700,800,900,1000"
ROUNDS = ("bm25", "navigate", "navigate-2", "navigate-3")
ROUNDS_SHOWN = ("F1@20", "RR", "R@20", "R@1000", "Overlap@1000")
LEFT_OUT = {"elife": ("dense-cited", "dense-citing", "hyperdoc2vec-cited", "hybrid-cited")}
"""Pipelines that are not measured on a set: its quarter of a million contexts take longer than all else together."""
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
"""Pipelines that use citewell's own models, or are the fast and the best of them: they have tables of their own."""
BESIDE = ("bm25", "bm25-contexts")
"""What stands beside them there."""
EVIDENCE = (
    "jpdrmm",
    "jpdrmm-graph",
    "jpdrmm-semiser",
    "semiser",
    "ensemble-sum",
    "ensemble-max",
    "bm25-semiser",
)
"""The systems of AUEB-NLP, which rank sentences: measured where there are questions for evidence, in a table of their own."""
DEPENDS_ON_CONTEXT = ("dense-citewell-context", "dense-citewell-abstract")
GRID = ("k1=0.5,1.2,2.0,3.0", "b=0.25,0.5,0.75,0.9")

_OPENING = """# Results

Every pipeline on every set at hand, test split, strict in time: a query sees only papers up to its own date, links and
contexts of citing papers up to the last dev year, and never its own record, references or contexts. Made by `make results`,
which runs the command above each table; where a task has more questions than that one's sample, they are drawn with seed 0.
The grids of k1 and b, and the rounds of navigation (after Table 6 of Nogueira et al. 2020), are measured on dev years, which
alone choices are made on.

Bold: the best. \\*: differs from `{baseline}` (paired randomisation test, Holm-corrected over the table, p < .05). ±: half of
the 95% bootstrap interval. ms: CPU milliseconds a query on two shared cores. `snippets:` are sentences of the ten best papers,
`given:` sentences of the right papers.
"""


@click.command()
@click.option("--set", "names", multiple=True, help="Only this set (repeatable).")
@click.option("--task", "tasks", multiple=True, help="Only this task (repeatable).")
@click.option("--table", "part", default="", help="Only tables whose name ends so, such as 'ours'.")
@click.option("--pipeline", "chosen", multiple=True, help="Of each table only these (repeatable), and the baseline.")
@click.option(
    "--runs", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Of the runs in this folder a table."
)
@click.option("--tuning-only", is_flag=True, help="Only what is chosen on dev: k1 and b, the rounds of navigation.")
@click.option("--page-only", is_flag=True, help="Measure nothing; write the page from what is known.")
def main(
    names: tuple[str, ...],
    tasks: tuple[str, ...],
    part: str,
    chosen: tuple[str, ...],
    runs: Path | None,
    tuning_only: bool,
    page_only: bool,
) -> None:
    """Measure, and write docs/results.md."""
    folders = [] if page_only else sets_at_hand()
    if not folders and not page_only:
        raise CitewellError("there is no set at hand; name their folder in $CITEWELL_SETS")
    if runs is not None:
        _keep_runs(folders, names, tasks, part, runs)
        folders = []
    for folder in folders:
        dataset = DataSet.open(folder)
        if not part and "local" in dataset.tasks and (not names or dataset.name in names) and (not tasks or "local" in tasks):
            _keep(f"{dataset.name} · tuning", _tuned(folder))
        if not part and "global" in dataset.tasks and (not names or dataset.name in names) and (not tasks or "global" in tasks):
            _keep(f"{dataset.name} · navigation, dev", _navigated(folder))
        for key, task, rules, pipelines in () if tuning_only else _tables(dataset):
            if (not names or dataset.name in names) and (not tasks or task in tasks) and key.endswith(part):
                some = [name for name in pipelines if not chosen or name in (BASELINE, *chosen)]
                _keep(key, _measure(folder, key, task, rules, some))
    PAGE.write_text(page(_known()), encoding="utf-8")


def _known() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(DATA.read_bytes()) if DATA.exists() else {}
    return found


def _keep(key: str, measured: dict[str, Any]) -> None:
    """Add to what is known, which another process may have added to in the meantime."""
    DATA.write_bytes(msgspec.json.format(msgspec.json.encode(_known() | {key: measured})) + b"\n")


def _tables(dataset: DataSet) -> Iterator[tuple[str, str, dict[str, bool], list[str]]]:
    """A name for each table of a set, its task, its rules, and the pipelines in it."""
    for task in dataset.tasks:
        left_out = (*OURS, *EVIDENCE, *LEFT_OUT.get(dataset.name, ()))
        yield f"{dataset.name} · {task}", task, {}, _with_a_place(definitions(), task, left_out)
        yield f"{dataset.name} · {task} · ours", task, {}, [*BESIDE, *_with_a_place(OURS, task)]
        if task == "evidence":
            yield f"{dataset.name} · {task} · AUEB's", task, {}, [BASELINE, *_with_a_place(EVIDENCE, task)]
        if task in ("local", "paragraph"):
            told = {"with_bibliography": True}
            yield f"{dataset.name} · {task} · with bibliography", task, told, ["bm25", "bm25-bibliography", "best"]
        if any(path.name.startswith("distractors") for path in dataset.files()):
            yield f"{dataset.name} · {task} · with distractors", task, {"distractors": True}, ["bm25", "bm25-contexts", "best"]


def _with_a_place(names: Iterable[str], task: str, left_out: Collection[str] = ()) -> list[str]:
    return [name for name in names if name not in left_out and _has_place(name, task)]


def _has_place(name: str, task: str) -> bool:
    """Whether a pipeline is measured in a task: those that differ from another only where there is a gap, only there.

    One whose weights are not at hand has no place yet.
    """
    fused = name in ("dense-fusion", "dense-sum")
    local = (name.startswith("dense-") and not fused) or (name.endswith("-cited") and name != "bm25-cited")
    fits = (task == "local" or not local) and (task in ("local", "paragraph") or name not in DEPENDS_ON_CONTEXT)
    return fits and name != "bm25-bibliography" and not pipeline(name).missing_weights()


def _measure(folder: Path, key: str, task: str, rules: dict[str, bool], pipelines: list[str]) -> dict[str, Any]:
    click.echo(key, err=True)
    sample = SAMPLE_OF_OURS if "best" in pipelines else SAMPLE
    with Bar() as bar:
        evaluation = Evaluation(
            folder,
            task,
            sample=sample,
            distractors=rules.get("distractors", False),
            with_bibliography=rules.get("with_bibliography", False),
            progress=bar,
            watcher=bar,
        )
        timed = task != "evidence" and evaluation.timeline.split.links_until is not None
        report = evaluation.report(pipelines, baseline=BASELINE, fame=timed)
        if not rules:
            _draw(report, evaluation, _plots(key))
    options = "".join(f" --{name.replace('_', '-')}" for name in (*rules, *(["by_citations"] if timed else [])))
    chosen = "".join(f" --pipeline {name}" for name in pipelines)
    command = f"citewell evaluate {folder} --task {task} --sample {sample}{options}{chosen}"
    return {**msgspec.json.decode(msgspec.json.encode(report.as_json())), "command": command}


def _keep_runs(folders: list[Path], names: tuple[str, ...], tasks: tuple[str, ...], part: str, runs: Path) -> None:
    """A table of the runs in a folder, which answer one task of one set, beside the baseline."""
    known = {DataSet.open(folder).name: folder for folder in folders}
    if len(names) != 1 or len(tasks) != 1 or not part or names[0] not in known:
        raise CitewellError("say of which set and task the runs are, and what to call their table: --set, --task, --table")
    files = sorted(runs.glob("*.run"), key=lambda path: path.stem)
    with Bar() as bar:
        evaluation = Evaluation(known[names[0]], tasks[0], sample=SAMPLE_OF_OURS, progress=bar, watcher=bar)
        report = evaluation.report([BASELINE], files, baseline=BASELINE, fame=True)
    given = "".join(f" --run {path.name}" for path in files)
    command = f"citewell evaluate {known[names[0]]} --task {tasks[0]} --sample {SAMPLE_OF_OURS} --by-citations"
    command += f" --pipeline {BASELINE}{given}"
    found = {**msgspec.json.decode(msgspec.json.encode(report.as_json())), "command": command}
    _keep(f"{names[0]} · {tasks[0]} · {part}", found)


def _tuned(folder: Path) -> dict[str, Any]:
    """BM25's two parameters on dev, as a grid and as a heat map."""
    with Bar() as bar:
        evaluation = Evaluation(folder, "local", "dev", TUNING_SAMPLE, progress=bar, watcher=bar)
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
    """How many papers to start from (kd; kd + kc = 1000), and what each further round brings, on dev."""
    with Bar() as bar:
        evaluation = Evaluation(folder, "global", "dev", TUNING_SAMPLE, measures=ROUNDS_SHOWN, progress=bar, watcher=bar)
        swept = tune(evaluation, "navigate", parse_grid([STARTS]), "R@1000")
        report = evaluation.report(list(ROUNDS), baseline=BASELINE)
    click.echo(f"{evaluation.dataset.name} · navigation", err=True)
    command = f"citewell evaluate {folder} --task global --split dev --sample {TUNING_SAMPLE}"
    command += "".join(f" --pipeline {name}" for name in ROUNDS) + "".join(f" --measure {name}" for name in ROUNDS_SHOWN)
    sweep = (
        f"citewell tune {folder} --pipeline navigate --task global --sample {TUNING_SAMPLE} --measure R@1000 --grid {STARTS}"
    )
    return {
        **msgspec.json.decode(msgspec.json.encode(report.as_json())),
        "shown": ROUNDS_SHOWN,
        "command": f"{command}\n{sweep}",
        "sweep": {str(point.settings["seeds"]): point.value for point in swept.points},
    }


def _plots(key: str) -> Path:
    return PLOTS / key.replace(" · ", "-").replace("'", "")


def _draw(report: Report, evaluation: Evaluation, folder: Path) -> None:
    for path in draw_report(report, evaluation, folder):
        if path.suffix == ".png":
            path.unlink()


def page(known: dict[str, Any]) -> str:
    """The page, from what was measured."""
    parts = [_OPENING.format(baseline=BASELINE)]
    for key, report in sorted(known.items()):
        table = _grid(report) if "grid" in report else _table(report)
        parts.append(f"## {key}\n\n{report['queries']:,} queries.\n\n```\n{report['command']}\n```\n\n{table}\n")
        if fame := report.get("by_citations"):
            parts.append(_fame(fame))
        if sweep := report.get("sweep"):
            best = max(sweep.values())
            cells = [f"**{value:.3f}**" if value == best else f"{value:.3f}" for value in sweep.values()]
            heading = f"| papers that the round starts from (kd) | {' | '.join(sweep)} |\n|---|{'---:|' * len(sweep)}"
            parts.append(f"{heading}\n| R@1000 | {' | '.join(cells)} |\n")
        pictures = sorted(_plots(key).glob("*.svg"))
        links = " · ".join(f"[{path.stem.replace('-', ' ')}]({path.relative_to(PAGE.parent)})" for path in pictures)
        if links:
            parts.append(f"Plots: {links}\n")
    measured = {name for report in known.values() for name in report.get("pipelines", ())}
    for dataset, names in LEFT_OUT.items():
        parts.append(f"Left out on {dataset}, for the time that its contexts take: {', '.join(names)}.\n")
    if waiting := [name for name in definitions() if name not in measured and not pipeline(name).missing_weights()]:
        parts.append(f"## Not measured yet\n\n{', '.join(waiting)}\n")
    return "\n".join(parts)


def _grid(tuning: dict[str, Any]) -> str:
    """The values of a grid, on dev; the best is bold."""
    (x_name, x_values), (y_name, y_values) = tuning["grid"].items()
    best = max(max(row) for row in tuning["values"])
    lines = [f"| {y_name} \\ {x_name} | {' | '.join(map(str, x_values))} |", f"|---|{'---:|' * len(x_values)}"]
    for value, row in zip(y_values, tuning["values"], strict=True):
        cells = [f"{f'**{cell:.3f}**' if cell == best else f'{cell:.3f}'}" for cell in row]
        lines.append(f"| {value} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _fame(fame: dict[str, Any]) -> str:
    """What was found, by how often it was cited before; the best is bold."""
    best = [
        max((share for share in column if share is not None), default=None)
        for column in zip(*fame["found"].values(), strict=True)
    ]
    labels = [f"{label} (n = {pairs:,})" for label, pairs in zip(fame["cited before"], fame["wanted"], strict=True)]
    lines = [
        f"| found among the first {fame['depth']} if cited before … times | {' | '.join(labels)} |",
        f"|---|{'---:|' * len(labels)}",
    ]
    for system, shares in fame["found"].items():
        texts = ["–" if share is None else f"{share:.3f}".lstrip("0") for share in shares]
        cells = [f"**{text}**" if share == top else text for text, share, top in zip(texts, shares, best, strict=True)]
        lines.append(f"| {system} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _table(report: dict[str, Any]) -> str:
    systems = report["pipelines"]
    shown = report.get("shown", SHOWN[report["task"]])
    names = [name for name in shown if any(name in figures for figures in systems.values())]
    best = {name: max(figures[name] for figures in systems.values() if figures.get(name) is not None) for name in names}
    marks = {(each["system"], each["measure"]) for each in report["comparisons"] if each["p_randomisation"] < 0.05}
    lines = [f"| pipeline | {' | '.join(names)} | ms |", f"|---|{'---:|' * (len(names) + 1)}"]
    for system, figures in systems.items():
        cells = []
        for name in names:
            low, high = report["intervals"][system][name]
            text = f"{figures[name]:.3f}".lstrip("0") + ("\\*" if (system, name) in marks else "")
            cells.append(f"{f'**{text}**' if figures[name] == best[name] else text} ±{(high - low) / 2:.3f}".replace("±0", "±"))
        seconds = figures["seconds_per_query"]
        spent = "–" if seconds is None else f"{1000 * seconds:.1f}"
        lines.append(f"| {system} | {' | '.join(cells)} | {spent} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
