"""Makes a study: samples contexts, lets every system rank for them, and writes the folder that judges work with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path

import msgspec

from citewell import __version__
from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.runner import Runner
from citewell.evaluate.strict import FOREVER, Cutoff
from citewell.evaluate.user_study.contexts import Filters, kept, shuffled
from citewell.judgements import JudgedText
from citewell.library import Library
from citewell.library.index.scoring import load_compiled
from citewell.papers import OTHERS, Paper, Query
from citewell.pipeline.contract import Fusion
from citewell.pipeline.pipeline import Pipeline
from citewell.progress import SILENT, Progress
from citewell.ranking.request import Request
from citewell.user_study.study import MAX_SYSTEMS, Settings, Step, Study, StudyContext, StudyPaper, check_free

Rankings = dict[str, list[Paper]]
"""System to its first papers."""


class GivenContext(msgspec.Struct):
    """A line of a file of contexts."""

    context: str
    id: str = ""
    title: str = ""
    abstract: str = ""
    before: int | None = None
    """Only papers from before this year are suggested."""
    cited: list[str] = []


def make_from_set(
    folder: Path,
    evaluation: Evaluation,
    pipelines: Sequence[Pipeline],
    contexts: int = 100,
    k: int = 10,
    filters: Filters | None = None,
    judges: Sequence[str] = (),
    components: Sequence[str] = (),
    context_only: bool = False,
    progress: Progress = SILENT,
) -> Study:
    """Make a study from the queries of a set. A query sees what it sees in `citewell evaluate`: nothing from after its date."""
    filters = filters or Filters()
    check_free(folder)
    _check_systems(pipelines)
    found, steps = kept(evaluation.queries(), filters, evaluation.timeline)
    if not found:
        raise CitewellError(
            f"no context of {evaluation.dataset.name} passes the filters: "
            + "; ".join(f"{each.left:,} {each.step}" for each in steps)
            + "; relax --min-words, --language or --field"
        )
    chosen = shuffled(found, contexts, evaluation.seed)
    steps.append(Step("sampled", len(chosen)))
    if context_only:
        chosen = [_without_paper(judged) for judged in chosen]
    rankings = dict(_rankings_of_set(chosen, evaluation, pipelines, k, progress))
    settings = Settings(
        name=evaluation.dataset.name,
        task=evaluation.task,
        split=evaluation.split,
        k=k,
        seed=evaluation.seed,
        systems=[pipeline.name for pipeline in pipelines],
        components=_components(pipelines, components),
        judges=list(judges),
        context_only=context_only,
        filters=asdict(filters),
        steps=steps,
        weights={name: print_ for pipeline in pipelines for name, print_ in pipeline.fingerprints().items()},
        citewell=__version__,
    )
    return _written(folder, settings, chosen, rankings)


def make_from_library(
    folder: Path,
    library: Library,
    file: Path,
    pipelines: Sequence[Pipeline],
    contexts: int = 100,
    k: int = 10,
    seed: int = 0,
    filters: Filters | None = None,
    judges: Sequence[str] = (),
    components: Sequence[str] = (),
    progress: Progress = SILENT,
) -> Study:
    """Make a study from contexts in a file and a library. Only their ``before`` limits what a system sees."""
    filters = filters or Filters()
    check_free(folder)
    _check_systems(pipelines)
    queries = list(_given(file))
    found, steps = kept(queries, filters)
    if not found:
        raise CitewellError(f"no context of {file} passes the filters; relax --min-words or --language")
    chosen = shuffled(found, contexts, seed)
    steps = [Step("contexts of the file", len(queries)), *steps[1:], Step("sampled", len(chosen))]
    for pipeline in pipelines:
        pipeline.prepare(library, progress=progress)
    progress.start("ranking", len(chosen), "contexts")
    rankings: dict[str, Rankings] = {}
    collection = LocalCollection(library)
    for judged in chosen:
        numbers = {each.name: each.rank(Request(collection, judged.query)).papers[:k].tolist() for each in pipelines}
        rankings[judged.id] = _records(library, numbers)
        progress.advance()
    progress.finish()
    settings = Settings(
        name=library.folder.name,
        task="local",
        k=k,
        seed=seed,
        systems=[pipeline.name for pipeline in pipelines],
        components=_components(pipelines, components),
        judges=list(judges),
        filters=asdict(filters),
        steps=steps,
        weights={name: print_ for pipeline in pipelines for name, print_ in pipeline.fingerprints().items()},
        citewell=__version__,
    )
    return _written(folder, settings, chosen, rankings)


def _rankings_of_set(
    queries: Sequence[JudgedQuery], evaluation: Evaluation, pipelines: Sequence[Pipeline], k: int, progress: Progress
) -> Iterator[tuple[str, Rankings]]:
    """For each query the first papers of every system, on the library of its date."""
    load_compiled()
    libraries = evaluation.libraries()
    ordered = sorted(queries, key=lambda judged: judged.date)
    groups = {date: list(group) for date, group in groupby(ordered, key=lambda judged: judged.date)}
    steps = -1
    left = len(queries)
    with libraries.at(list(groups), pipelines) as opened:
        for library, (date, group) in zip(opened, groups.items(), strict=True):
            if libraries.steps != steps:  # a library was built, or a model trained, in between
                steps = libraries.steps
                progress.start("ranking", left * len(pipelines), "rankings")
            runner = Runner(library, libraries.naming, Cutoff(date, libraries.links_until), (), False, False)
            for judged in group:
                ids = {}
                for pipeline in pipelines:
                    runs, _, _ = runner.run(pipeline, [judged], {"": {}}, progress)  # which checks the time rules
                    ids[pipeline.name] = list(runs[""][judged.id])[:k]
                numbers = {name: [library.number(each) for each in first] for name, first in ids.items()}
                records = _records(library, {**numbers, "": runner.relevant_papers(judged)})
                judged.relevant = [_name(paper) for paper in records.pop("")]  # as the suggested papers are called
                yield judged.id, records
            left -= len(group)
    progress.finish()


def _records(library: Library, numbers: dict[str, list[int]]) -> Rankings:
    records = library.store.papers(sorted({number for first in numbers.values() for number in first}))
    return {name: [records[number] for number in first] for name, first in numbers.items()}


def _written(folder: Path, settings: Settings, queries: Sequence[JudgedQuery], rankings: dict[str, Rankings]) -> Study:
    contexts, papers = [], {}
    for judged in queries:
        shown = rankings[judged.id]
        for paper in (paper for first in shown.values() for paper in first):
            papers[_name(paper)] = _shown(paper)
        ids = {name: [_name(paper) for paper in first] for name, first in shown.items()}
        contexts.append(StudyContext(judged.id, _text(judged), ids, list(judged.relevant)))
    study = Study(folder, settings, contexts, papers)
    study.write()
    return study


def _text(judged: JudgedQuery) -> JudgedText:
    query = judged.query
    before = 0 if judged.date == FOREVER else judged.date
    text = JudgedText(query.task, query.title, query.abstract, before=before, citing=judged.citing)
    match query.task:
        case "paragraph":
            return msgspec.structs.replace(text, topic=query.context)
        case "evidence":
            return msgspec.structs.replace(text, question=query.context)
        case _:
            return msgspec.structs.replace(text, context=query.context)


def _name(paper: Paper) -> str:
    return paper.ids[0] if paper.ids else paper.id


def _shown(paper: Paper) -> StudyPaper:
    authors = [str(author) for author in paper.authors if author != OTHERS]
    return StudyPaper(_name(paper), paper.title or _name(paper), paper.abstract, authors, paper.year, paper.venue)


def _given(file: Path) -> Iterator[JudgedQuery]:
    """The contexts of a file as queries."""
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            given = msgspec.json.decode(line, type=GivenContext)
        except msgspec.DecodeError as error:
            raise CitewellError(f'{file}, line {number}: {error}; a line is {{"context": "text with TARGETCIT"}}') from None
        query = Query("local", given.title, given.abstract, given.context, before=given.before)
        date = FOREVER if given.before is None else (given.before - 1) * 10_000 + 1231
        yield JudgedQuery(given.id or f"context-{number}", query, given.cited, date)


def _without_paper(judged: JudgedQuery) -> JudgedQuery:
    return replace(judged, query=replace(judged.query, title="", abstract="", authors=[]))


def _check_systems(pipelines: Sequence[Pipeline]) -> None:
    names = [pipeline.name for pipeline in pipelines]
    if len(set(names)) < len(names):
        raise CitewellError("two systems have the same name; name each --pipeline once")
    if not 1 <= len(names) <= MAX_SYSTEMS:
        raise CitewellError(f"a study compares 1 to {MAX_SYSTEMS} systems side by side, not {len(names)}; choose --pipeline")


def _components(pipelines: Sequence[Pipeline], named: Sequence[str]) -> list[str]:
    """The systems that are named, or else those that a system of the study fuses; all of them if none fuses two others."""
    names = [pipeline.name for pipeline in pipelines]
    if unknown := set(named) - set(names):
        raise CitewellError(f"--component {sorted(unknown)[0]} is not among the systems: {', '.join(names)}")
    if named:
        return [name for name in names if name in named]
    by_key = {pipeline.key: pipeline.name for pipeline in pipelines}
    stages = [stage for pipeline in pipelines for stage in pipeline.stages if isinstance(stage, Fusion)]
    fused = [{by_key[each.key] for each in stage.components() if each.key in by_key} for stage in stages]
    combined = {name for components in fused if len(components) > 1 for name in components}
    return [name for name in names if name in combined] or names
