"""The candidates that a first stage retrieves for the queries of a pack: a re-ranker is trained on what it will be given.

Every query runs in the library of its date, as in an evaluation: papers up to its date, links up to the year before. The
results of each date are saved, so that an interrupted run continues with the next date; at the end they are merged into one
sidecar of the pack (see `citewell.train.lists`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.runner import Runner
from citewell.evaluate.set_libraries import SetLibraries, safe_name
from citewell.evaluate.sets import DataSet, Split
from citewell.evaluate.strict import Timeline
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.progress import SILENT, Progress
from citewell.train.packs import SPLITS, TASKS, Arrays, load, save
from citewell.train.pairs import Source, read_source
from citewell.train.sidecars import pack_fingerprint, sidecar_path
from citewell.train.training import train_missing


class PackQuery(NamedTuple):
    """A query, and its number in the pack."""

    number: int
    judged: JudgedQuery


def prefilter(
    pack: Path,
    folders: Sequence[Path],
    task: str = "local",
    system: str = "bm25",
    depth: int = 1000,
    sample: int = 0,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Path:
    """Write the lists of a pipeline for one task of a pack, from its sets; `sample` limits the train queries of each set.

    Lists of other tasks in the file are kept.
    """
    arrays, chosen = load(pack), pipeline(system)
    parts = sidecar_path(pack, system).with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    files: list[Path] = []
    for folder in folders:
        dataset = DataSet.open(folder)
        source = read_source(folder, [task])
        queries = _pack_queries(arrays, source, task, sample, seed)
        key = _key(arrays, dataset, task, chosen, depth)
        files += _set_files(dataset, _numbers(arrays, source), queries, chosen, depth, parts / key, progress)
    return _merge(files, sidecar_path(pack, system), pack_fingerprint(arrays))


def _set_files(
    dataset: DataSet,
    numbers: dict[str, int],
    queries: dict[str, list[PackQuery]],
    chosen: Pipeline,
    depth: int,
    parts: Path,
    progress: Progress,
) -> Iterator[Path]:
    """The files with the lists of each date, made if missing."""
    parts.mkdir(exist_ok=True)
    progress.start("retrieving candidates", sum(map(len, queries.values())), "queries")
    for split, of_split in _by_split(dataset, queries):
        by_date = {date: list(group) for date, group in groupby(of_split, key=lambda each: each.judged.date)}
        files = {date: parts / f"{split.name}-{date}-{_query_hash(group)}.npz" for date, group in by_date.items()}
        yield from files.values()
        missing = [date for date, path in files.items() if not path.exists()]
        progress.advance(sum(len(group) for date, group in by_date.items() if date not in missing))
        if not missing:
            continue
        libraries = SetLibraries(Timeline(dataset, split), train=train_missing)
        for runner, group in runners_by_date([each.judged for date in missing for each in by_date[date]], libraries, [chosen]):
            date = group[0].date
            save(_lists(runner, by_date[date], chosen, depth, numbers), files[date])
            progress.advance(len(group))


def _lists(runner: Runner, queries: Sequence[PackQuery], chosen: Pipeline, depth: int, numbers: dict[str, int]) -> Arrays:
    """The lists of the queries of one date."""
    rows = np.full((len(queries), depth), -1, np.int32)
    for row, (_, judged) in enumerate(queries):
        papers = chosen.rank(runner.request(judged)).papers[:depth].tolist()
        in_pack = [numbers[name] for name in runner.ids(papers) if name in numbers]
        rows[row, : len(in_pack)] = in_pack
    return {"questions": np.array([each.number for each in queries], np.int32), "papers": rows}


def _pack_queries(arrays: Arrays, source: Source, task: str, sample: int, seed: int) -> dict[str, list[PackQuery]]:
    """The queries of a set in the order of the pack, with their numbers, by split."""
    if source.name not in arrays["sets"].tolist():
        raise CitewellError(f"the pack does not contain the set {source.name}")
    place = arrays["sets"].tolist().index(source.name)
    by_split = {}
    for split in SPLITS:
        here = (arrays["question_set"] == place) & (arrays["question_task"] == TASKS.index(task))
        here &= (arrays["question_split"] == SPLITS.index(split)) & (arrays["question_sentences"] == 0)
        numbers = np.flatnonzero(here)
        judged_queries = [
            judged for judged in source.queries[split].get(task, []) if any(name in source.number for name in judged.relevant)
        ]
        if [judged.date for judged in judged_queries] != arrays["question_date"][numbers].tolist():
            raise CitewellError(f"the pack was made from another {source.name}, or without its task {task}; pack again")
        numbered = [PackQuery(*pair) for pair in zip(numbers.tolist(), judged_queries, strict=True)]
        if split == "train" and 0 < sample < len(numbered):
            drawn = np.random.default_rng(seed).choice(len(numbered), sample, replace=False)
            numbered = [numbered[at] for at in sorted(drawn.tolist())]
        by_split[split] = numbered
    return by_split


def _by_split(dataset: DataSet, queries: dict[str, list[PackQuery]]) -> Iterator[tuple[Split, list[PackQuery]]]:
    """Queries that see the same links: those of each train year, then those of dev; sorted by date."""
    train = sorted(queries["train"], key=lambda each: each.judged.date)
    for year, group in groupby(train, key=lambda each: each.judged.date // 10_000):
        yield Split("train", frozenset([year]), year - 1), list(group)
    if queries["dev"]:
        yield dataset.split("dev"), sorted(queries["dev"], key=lambda each: each.judged.date)


def _numbers(arrays: Arrays, source: Source) -> dict[str, int]:
    """The names of all papers of a set to their numbers in the pack."""
    place = arrays["sets"].tolist().index(source.name)
    rows = np.flatnonzero((arrays["paper_set"] == place) & (arrays["paper_sentence"] == 0)).tolist()
    return {name: row for row, paper in zip(rows, source.papers, strict=True) for name in (*paper.ids, paper.id) if name}


def _key(arrays: Arrays, dataset: DataSet, task: str, chosen: Pipeline, depth: int) -> str:
    """Identifies everything that determines the lists."""
    origin = f"{pack_fingerprint(arrays)} {dataset.digest(False)} {chosen.stages!r} {depth}"
    return f"{safe_name(dataset.name)}-{task}-{blake2b(origin.encode(), digest_size=8).hexdigest()}"


def _query_hash(queries: Sequence[PackQuery]) -> str:
    return blake2b(np.array([each.number for each in queries], np.int64).tobytes(), digest_size=8).hexdigest()


def _merge(files: Sequence[Path], path: Path, pack: str) -> Path:
    """Merge all lists into one file, with the existing lists of other queries."""
    parts = [load(each) for each in files]
    if path.exists() and str((existing := load(path))["pack"]) == pack:
        parts.append(existing)
    if not parts:
        raise CitewellError("the sets have no query of this task; name another")
    width = max(part["papers"].shape[1] for part in parts)
    papers = [np.pad(part["papers"], ((0, 0), (0, width - part["papers"].shape[1])), constant_values=-1) for part in parts]
    # If a query occurs twice, the first list counts, which is the new one.
    questions, first = np.unique(np.concatenate([part["questions"] for part in parts]), return_index=True)
    save({"questions": questions, "papers": np.concatenate(papers)[first], "pack": np.array(pack)}, path)
    return path
