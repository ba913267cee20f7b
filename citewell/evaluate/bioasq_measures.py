"""The measures of BioASQ's task b, phase A.

Snippets are compared by their characters. A character is an article, a section and an offset; the offset at which a snippet
ends counts as its last, as in BioASQ's own program. Overlapping snippets of a list are merged first. The average precision of
a question is the sum of the precision at every relevant rank: a golden document, or a snippet that overlaps a golden one.
Since BioASQ 8 (2020) the sum is divided by the number of golden items, at most by ten; from BioASQ 3 to 7 it was divided by ten
(the measures that end in ``/10``). For snippets it can exceed 1, because several of them may overlap one golden snippet.

BioASQ's published program counts every snippet of an article that has a golden one as correct, overlapping or not (the
measures that end in ``-program``). It also leaves out questions that a run does not answer; here they count as zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from citewell.errors import CitewellError
from citewell.evaluate.bioasq import LIMIT, Question, Snippet
from citewell.identifiers import recognise

MEASURES = ("precision", "recall", "F1", "MAP", "GMAP", "MAP/10", "GMAP/10", "MAP-program", "GMAP-program")
_EPSILON = 1e-5
"""Added to each average precision before the geometric mean."""


class QuestionScores(NamedTuple):
    """The measures of one question."""

    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0
    average_precision: float = 0.0
    of_ten: float = 0.0
    """Average precision divided by ten."""
    by_program: float = 0.0
    """Average precision as BioASQ's program computes it."""


@dataclass(slots=True)
class Scores:
    """The measures of a run on documents and on snippets; empty if the golden file has none of them."""

    questions: int
    missing: int
    """The number of questions that the run does not answer."""
    documents: dict[str, float]
    snippets: dict[str, float]


class _Span(NamedTuple):
    """A span of characters, from the first to the last."""

    where: tuple[str, str, str]
    first: int
    last: int

    def size(self) -> int:
        return self.last - self.first + 1

    def overlap(self, other: _Span) -> int:
        """The number of characters that two spans share."""
        if self.where != other.where:
            return 0
        return max(0, min(self.last, other.last) - max(self.first, other.first) + 1)


def score(run: Sequence[Question], golden: Sequence[Question]) -> Scores:
    """The measures of a run: documents over the questions with golden documents, snippets over those with golden snippets."""
    answers = {question.id: question for question in run}
    judged = [question for question in golden if question.documents or question.snippets]
    if not judged:
        raise CitewellError("the golden file has no documents and no snippets; use the one that BioASQ published with answers")
    pairs = [(question, answers.get(question.id, Question(question.id))) for question in judged]
    return Scores(
        len(judged),
        sum(question.id not in answers for question in judged),
        _means([score_documents(answer.documents, gold.documents) for gold, answer in pairs if gold.documents]),
        _means([score_snippets(answer.snippets, gold.snippets) for gold, answer in pairs if gold.snippets]),
    )


def score_documents(returned: Sequence[str], golden: Sequence[str]) -> QuestionScores:
    """The measures of the first ten documents; all URLs of a PubMed record count as the same document."""
    documents = list(dict.fromkeys(map(_named, returned)))[:LIMIT]
    relevant = set(map(_named, golden))
    hits = [name in relevant for name in documents]
    return _scores(hits, [1] * len(hits), hits, len(relevant), len(relevant))


def score_snippets(returned: Sequence[Snippet], golden: Sequence[Snippet]) -> QuestionScores:
    """The measures of the first ten snippets."""
    spans, relevant = _merged(_spans(returned[:LIMIT])), _merged(_spans(golden))
    shared = [sum(span.overlap(other) for other in relevant) for span in spans]
    articles = {article for (article, _, _), _, _ in relevant}
    in_relevant_articles = [article in articles for (article, _, _), _, _ in spans]
    sizes, total = [span.size() for span in spans], sum(span.size() for span in relevant)
    return _scores(shared, sizes, in_relevant_articles, total, len(relevant))


def _scores(
    shared: Sequence[int], sizes: Sequence[int], by_program: Sequence[bool], relevant: int, items: int
) -> QuestionScores:
    """The measures of a ranking.

    For each of its items: how much it shares with what is relevant, its size, and whether BioASQ's program counts it as
    correct. `relevant` is the size of everything relevant, `items` its number of items.
    """
    if not any(shared):
        return QuestionScores()
    precisions = [part / whole for part, whole in zip(accumulate(shared), accumulate(sizes), strict=True)]
    precision, recall = precisions[-1], sum(shared) / relevant
    total, total_by_program = (
        sum(value for value, hit in zip(precisions, hits, strict=True) if hit) for hits in (shared, by_program)
    )
    most = min(LIMIT, items)
    f1 = 2 * precision * recall / (precision + recall)
    return QuestionScores(precision, recall, f1, total / most, total / LIMIT, total_by_program / most)


def _means(scores: Sequence[QuestionScores]) -> dict[str, float]:
    if not scores:
        return {}
    precision, recall, f1, *averages = zip(*scores, strict=True)
    values = [_mean(precision), _mean(recall), _mean(f1)]
    for average in averages:
        values += [_mean(average), _geometric(average)]
    return dict(zip(MEASURES, values, strict=True))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _geometric(values: Sequence[float]) -> float:
    return math.exp(_mean([math.log(value + _EPSILON) for value in values]))


def _named(document: str) -> str:
    return recognise(document) or document


def _spans(snippets: Iterable[Snippet]) -> list[_Span]:
    """The spans of snippets; one that ends before it begins has no characters and is left out."""
    spans = []
    for each in snippets:
        where = (_named(each.document), _section(each.begin_section), _section(each.end_section))
        if each.offset_in_begin_section <= each.offset_in_end_section:
            spans.append(_Span(where, each.offset_in_begin_section, each.offset_in_end_section))
    return spans


def _section(name: str) -> str:
    return "abstract" if name == "sections.0" else name


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    """The spans, with overlapping ones merged at the position of the first of them."""
    apart: list[_Span] = []
    for span in spans:
        touching = [other for other in apart if other.overlap(span)]
        if not touching:
            apart.append(span)
            continue
        whole = [*touching, span]
        merged = _Span(span.where, min(each.first for each in whole), max(each.last for each in whole))
        apart = [merged if other == touching[0] else other for other in apart if other not in touching[1:]]
    return apart
