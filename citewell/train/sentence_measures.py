"""Dev measures of sentence rankers: average precision of papers, and of the sentences of the top ten papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from citewell.train.sentence_data import SentenceData

DOCUMENTS = 10
"""The number of papers whose sentences are ranked, as in an evaluation."""

Float32Array = npt.NDArray[np.float32]
Scorer = Callable[[int, Sequence[int]], tuple[Float32Array, list[Float32Array]]]
"""Scores of papers for a query, and of the sentences of each, without its title."""


def measure(data: SentenceData, score: Scorer, depth: int, limit: int) -> dict[str, float]:
    """The mean of each set over its first `limit` dev queries, ranking `depth` candidates of each."""
    figures: dict[str, float] = {}
    for place, name in enumerate(data.sets):
        papers, sentences = precisions(data, score, data.queries("dev", place)[:limit].tolist(), depth)
        if papers:
            figures[f"{name} evidence AP"] = float(np.mean(papers))
        if sentences:
            figures[f"{name} evidence sentences AP"] = float(np.mean(sentences))
    return figures


def precisions(data: SentenceData, score: Scorer, queries: Iterable[int], depth: int) -> tuple[list[float], list[float]]:
    """The average precision of papers for each query, and of sentences for each query with relevant ones."""
    paper_precisions, sentence_precisions = [], []
    for query in queries:
        papers = data.candidates(query)[0][:depth]
        scores, sentences = score(query, papers.tolist())
        order = np.argsort(-scores, kind="stable")
        paper_precisions.append(average_precision(papers[order], data.relevant(query)))
        if len(relevant_sentences := data.relevant_sentences(query)):
            best = order[:DOCUMENTS]
            places = [np.array(data.sentences(int(papers[at])), np.int64)[1:] for at in best]
            values = np.concatenate([np.zeros(0, np.float32), *(sentences[at] for at in best)])
            ranked = np.concatenate([np.zeros(0, np.int64), *places])[np.argsort(-values, kind="stable")]
            sentence_precisions.append(average_precision(ranked, relevant_sentences))
    return paper_precisions, sentence_precisions


def average_precision(ranked: npt.NDArray[np.int64], relevant: npt.NDArray[np.int64]) -> float:
    """The mean precision at the relevant items; missing ones count as 0."""
    hits = np.isin(ranked, relevant)
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(precision[hits].sum() / max(1, len(relevant)))
