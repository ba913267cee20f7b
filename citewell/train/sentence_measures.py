"""How well a model ranks the dev questions of lessons: average precision of papers, and of the sentences of the ten best."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from citewell.train.sentence_data import Lessons

DOCUMENTS = 10
"""Sentences are taken from so many papers, as an evaluation does."""

Scores = npt.NDArray[np.float32]
Judge = Callable[[int, Sequence[int]], tuple[Scores, list[Scores]]]
"""Scores of papers for a question, and those of the sentences of each, its title left out."""


def measured(lessons: Lessons, judge: Judge, depth: int, most: int) -> dict[str, float]:
    """Of each set the mean over its first dev questions, of each of which so many candidates are ranked."""
    found: dict[str, float] = {}
    for place, name in enumerate(lessons.sets):
        of_papers, of_sentences = [], []
        for question in lessons.questions("dev", place)[:most].tolist():
            papers = lessons.candidates(question)[0][:depth]
            scores, sentences = judge(question, papers.tolist())
            order = np.argsort(-scores, kind="stable")
            of_papers.append(average_precision(papers[order], lessons.wanted(question)))
            if len(marked := lessons.marked(question)):
                best = order[:DOCUMENTS]
                places = [np.array(lessons.sentences(int(papers[at])), np.int64)[1:] for at in best]
                values = np.concatenate([np.zeros(0, np.float32), *(sentences[at] for at in best)])
                ranked = np.concatenate([np.zeros(0, np.int64), *places])[np.argsort(-values, kind="stable")]
                of_sentences.append(average_precision(ranked, marked))
        if of_papers:
            found[f"{name} evidence AP"] = float(np.mean(of_papers))
        if of_sentences:
            found[f"{name} evidence sentences AP"] = float(np.mean(of_sentences))
    return found


def average_precision(ranked: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> float:
    """The mean of the precision at each wanted one; one that is not found counts for nothing."""
    right = np.isin(ranked, wanted)
    precision = np.cumsum(right) / np.arange(1, len(right) + 1)
    return float(precision[right].sum() / max(1, len(wanted)))
