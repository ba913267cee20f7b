"""An evaluation in one call: open a set, ask its questions, compare the systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citewell.errors import CitewellError
from citewell.evaluate import measures
from citewell.evaluate.experiment import Experiment, Listener, Watcher, conduct
from citewell.evaluate.pools import Pools
from citewell.evaluate.queries import Question, questions, sampled
from citewell.evaluate.report import Report
from citewell.evaluate.sentences import MEASURES as SENTENCE_MEASURES
from citewell.evaluate.sentences import VIEWS
from citewell.evaluate.sets import DataSet
from citewell.evaluate.slices import by_fame
from citewell.evaluate.strict import Timeline
from citewell.evaluate.trec import read_run
from citewell.library.add import Progress
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline


@dataclass
class Evaluation:
    """What is asked of which set, under which rules.

    >>> Evaluation(Path("data/cs"), "local", sample=1000).report(["bm25", "best"])           # doctest: +SKIP
    """

    folder: Path
    task: str
    split: str = "test"
    sample: int | None = None
    seed: int = 0
    distractors: bool = False
    lenient: bool = False
    with_bibliography: bool = False
    kind: str = ""
    """Of an evidence set only the questions whose answers were marked by this kind."""
    measures: Sequence[str] = ()
    """Further measures than the standard ones."""
    progress: Progress | None = None
    watcher: Watcher | None = None
    dataset: DataSet = field(init=False)
    timeline: Timeline = field(init=False)
    available: int = field(init=False, default=0)
    """How many questions there are to draw from, once they were asked for."""

    def __post_init__(self) -> None:
        of_sentences = [view + name for view in VIEWS for name in SENTENCE_MEASURES]
        measures.check([name for name in self.measures if name not in of_sentences])
        self.dataset = DataSet.open(self.folder)
        split = self.dataset.timeless(self.split) if self.task == "evidence" else self.dataset.split(self.split)
        self.timeline = Timeline(self.dataset, split, self.distractors)

    def questions(self) -> list[Question]:
        """What is asked, in the set's order."""
        found = questions(self.timeline, self.task, self.with_bibliography)
        if self.kind:
            kinds = sorted({question.kind for question in found})
            found = [question for question in found if question.kind == self.kind]
            if not found and not any(kinds):
                raise CitewellError(f"the questions of {self.dataset.name} do not say who marked them; leave --kind out")
            if not found:
                raise CitewellError(f"{self.dataset.name} has no question of kind {self.kind!r}; there are {', '.join(kinds)}")
        self.available = len(found)
        return sampled(found, self.sample, self.seed)

    def pools(self) -> Pools:
        """The libraries that answer."""
        return Pools(self.timeline, self.distractors, self.progress)

    def conduct(
        self, systems: Sequence[str | Pipeline], runs: Sequence[Path] = (), listener: Listener | None = None
    ) -> Experiment:
        """Ask every question of every system."""
        pipelines = [pipeline(system) if isinstance(system, str) else system for system in systems]
        names = dict.fromkeys((*measures.STANDARD, *(name for name in self.measures if ":" not in name)))
        made = {_run_name(path): read_run(path) for path in runs}
        if len(made) < len(runs):
            raise CitewellError("two runs have the same file name; rename one")
        return conduct(self.questions(), self.pools(), pipelines, made, list(names), self.lenient, self.watcher, listener)

    def report(
        self,
        systems: Sequence[str | Pipeline],
        runs: Sequence[Path] = (),
        baseline: str | None = None,
        listener: Listener | None = None,
        fame: bool = False,
    ) -> Report:
        """Ask, and compare every system with the baseline (the first one, unless another is named).

        `fame`: tell, too, what each finds of papers that were cited never, seldom or often before.
        """
        names = [system if isinstance(system, str) else system.name for system in systems]
        names += [_run_name(path) for path in runs]
        if baseline is not None and baseline not in names:
            raise CitewellError(f"the baseline {baseline!r} is not among the systems: {', '.join(names)}")
        timed = self.timeline.split.links_until is not None
        if fame and not (timed and self.task != "evidence"):
            raise CitewellError(
                f"the {self.task} questions of {self.dataset.name} have no dates, so that nothing was cited before;"
                " leave --by-citations out"
            )
        experiment = self.conduct(systems, runs, listener)
        return Report.of(
            self.dataset.name,
            self.task,
            self.split,
            experiment,
            baseline or names[0],
            lenient=self.lenient,
            with_bibliography=self.with_bibliography,
            distractors=self.distractors,
            sample=self.sample if self.sample is not None and self.sample < self.available else None,
            seed=self.seed,
            timed=timed,
            shown=tuple(self.measures),
            fame=by_fame(experiment, self.timeline) if fame else None,
        )


def _run_name(path: Path) -> str:
    """What a foreign run is called in tables."""
    return path.name.removesuffix(".gz").removesuffix(".txt").removesuffix(".run")
