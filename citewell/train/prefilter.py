"""What a first stage finds for the questions of a pack, so that a re-ranker can be trained on what it will be handed.

Every question is put to the library of its own moment, as an evaluation does: papers up to its date, links up to the year
before. What was found for a date is kept in a file of its own, so a run that was killed goes on with the next date; in the end
all are joined to one file beside the pack (see `citewell.train.lists`).
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
from citewell.evaluate.outcomes import Watcher
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.runner import Runner
from citewell.evaluate.set_libraries import SetLibraries, safe_name
from citewell.evaluate.sets import DataSet, Split
from citewell.evaluate.strict import Timeline
from citewell.library.add import Progress
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.train.packs import SPLITS, TASKS, Arrays, load, save
from citewell.train.pairs import Source, read_source
from citewell.train.sidecars import beside, word


class Asked(NamedTuple):
    """A question, and its number in the pack."""

    number: int
    question: JudgedQuery


def prefilter(
    pack: Path,
    folders: Sequence[Path],
    task: str = "local",
    system: str = "bm25",
    depth: int = 1000,
    sample: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
    watcher: Watcher | None = None,
) -> Path:
    """The lists of a pipeline for one task of a pack, made of its sets; of each only `sample` train questions, unless it is 0.

    Lists of other tasks that are in the file already stay there.
    """
    arrays, chosen = load(pack), pipeline(system)
    parts = beside(pack, system).with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    made: list[Path] = []
    for folder in folders:
        dataset = DataSet.open(folder)
        source = read_source(folder, [task])
        asked = _asked(arrays, source, task, sample, seed)
        key = _key(arrays, dataset, task, chosen, depth)
        made += _of_set(dataset, _numbers(arrays, source), asked, chosen, depth, parts / key, progress, watcher)
    return _joined(made, beside(pack, system), word(arrays))


def _of_set(
    dataset: DataSet,
    numbers: dict[str, int],
    asked: dict[str, list[Asked]],
    chosen: Pipeline,
    depth: int,
    parts: Path,
    progress: Progress | None,
    watcher: Watcher | None,
) -> Iterator[Path]:
    """Files with what was found for each date, made where they are missing."""
    parts.mkdir(exist_ok=True)
    if watcher:
        watcher.asking(sum(map(len, asked.values())))
    for split, some in _by_moment(dataset, asked):
        by_date = {date: list(group) for date, group in groupby(some, key=lambda each: each.question.date)}
        files = {date: parts / f"{split.name}-{date}-{_digest(group)}.npz" for date, group in by_date.items()}
        yield from files.values()
        missing = [date for date, path in files.items() if not path.exists()]
        if watcher:
            watcher.asked(sum(len(group) for date, group in by_date.items() if date not in missing))
        if not missing:
            continue
        libraries = SetLibraries(Timeline(dataset, split))
        for runner, group in runners_by_date(
            [each.question for date in missing for each in by_date[date]], libraries, [chosen]
        ):
            date = group[0].date
            save(_found(runner, by_date[date], chosen, depth, numbers), files[date])
            if watcher:
                watcher.asked(len(group))


def _found(runner: Runner, asked: Sequence[Asked], chosen: Pipeline, depth: int, numbers: dict[str, int]) -> Arrays:
    """The lists of the questions of one date."""
    rows = np.full((len(asked), depth), -1, np.int32)
    for row, (_, question) in enumerate(asked):
        papers = chosen.rank(runner.request(question)).papers[:depth].tolist()
        found = [numbers[name] for name in runner.ids(papers) if name in numbers]
        rows[row, : len(found)] = found
    return {"questions": np.array([each.number for each in asked], np.int32), "papers": rows}


def _asked(arrays: Arrays, source: Source, task: str, sample: int, seed: int) -> dict[str, list[Asked]]:
    """The questions of a set in the order of the pack, with their numbers there; by split."""
    if source.name not in arrays["sets"].tolist():
        raise CitewellError(f"the pack has nothing of the set {source.name}")
    place = arrays["sets"].tolist().index(source.name)
    found = {}
    for split in SPLITS:
        here = (arrays["question_set"] == place) & (arrays["question_task"] == TASKS.index(task))
        here &= (arrays["question_split"] == SPLITS.index(split)) & (arrays["question_sentences"] == 0)
        numbers = np.flatnonzero(here)
        questions = [
            question
            for question in source.questions[split].get(task, [])
            if any(name in source.number for name in question.relevant)
        ]
        if [question.date for question in questions] != arrays["question_date"][numbers].tolist():
            raise CitewellError(f"the pack was made of another {source.name}, or without its task {task}; pack anew")
        both = [Asked(*pair) for pair in zip(numbers.tolist(), questions, strict=True)]
        if split == "train" and 0 < sample < len(both):
            drawn = np.random.default_rng(seed).choice(len(both), sample, replace=False)
            both = [both[at] for at in sorted(drawn.tolist())]
        found[split] = both
    return found


def _by_moment(dataset: DataSet, asked: dict[str, list[Asked]]) -> Iterator[tuple[Split, list[Asked]]]:
    """Questions that see the same links: those of each train year, then those of dev; each by date."""
    train = sorted(asked["train"], key=lambda each: each.question.date)
    for year, group in groupby(train, key=lambda each: each.question.date // 10_000):
        yield Split("train", frozenset([year]), year - 1), list(group)
    if asked["dev"]:
        yield dataset.split("dev"), sorted(asked["dev"], key=lambda each: each.question.date)


def _numbers(arrays: Arrays, source: Source) -> dict[str, int]:
    """The name of every paper of a set to its number in the pack."""
    place = arrays["sets"].tolist().index(source.name)
    rows = np.flatnonzero((arrays["paper_set"] == place) & (arrays["paper_sentence"] == 0)).tolist()
    return {name: row for row, paper in zip(rows, source.papers, strict=True) for name in (*paper.ids, paper.id) if name}


def _key(arrays: Arrays, dataset: DataSet, task: str, chosen: Pipeline, depth: int) -> str:
    """A name for all that decides what is found."""
    made_of = f"{word(arrays)} {dataset.digest(False)} {chosen.stages!r} {depth}"
    return f"{safe_name(dataset.name)}-{task}-{blake2b(made_of.encode(), digest_size=8).hexdigest()}"


def _digest(asked: Sequence[Asked]) -> str:
    return blake2b(np.array([each.number for each in asked], np.int64).tobytes(), digest_size=8).hexdigest()


def _joined(made: Sequence[Path], path: Path, pack: str) -> Path:
    """All lists in one file, with those that it has of the pack's other questions."""
    parts = [load(each) for each in made]
    if path.exists() and str((known := load(path))["pack"]) == pack:
        parts.append(known)
    if not parts:
        raise CitewellError("the sets ask nothing of this task; name another")
    width = max(part["papers"].shape[1] for part in parts)
    papers = [np.pad(part["papers"], ((0, 0), (0, width - part["papers"].shape[1])), constant_values=-1) for part in parts]
    # Of a question that comes twice the first list counts, which is the new one.
    questions, first = np.unique(np.concatenate([part["questions"] for part in parts]), return_index=True)
    save({"questions": questions, "papers": np.concatenate(papers)[first], "pack": np.array(pack)}, path)
    return path
