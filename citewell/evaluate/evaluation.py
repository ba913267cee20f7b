"""An evaluation: opens a set, runs its queries, and compares the systems. `experiment` does all of it in one call."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from citewell import extras
from citewell.errors import CitewellError
from citewell.evaluate import measures
from citewell.evaluate.outcomes import Experiment, Listener, run_systems
from citewell.evaluate.queries import JudgedQuery, judged_queries, sampled, shortened
from citewell.evaluate.report import Report
from citewell.evaluate.sentences import MEASURES as SENTENCE_MEASURES
from citewell.evaluate.sentences import VIEWS
from citewell.evaluate.set_libraries import SetLibraries, Train
from citewell.evaluate.sets import DataSet
from citewell.evaluate.slices import by_citation_count
from citewell.evaluate.strict import Timeline
from citewell.evaluate.trec import read_run
from citewell.pipeline.contract import Stage
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.progress import SILENT, Progress


@dataclass
class Evaluation:
    """Which queries of which set run, and under which rules.

    `experiment` makes one and reports it; use this class to look at the queries, the time rules or the libraries as well.

    >>> Evaluation(Path("data/cs"), "local", sample=1000).report(["bm25", "best"])           # doctest: +SKIP
    """

    folder: Path
    task: str
    split: str = "test"
    sample: int | None = None
    seed: int = 0
    distractors: bool = False
    lenient: bool = False
    found_by: str = ""
    """Only the queries of which this pipeline retrieves a relevant paper."""
    with_bibliography: bool = False
    kind: str = ""
    """Only the queries of an evidence set that were judged by this kind."""
    measures: Sequence[str] = ()
    """Measures in addition to the standard ones."""
    progress: Progress = SILENT
    train: Train | None = None
    """Makes a missing model of a library; without it, pipelines that need the model say that it is missing."""
    context_characters: int = 0
    """How much of a context queries have on either side of the citation; 0: all."""
    abstracts_only: bool = False
    """Leave papers that have only a title out of the library, as the BioASQ studies do."""
    dataset: DataSet = field(init=False)
    timeline: Timeline = field(init=False)
    available: int = field(init=False, default=0)
    """How many queries there are to sample from; known once `queries` was called."""

    def __post_init__(self) -> None:
        of_sentences = [view + name for view in VIEWS for name in SENTENCE_MEASURES]
        measures.check([name for name in self.measures if name not in of_sentences])
        if self.context_characters and self.task != "local":
            raise CitewellError(f"--context-characters works with the local task, not with {self.task}")
        self.dataset = DataSet.open(self.folder)
        split = self.dataset.undated_split(self.split) if self.task == "evidence" else self.dataset.split(self.split)
        self.timeline = Timeline(self.dataset, split, self.distractors, self.abstracts_only)

    def queries(self) -> list[JudgedQuery]:
        """The queries, in the set's order."""
        queries = judged_queries(self.timeline, self.task, self.with_bibliography)
        if self.kind:
            kinds = sorted({judged.kind for judged in queries})
            queries = [judged for judged in queries if judged.kind == self.kind]
            if not queries and not any(kinds):
                raise CitewellError(f"the queries of {self.dataset.name} do not say who judged them; leave out --kind")
            if not queries:
                raise CitewellError(f"{self.dataset.name} has no queries of kind {self.kind!r}; there are {', '.join(kinds)}")
        self.available = len(queries)
        queries = sampled(queries, self.sample, self.seed)
        return [shortened(judged, self.context_characters) for judged in queries] if self.context_characters else queries

    def libraries(self) -> SetLibraries:
        """The libraries that the queries run against."""
        return SetLibraries(self.timeline, self.distractors, self.progress, self.train)

    def run(
        self, systems: Sequence[str | Pipeline | Stage], runs: Sequence[Path] = (), listener: Listener | None = None
    ) -> Experiment:
        """Run every query on every system."""
        extras.require("ir_measures", "scipy")
        pipelines = _pipelines(systems)
        names = dict.fromkeys((*measures.STANDARD, *(name for name in self.measures if ":" not in name)))
        external = {_run_name(path): read_run(path) for path in runs}
        if len(external) < len(runs):
            raise CitewellError("two runs have the same file name; rename one")
        found_by = pipeline(self.found_by) if self.found_by else None
        return run_systems(
            self.queries(), self.libraries(), pipelines, external, list(names), self.lenient, self.progress, listener, found_by
        )

    def report(
        self,
        systems: Sequence[str | Pipeline | Stage],
        runs: Sequence[Path] = (),
        baseline: str | None = None,
        listener: Listener | None = None,
        by_citations: bool = False,
    ) -> Report:
        """Run the queries and compare every system with the baseline, by default the first one.

        `by_citations`: also report recall by how often the relevant paper had been cited before.
        """
        pipelines = _pipelines(systems)
        names = [*(each.name for each in pipelines), *map(_run_name, runs)]
        if baseline is not None and baseline not in names:
            raise CitewellError(f"the baseline {baseline!r} is not among the systems: {', '.join(names)}")
        timed = self.timeline.split.links_until is not None
        if by_citations and not (timed and self.task != "evidence"):
            raise CitewellError(
                f"the {self.task} queries of {self.dataset.name} have no dates, so earlier citations are unknown;"
                " leave out --by-citations"
            )
        experiment = self.run(pipelines, runs, listener)
        return Report.of(
            self.dataset.name,
            self.task,
            self.split,
            experiment,
            baseline or names[0],
            lenient=self.lenient,
            found_by=self.found_by,
            context_characters=self.context_characters,
            with_bibliography=self.with_bibliography,
            distractors=self.distractors,
            abstracts_only=self.abstracts_only,
            sample=self.sample if self.sample is not None and self.sample < self.available else None,
            seed=self.seed,
            timed=timed,
            shown=tuple(self.measures),
            by_citations=by_citation_count(experiment, self.timeline) if by_citations else None,
        )


def experiment(
    set_folder: str | os.PathLike[str],
    task: str,
    pipelines: Sequence[str | Pipeline | Stage],
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    measures: Sequence[str] = (),
    baseline: str | None = None,
    runs: Sequence[str | os.PathLike[str]] = (),
    distractors: bool = False,
    lenient: bool = False,
    found_by: str = "",
    with_bibliography: bool = False,
    kind: str = "",
    by_citations: bool = False,
    progress: Progress = SILENT,
    train: Train | None = None,
    context_characters: int = 0,
    abstracts_only: bool = False,
) -> Report:
    """Measure pipelines on a data set and compare them with a baseline.

    Args:
        set_folder: the folder of the data set.
        task: ``global``, ``local``, ``paragraph`` or ``evidence``.
        pipelines: names of pipelines, or pipelines or single stages made in code.
        split: ``dev`` to make choices, ``test`` to report.
        sample: the size of a random sample of the queries; all of them if None.
        seed: the random seed of the sample and of the significance tests.
        measures: what to show, such as ``("R@50", "nDCG@20")``; by default the measures of the task.
        baseline: the name of the system to compare the others with; by default the first one.
        runs: TREC run files of other systems to score as well.
        distractors: add the distractors of the set to the library.
        lenient: put relevant papers that retrieval missed among the candidates before re-ranking.
        found_by: only the queries of which the pipeline of this name retrieves a relevant paper.
        with_bibliography: give queries the other references of the citing paper.
        kind: only the queries of an evidence set that were judged by this kind.
        by_citations: also report recall by how often the relevant paper had been cited before.
        progress: receives the progress.
        train: makes missing models of the set's library, such as `citewell.train.training.train_missing`.
        context_characters: how much of a context queries have on either side of the citation; 0 for all.
        abstracts_only: leave papers that have only a title out of the library.

    Returns:
        The report. It prints as a table, shows as HTML in a notebook, and becomes a data frame with `Report.to_frame`.

    >>> experiment("data/cs", "local", ["bm25", "best"], sample=500, measures=["R@10", "RR"])   # doctest: +SKIP
    """
    folder = Path(set_folder)
    evaluation = Evaluation(
        folder,
        task,
        split,
        sample,
        seed,
        distractors,
        lenient,
        found_by,
        with_bibliography,
        kind,
        measures,
        progress,
        train,
        context_characters,
        abstracts_only,
    )
    return evaluation.report(pipelines, [Path(run) for run in runs], baseline, by_citations=by_citations)


def _pipelines(systems: Sequence[str | Pipeline | Stage]) -> list[Pipeline]:
    """The pipelines of an experiment. Pipelines made in code that have the same name get a number."""
    if isinstance(systems, str | Pipeline | Stage):
        systems = [systems]
    named = [Pipeline.of(system) if isinstance(system, Stage) else system for system in systems]
    names: Counter[str] = Counter(system for system in named if isinstance(system, str))
    pipelines = []
    for system in named:
        if isinstance(system, str):
            pipelines.append(pipeline(system))
            continue
        names[system.name] += 1
        times = names[system.name]
        pipelines.append(system if times == 1 else replace(system, name=f"{system.name} ({times})"))
    return pipelines


def _run_name(path: Path) -> str:
    """The name of an external run in tables."""
    return path.name.removesuffix(".gz").removesuffix(".txt").removesuffix(".run")
