"""The pages of results, made from the stored figures.

``results.md`` has the conclusions, ``results/`` a page of tables for each set and task. Every table has the command that
prints it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from citewell.evaluate.plots import Bar
from citewell.evaluate.report import SHOWN
from citewell.pipeline.registry import definitions, pipeline

PAGE = Path(__file__).with_name("results.md")
FOLDER = Path(__file__).with_name("results")
PLOTS = Path(__file__).with_name("plots")
NOT_MEASURED = {"elife": ("dense-cited", "dense-citing", "hyperdoc2vec-cited", "hybrid-cited")}
"""Pipelines that are not measured on a set: its quarter of a million contexts take longer than everything else together."""

Stored = Mapping[str, Any]
"""Table to what was measured for it."""


class Task(NamedTuple):
    """What the first page shows of a task."""

    title: str
    sets: tuple[str, ...]
    measures: tuple[str, str]


TASKS = {
    "local": Task("Local: the papers to cite at one place in a sentence", ("cs", "elife"), ("R@10", "RR")),
    "global": Task("Global: the references of a paper, from its title and abstract", ("cs", "elife"), ("R@10", "F1@20")),
    "paragraph": Task("Paragraph: the papers of a paragraph, from its topic sentence", ("cs", "elife"), ("R@10", "RR")),
    "evidence": Task(
        "Evidence: papers and sentences for a claim or a question", ("scifact", "scisumm"), ("nDCG@10", "sentences:AP")
    ),
}
PUBLISHED = {
    "HybridCite 2020": ("hybrid",),
    "Medić 2023": ("textenh", "textcon", "textbib"),
    "AUEB-NLP 2020": ("jpdrmm", "ensemble"),
    "Nogueira et al. 2020": ("nogueira", "navigate-minilm", "navigate-mpnet"),
}
"""Study to how the names of its methods begin; the first page shows the strongest one of each study."""
SOURCES = (" · ours", "", " · AUEB's", " · Medić's re-rankers", " · Nogueira's classifiers")
"""The tables to take a row of the first page from, in this order."""

_TITLES = {"tuning": "k1 and b of BM25", "navigation, dev": "rounds of navigation", "ours": "citewell's own models"}

_CONCLUSIONS = """# Results

How well citewell finds the papers that published articles cite, next to published methods in the same test. Every query is
strict in time: it sees only papers up to its own date, citations and contexts of papers up to the last dev year, and never its
own record, references or contexts. [Evaluation](guides/evaluation.md) explains the rules and the measures.

`cs` (computer science) and `elife` (biology) are sets of articles with their citations. `scifact` and `scisumm` are sets of
claims and questions with relevant papers and sentences; they are small (73 and 18 queries).

## Conclusions

{conclusions}

![R@10 of the main methods by task](plots/summary.svg)

"""

_LEGEND = """Bold: best. ±: half of the 95% bootstrap interval. ms: CPU milliseconds per query on two shared cores.
"""

_FOOTER = """`make results` measures everything and writes these pages; `python -m docs.results --write-only` only writes them.
"""

_TABLES = """# {title}

Test split unless a heading says dev, strict in time. Queries are all of the split, or a sample with seed 0.
[Results](../results.md) has the conclusions.

Bold: best. \\*: differs from `bm25` (paired randomisation test, Holm-corrected over the table, p < .05). ±: half of the 95%
bootstrap interval. ms: CPU milliseconds per query on two shared cores. `sentences:` measures rank the sentences of the ten
best papers, `oracle:` measures the sentences of the relevant papers.
"""


def pages(stored: Stored) -> dict[Path, str]:
    """Every page and its text."""
    by_page: dict[str, list[str]] = {}
    for key in sorted(stored):
        by_page.setdefault(page_of(key), []).append(key)
    tables = {FOLDER / f"{name}.md": _tables_page(name, keys, stored) for name, keys in sorted(by_page.items())}
    return {PAGE: _first_page(stored, by_page), **tables}


def page_of(key: str) -> str:
    """The page of a table: ``cs-local`` for "cs · local · ours", ``cs-tuning`` for what was measured on dev."""
    dataset, task = key.split(" · ")[:2]
    return f"{dataset}-{task if task in TASKS else 'tuning'}"


def plot_folder(key: str) -> Path:
    return PLOTS / key.replace(" · ", "-").replace("'", "")


# -- the first page -------------------------------------------------------------------------------------------------------


class Source(NamedTuple):
    """Where a row of the first page comes from."""

    key: str
    system: str


def _first_page(stored: Stored, by_page: Mapping[str, Sequence[str]]) -> str:
    parts = [_CONCLUSIONS.format(conclusions="\n".join(f"- {line}" for line in _conclusions(stored)))]
    for name, task in TASKS.items():
        parts.append(f"## {task.title}\n\n{_summary(stored, name, task)}")
    parts.append(_LEGEND)
    listed = "\n".join(f"- [{_page_title(name)}](results/{name}.md): {_contents(by_page[name])}" for name in sorted(by_page))
    parts.append(f"## All tables\n\n{listed}\n")
    for dataset, names in NOT_MEASURED.items():
        parts.append(f"Not measured on {dataset}, because its contexts take too long: {', '.join(names)}.\n")
    measured = {name for report in stored.values() for name in report.get("pipelines", ())}
    waiting = [name for name in definitions() if name not in measured and not pipeline(name).missing_weights()]
    if waiting:
        parts.append(f"Not measured yet: {', '.join(waiting)}.\n")
    parts.append(_FOOTER)
    return "\n".join(parts)


def _page_title(name: str) -> str:
    dataset, _, task = name.partition("-")
    return f"{dataset}, {task}"


def _contents(keys: Iterable[str]) -> str:
    """The tables of a page, by the last part of their names."""
    return ", ".join(_TITLES.get(name := key.split(" · ")[-1], "all pipelines" if name in TASKS else name) for key in keys)


def rows(stored: Stored, name: str, task: Task) -> list[str]:
    """The systems that the first page shows of a task."""
    strongest = [best for starts in PUBLISHED.values() if (best := _strongest(stored, name, task, starts))]
    systems = ["bm25", "bm25-contexts", "navigate", "dense", *strongest, "best"]
    return [system for system in systems if any(_source(stored, dataset, name, system) for dataset in task.sets)]


def _strongest(stored: Stored, name: str, task: Task, starts: tuple[str, ...]) -> str | None:
    """The system of a study that is best in the first measure, as a mean over the sets; further seeds of one do not count."""
    totals: dict[str, list[float]] = {}
    for dataset in task.sets:
        tables = (stored.get(f"{dataset} · {name}{source}", {}) for source in SOURCES)
        for system in {system for table in tables for system in table.get("pipelines", ())}:
            if system.startswith(starts) and system != "hybrid-rrf" and "-seed-" not in system:
                totals.setdefault(system, []).append(_value(stored, _source(stored, dataset, name, system), task.measures[0]))
    complete = {system: sum(values) for system, values in totals.items() if len(values) == len(task.sets)}
    return max(complete, key=lambda system: (complete[system], system), default=None)


def _source(stored: Stored, dataset: str, task: str, system: str) -> Source | None:
    """The table that has a system, preferably the one that also has the default pipeline."""
    keys = (f"{dataset} · {task}{source}" for source in SOURCES)
    return next((Source(key, system) for key in keys if system in stored.get(key, {}).get("pipelines", ())), None)


def _value(stored: Stored, source: Source | None, measure: str) -> float:
    assert source is not None
    value: float = stored[source.key]["pipelines"][source.system][measure]
    return value


def _summary(stored: Stored, name: str, task: Task) -> str:
    """The table of a task, and the commands that print its rows."""
    systems = rows(stored, name, task)
    sources = {(dataset, system): _source(stored, dataset, name, system) for dataset in task.sets for system in systems}
    usual = {dataset: stored[source.key]["queries"] for dataset in task.sets if (source := sources[dataset, "best"])}
    columns = [(dataset, measure) for dataset in task.sets for measure in task.measures]
    best = {
        (dataset, measure): max(_value(stored, source, measure) for system in systems if (source := sources[dataset, system]))
        for dataset, measure in columns
    }
    first = task.sets[0]
    lines = [
        f"| method | {' | '.join(f'{dataset} {measure}' for dataset, measure in columns)} | ms ({first}) |",
        f"|---|{'---:|' * (len(columns) + 1)}",
    ]
    others: dict[str, int] = {}
    for system in systems:
        cells = []
        for dataset, measure in columns:
            source = sources[dataset, system]
            if source is None:
                cells.append("–")
                continue
            text = _cell(stored, source, measure, best[dataset, measure])
            if stored[source.key]["queries"] != usual[dataset]:
                others[dataset] = stored[source.key]["queries"]
                text += " †"
            cells.append(text)
        source = sources[first, system]
        seconds = stored[source.key]["pipelines"][system]["seconds_per_query"] if source else None
        lines.append(f"| {_label(system)} | {' | '.join(cells)} | {'–' if seconds is None else f'{1000 * seconds:.0f}'} |")
    queries = ", ".join(f"{dataset} {count:,}" for dataset, count in usual.items())
    note = f"Queries: {queries}."
    note += "".join(f" †: on {count:,} queries of {dataset}." for dataset, count in others.items())
    if any(source and _is_external(stored, source) for source in sources.values()):
        note += " The runs of re-rankers are made as [Training](guides/training.md) describes."
    commands = "\n".join(_commands(stored, filter(None, sources.values())))
    return "\n".join([*lines, "", note, "", f"```text\n{commands}\n```", ""])


def _label(system: str) -> str:
    """A system with the study that it comes from, and with other pipelines that are the same."""
    for study, starts in PUBLISHED.items():
        if system.startswith(starts):
            return f"{system} ({study})"
    known = definitions()
    if system == "bm25-contexts" and known.get("fast", {}).get("stages") == known[system]["stages"]:
        return "bm25-contexts (same as fast)"
    return f"**{system}** (default)" if system == "best" else system


def _cell(stored: Stored, source: Source, measure: str, best: float) -> str:
    value = _value(stored, source, measure)
    low, high = stored[source.key]["intervals"][source.system].get(measure, (None, None))
    text = f"**{_short(value)}**" if value == best else _short(value)
    return text if low is None else f"{text} ±{_short((high - low) / 2)}"


def _commands(stored: Stored, sources: Iterable[Source]) -> Iterator[str]:
    """The command of each table, with only the systems that are shown."""
    shown: dict[str, list[str]] = {}
    for source in sources:
        shown.setdefault(source.key, []).append(source.system)
    for key, systems in shown.items():
        command = re.sub(r" --by-citations| --(pipeline|run) \S+", "", stored[key]["command"])
        for system in systems:
            external = _is_external(stored, Source(key, system))
            command += f" --run {system}.run" if external else f" --pipeline {system}"
        yield command


def _is_external(stored: Stored, source: Source) -> bool:
    return stored[source.key]["pipelines"][source.system]["seconds_per_query"] is None


def _conclusions(stored: Stored) -> Iterator[str]:
    """What the figures say, with the figures."""

    def figure(dataset: str, task: str, system: str, measure: str) -> str:
        return _short(_value(stored, _source(stored, dataset, task, system), measure))

    def both(task: str, system: str, measure: str) -> str:
        return " and ".join(figure(dataset, task, system, measure) for dataset in TASKS[task].sets)

    def milliseconds(system: str) -> str:
        return f"{1000 * _value(stored, _source(stored, 'cs', 'local', system), 'seconds_per_query'):,.0f} ms"

    yield (
        "**The default pipeline, `best`, has the highest R@10 of these methods in every citation task.** On cs and elife it is"
        f" {both('local', 'best', 'R@10')} in the local task, {both('global', 'best', 'R@10')} in the global task and"
        f" {both('paragraph', 'best', 'R@10')} in the paragraph task; BM25 on title and abstract has"
        f" {both('local', 'bm25', 'R@10')}, {both('global', 'bm25', 'R@10')} and {both('paragraph', 'bm25', 'R@10')}."
    )
    yield (
        "**The sentences in which others cite a paper matter most.** Indexing them with the paper (`bm25-contexts`) raises the"
        f" local R@10 of BM25 from {both('local', 'bm25', 'R@10')} to {both('local', 'bm25-contexts', 'R@10')}, for a few"
        " milliseconds per query."
    )
    hybrid = _strongest(stored, "local", TASKS["local"], PUBLISHED["HybridCite 2020"])
    medic = _strongest(stored, "local", TASKS["local"], PUBLISHED["Medić 2023"])
    if hybrid and medic:
        yield (
            "**The published methods stay below `bm25-contexts` in the local task.** The strongest of HybridCite"
            f" (`{hybrid}`) has R@10 {both('local', hybrid, 'R@10')}. The strongest re-ranker of Medić (`{medic}`) has"
            f" {both('local', medic, 'R@10')}; BM25, whose candidates it re-ranks, has {both('local', 'bm25', 'R@10')}."
        )
    yield (
        "**Navigation finds more candidates.** Adding the references of the best papers raises the local R@1000 of BM25 from"
        f" {both('local', 'bm25', 'R@1000')} to {both('local', 'navigate', 'R@1000')}. In the local task it does not rank"
        f" better: RR is {both('local', 'navigate', 'RR')}, that of BM25 {both('local', 'bm25', 'RR')}. In the global task it"
        " raises R@10 as well."
    )
    yield from _on_uncited(stored)
    yield (
        f"**For claims, `best` ranks sentences as well as papers.** On scifact nDCG@10 rises from"
        f" {figure('scifact', 'evidence', 'bm25', 'nDCG@10')} (BM25) to {figure('scifact', 'evidence', 'best', 'nDCG@10')}, and"
        f" the average precision of sentences from {figure('scifact', 'evidence', 'bm25', 'sentences:AP')} to"
        f" {figure('scifact', 'evidence', 'best', 'sentences:AP')}."
    )
    yield (
        f"**Quality costs time.** On cs a local query takes {milliseconds('bm25-contexts')} of CPU with `bm25-contexts` and"
        f" {milliseconds('best')} with `best`. Use `fast` while typing."
    )


def _on_uncited(stored: Stored) -> Iterator[str]:
    slices = [stored.get(f"{dataset} · local · ours", {}).get("by_citations", {}) for dataset in TASKS["local"].sets]
    if all(slices):
        never, often = (_recalls(slices, at) for at in (0, -1))
        yield (
            "**The gain does not come from often cited papers alone.** For papers that nobody had cited before, the local R@10"
            f" is {never['best']} with `best` ({never['bm25']} with BM25); for papers cited more than 20 times it is"
            f" {often['best']} ({often['bm25']})."
        )


def _recalls(slices: Sequence[Mapping[str, Any]], at: int) -> dict[str, str]:
    """The recall of systems in one range of citation counts, on every set."""
    return {system: " and ".join(_short(each["recall"][system][at]) for each in slices) for system in ("bm25", "best")}


def panels(stored: Stored) -> tuple[str, str, list[str], dict[str, dict[str, list[Bar | None]]]]:
    """Title, measure, tasks, and for each set the bars of each system: the plot of the first page."""
    tasks = [name for name in TASKS if name != "evidence"]
    systems = list(dict.fromkeys(system for name in tasks for system in rows(stored, name, TASKS[name])))
    systems = [system for system in systems if not system.startswith(PUBLISHED["Medić 2023"])]
    sets = dict.fromkeys(dataset for name in tasks for dataset in TASKS[name].sets)
    return (
        "Recall at 10 of the main methods",
        "R@10",
        tasks,
        {dataset: {system: [_bar(stored, dataset, name, system) for name in tasks] for system in systems} for dataset in sets},
    )


def _bar(stored: Stored, dataset: str, task: str, system: str) -> Bar | None:
    source = _source(stored, dataset, task, system)
    if source is None:
        return None
    low, high = stored[source.key]["intervals"][system]["R@10"]
    return Bar(_value(stored, source, "R@10"), low, high)


# -- the pages of tables --------------------------------------------------------------------------------------------------


def _tables_page(name: str, keys: Sequence[str], stored: Stored) -> str:
    parts = [_TABLES.format(title=f"Results: {_page_title(name)}")]
    for key in keys:
        report = stored[key]
        table = _grid(report) if "grid" in report else _table(report)
        parts.append(f"## {key}\n\n{report['queries']:,} queries.\n\n```text\n{report['command']}\n```\n\n{table}\n")
        if by_citations := report.get("by_citations"):
            parts.append(_by_citations(by_citations))
        if sweep := report.get("sweep"):
            best = max(sweep.values())
            cells = [f"**{value:.3f}**" if value == best else f"{value:.3f}" for value in sweep.values()]
            heading = f"| papers that the round starts from (kd) | {' | '.join(sweep)} |\n|---|{'---:|' * len(sweep)}"
            parts.append(f"{heading}\n| R@1000 | {' | '.join(cells)} |\n")
        pictures = sorted(plot_folder(key).glob("*.svg"))
        links = " · ".join(f"[{path.stem.replace('-', ' ')}](../{path.relative_to(PAGE.parent)})" for path in pictures)
        if links:
            parts.append(f"Plots: {links}\n")
    return "\n".join(parts)


def _grid(tuning: Mapping[str, Any]) -> str:
    """The values of a grid, on dev; the best is bold."""
    (x_name, x_values), (y_name, y_values) = tuning["grid"].items()
    best = max(max(row) for row in tuning["values"])
    lines = [f"| {y_name} \\ {x_name} | {' | '.join(map(str, x_values))} |", f"|---|{'---:|' * len(x_values)}"]
    for value, row in zip(y_values, tuning["values"], strict=True):
        cells = [f"{f'**{cell:.3f}**' if cell == best else f'{cell:.3f}'}" for cell in row]
        lines.append(f"| {value} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_citations(slices: Mapping[str, Any]) -> str:
    """Recall by how often the relevant paper was cited before; the best is bold."""
    best = [
        max((share for share in column if share is not None), default=None)
        for column in zip(*slices["recall"].values(), strict=True)
    ]
    labels = [f"{label} (n = {pairs:,})" for label, pairs in zip(slices["cited_before"], slices["pairs"], strict=True)]
    lines = [
        f"| recall at {slices['depth']} of papers cited before … times | {' | '.join(labels)} |",
        f"|---|{'---:|' * len(labels)}",
    ]
    for system, shares in slices["recall"].items():
        texts = ["–" if share is None else _short(share) for share in shares]
        cells = [f"**{text}**" if share == top else text for text, share, top in zip(texts, shares, best, strict=True)]
        lines.append(f"| {system} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _table(report: Mapping[str, Any]) -> str:
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
            text = _short(figures[name]) + ("\\*" if (system, name) in marks else "")
            cells.append(f"{f'**{text}**' if figures[name] == best[name] else text} ±{_short((high - low) / 2)}")
        seconds = figures["seconds_per_query"]
        spent = "–" if seconds is None else f"{1000 * seconds:.1f}"
        lines.append(f"| {system} | {' | '.join(cells)} | {spent} |")
    return "\n".join(lines)


def _short(value: float) -> str:
    return f"{value:.3f}".lstrip("0")
