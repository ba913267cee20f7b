"""Suggestions in a process that has answered before: ``python -m benchmarks.warm SET [--pipeline best] [--task local]``.

The library is the set's, as of its last test year; the questions are those of its test years. Each is answered once, reasons
and all, after ten others that are not counted. Of a set that has no questions for evidence, ``--task evidence`` searches with
the topic sentences of its paragraphs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from citewell.cli.progress import Bar
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.runner import Runner
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import Cutoff
from citewell.papers import Query
from citewell.pipeline.registry import pipeline

_FIRST = 10


def seconds_of(folder: Path, name: str, task: str, sample: int) -> tuple[int, list[float]]:
    """How many papers the library has, and wall seconds of one question after another."""
    chosen = pipeline(name)
    asked = "paragraph" if task == "evidence" and task not in DataSet.open(folder).tasks else task
    with Bar() as bar:
        evaluation = Evaluation(folder, asked, "test", sample + _FIRST, progress=bar)
        questions, libraries = evaluation.queries(), evaluation.libraries()
        last = max(question.date for question in questions)
        with libraries.at([last], [chosen]) as opened:
            (library,) = opened
            runner = Runner(library, libraries.naming, Cutoff(last, libraries.links_until), [], False, False)
            found = []
            for question in questions:
                query = runner.request(question).query
                start = time.perf_counter()
                if task == "evidence":
                    chosen.suggest(
                        library, Query(task, context=query.context, before=query.before, exclude=query.exclude), sentences=2
                    )
                else:
                    chosen.suggest(library, query)
                found.append(time.perf_counter() - start)
            return len(library), found[_FIRST:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", type=Path)
    parser.add_argument("--pipeline", default="best")
    parser.add_argument("--task", default="local", choices=("global", "local", "paragraph", "evidence"))
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    papers, seconds = seconds_of(given.set, given.pipeline, given.task, given.sample)
    median, tenth, worst = np.quantile(seconds, (0.5, 0.9, 1.0)).tolist()
    found = {"papers": papers, "questions": len(seconds), "median": median, "nine in ten below": tenth, "worst": worst}
    if given.json:
        print(json.dumps(found))
    else:
        print(
            f"{given.pipeline}, {given.task}, {papers:,} papers, {len(seconds)} questions: median {median:.2f} s,"
            f" nine in ten below {tenth:.2f} s, worst {worst:.2f} s"
        )


if __name__ == "__main__":
    main()
