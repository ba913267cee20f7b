"""How close the titles of the recommended papers are to the topic sentence: the mean L2 distance of their vectors.

Each system's `depth` best papers count. The vectors are those of the encoder that the settings name, at length 1, so a distance
is at most 2. Settings: those of `systems`; ``encoder``; and ``depth``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from citewell import extras
from citewell.errors import CitewellError
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.systems import Answer, answers, systems_of
from citewell.evaluate.significance import paired_t
from citewell.models import encoder
from citewell.types import Float64Array


class TitleDistances:
    """Distances of titles from topic sentences; each title is encoded once."""

    def __init__(self, name: str) -> None:
        if not encoder.available(name):
            raise CitewellError(f"the encoder {name!r} is not available; put its folder into $CITEWELL_MODELS")
        self._encoder = encoder.load(name)
        self._titles: dict[str, Float64Array] = {}

    def mean(self, topic: str, titles: Sequence[str]) -> float:
        """The mean L2 distance of some titles from a topic sentence; NaN without titles."""
        if not titles:
            return float("nan")
        new = [title for title in dict.fromkeys(titles) if title not in self._titles]
        vectors = self._encoder.encode([topic, *new]).astype(np.float64)
        self._titles |= dict(zip(new, vectors[1:], strict=True))
        return float(np.mean([np.linalg.norm(self._titles[title] - vectors[0]) for title in titles]))


def title_distances(request: Request) -> Result:
    """The mean distance of each system's best titles from the topic sentence, and its difference from the first system."""
    extras.require("scipy")
    name, depth = str(request.settings.get("encoder", "minilm")), int(request.settings.get("depth", 10))
    systems, distances = systems_of(request), TitleDistances(name)
    columns: dict[str, list[float]] = {system: [] for system in systems.names}
    for answer in answers(request, systems.pipelines):
        for system in systems.names:
            columns[system].append(distances.mean(answer.judged.query.context, best_titles(answer, system, depth)))
    every = np.array(list(columns.values()))
    every = every[:, ~np.isnan(every).any(axis=0)]  # queries to which every system returned papers
    if not every.size:
        raise CitewellError("there is no query to which every system returns a paper")
    rows: list[list[str | float]] = [[system, float(values.mean())] for system, values in zip(columns, every, strict=True)]
    made = f"Vectors of {name} at length 1, the {depth} best papers of each system, {every.shape[1]:,} queries."
    return Result(["system", "mean L2 distance"], rows, systems.note(made, *_differences(systems.names, every)), "bars")


def best_titles(answer: Answer, system: str, depth: int) -> list[str]:
    """The titles of a system's best papers."""
    top = answer.rankings[system].papers[:depth]
    records = answer.request.collection.records(top)
    return [records[number].title for number in top.tolist()]


def _differences(names: Sequence[str], every: Float64Array) -> list[str]:
    """For each system but the first one sentence on its difference from the first."""
    return [
        f"{name} − {names[0]}: {(values - every[0]).mean():+.4f} (paired t-test: p = {paired_t(values - every[0]):.3g})."
        for name, values in zip(names[1:], every[1:], strict=True)
    ]
