"""The analyses of a study that are not tables of pipelines, run on the available sets."""

from __future__ import annotations

from dataclasses import dataclass, field

from citewell.errors import CitewellError
from citewell.evaluate import analyses
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.reproduce import Plan
from citewell.evaluate.sets import DataSet
from citewell.evaluate.studies import Analysis, Study


@dataclass
class ReproducedAnalysis:
    """One analysis of a study, and our results."""

    analysis: Analysis
    results: dict[str, Result] = field(default_factory=dict)
    """Set to its result."""
    failed: dict[str, str] = field(default_factory=dict)
    """Set that could not be analysed to the reason."""

    @property
    def available(self) -> bool:
        """Whether citewell has this analysis."""
        return self.analysis.analysis in analyses.names()


def reproduce_analyses(study: Study, plan: Plan) -> list[ReproducedAnalysis]:
    """Run every available analysis of a study on every set that has its task."""
    reproduced = [ReproducedAnalysis(analysis) for analysis in study.analyses]
    for folder in plan.sets:
        dataset = DataSet.open(folder)
        for each in reproduced:
            chosen = each.analysis
            if not each.available or (chosen.task and chosen.task not in dataset.tasks):
                continue
            request = Request(folder, chosen.split, plan.sample, plan.seed, chosen.settings, plan.progress, plan.train)
            try:
                each.results[dataset.name] = analyses.load(chosen.analysis)(request)
            except CitewellError as error:
                each.failed[dataset.name] = str(error)
    return reproduced
