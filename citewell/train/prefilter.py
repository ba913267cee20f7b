"""The candidates that a first stage retrieves for the queries of a pack: a re-ranker is trained on what it will be given.

Every query runs in the library at the end of its year, with links up to the year before; papers from after its date are dropped
from its list, so a list may be shorter than asked for. (A library for each day, as in an evaluation, would take hours for the
queries of all train years.) The results of each year are saved, so that an interrupted run continues with the next; at the end
they are merged into one sidecar of the pack (see `citewell.train.lists`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.queries import JudgedQuery, shortened
from citewell.evaluate.runner import Runner
from citewell.evaluate.set_libraries import SetLibraries, safe_name
from citewell.evaluate.sets import DataSet, Split
from citewell.evaluate.strict import END_OF_YEAR, Timeline
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.progress import SILENT, Progress
from citewell.train.packs import SPLITS, TASKS, Arrays, load, save
from citewell.train.pairs import Source, read_source
from citewell.train.sidecars import pack_fingerprint, sidecar_path
from citewell.train.training import train_missing
from citewell.types import IntArray


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
    kept: int = 0,
    seed: int = 0,
    context_characters: int = 0,
    progress: Progress = SILENT,
    dev_sample: int = 0,
) -> Path:
    """Write the lists of a pipeline for one task of a pack, from its sets.

    `sample` and `dev_sample` limit the train and dev queries of each set; 0: all.

    Of each train list, `kept` papers drawn at random are written, relevant ones always: enough to say whether the first stage
    retrieved them, and to draw negatives. Lists of other tasks in the file are kept. `context_characters` is how much of a
    context queries have on either side of the citation; 0: all.
    """
    arrays, chosen = load(pack), pipeline(system)
    parts = sidecar_path(pack, system).with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    files: list[Path] = []
    for folder in folders:
        dataset = DataSet.open(folder)
        source = read_source(folder, [task])
        queries = _pack_queries(arrays, source, task, {"train": sample, "dev": dev_sample}, seed)
        if context_characters:
            queries = {
                split: [each._replace(judged=shortened(each.judged, context_characters)) for each in of_split]
                for split, of_split in queries.items()
            }
        wanted = _Lists(chosen, depth, kept, _numbers(arrays, source), arrays["paper_date"], context_characters)
        files += _set_files(dataset, wanted, queries, parts / _key(arrays, dataset, task, wanted), progress)
    return _merge(files, sidecar_path(pack, system), pack_fingerprint(arrays))


class _Lists(NamedTuple):
    """Which lists are made of a set: the first stage, the papers of a list, those kept of it, and papers by their names."""

    first_stage: Pipeline
    depth: int
    kept: int
    numbers: dict[str, int]
    dates: IntArray
    """The dates of the papers of the pack."""
    context_characters: int


def _set_files(
    dataset: DataSet, wanted: _Lists, queries: dict[str, list[PackQuery]], parts: Path, progress: Progress
) -> Iterator[Path]:
    """The files with the lists of each year, made if missing."""
    parts.mkdir(exist_ok=True)
    progress.start("retrieving candidates", sum(map(len, queries.values())), "queries")
    for split, of_split in _by_split(dataset, queries):
        by_year = {year: list(group) for year, group in groupby(of_split, key=lambda each: each.judged.date // 10_000)}
        files = {year: parts / f"{split.name}-{year}-{_query_hash(group)}.npz" for year, group in by_year.items()}
        yield from files.values()
        missing = [year for year, path in files.items() if not path.exists()]
        progress.advance(sum(len(group) for year, group in by_year.items() if year not in missing))
        if not missing:
            continue
        libraries = SetLibraries(Timeline(dataset, split), train=train_missing)
        at_ends = [replace(each.judged, date=year * 10_000 + END_OF_YEAR) for year in missing for each in by_year[year]]
        for runner, group in runners_by_date(at_ends, libraries, [wanted.first_stage]):
            year = group[0].date // 10_000
            save(_lists(runner, by_year[year], wanted, split.name, progress), files[year])


def _lists(runner: Runner, queries: Sequence[PackQuery], wanted: _Lists, split: str, progress: Progress) -> Arrays:
    """The lists of the queries of one year."""
    size = wanted.kept if wanted.kept and split == "train" else wanted.depth
    rows = np.full((len(queries), size), -1, np.int32)
    for row, (number, judged) in enumerate(queries):
        papers = wanted.first_stage.rank(runner.request(judged)).papers[: wanted.depth].tolist()
        named = [wanted.numbers[name] for name in runner.ids(papers) if name in wanted.numbers]
        in_pack = [paper for paper in named if 0 < wanted.dates[paper] <= judged.date]
        if len(in_pack) > size:
            in_pack = _sample(in_pack, {wanted.numbers.get(name, -1) for name in judged.relevant}, size, number)
        rows[row, : len(in_pack)] = in_pack
        progress.advance()
    return {"questions": np.array([each.number for each in queries], np.int32), "papers": rows}


def _sample(papers: Sequence[int], relevant: AbstractSet[int], size: int, seed: int) -> list[int]:
    """The relevant ones among some papers, and a random sample of the others, in their order."""
    places = [at for at, paper in enumerate(papers) if paper in relevant][:size]
    others = [at for at, paper in enumerate(papers) if paper not in relevant]
    places += np.random.default_rng(seed).choice(others, size - len(places), replace=False).tolist()
    return [papers[at] for at in sorted(places)]


def _pack_queries(
    arrays: Arrays, source: Source, task: str, samples: Mapping[str, int], seed: int
) -> dict[str, list[PackQuery]]:
    """The queries of a set in the order of the pack, with their numbers, by split; a sample of those of a split with one."""
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
        sample = samples.get(split, 0)
        if 0 < sample < len(numbered):
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


def _key(arrays: Arrays, dataset: DataSet, task: str, wanted: _Lists) -> str:
    """Identifies everything that determines the lists."""
    origin = f"{pack_fingerprint(arrays)} {dataset.digest(False)} {wanted.first_stage.stages!r} {wanted.depth} {wanted.kept}"
    origin += f" {wanted.context_characters}" if wanted.context_characters else ""
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
