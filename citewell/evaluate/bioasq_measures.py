"""What answers to BioASQ's questions are worth, by the measures of its task b, phase A.

Snippets are compared by their characters. A character is an article, a section and an offset; the offset at which a snippet
ends counts as its last, as in BioASQ's own program. Snippets of a list that overlap are joined first. The average precision of
a question adds up the precision at every rank whose item is right: a golden document, or a snippet that overlaps a golden one.
Since BioASQ 8 (2020) the sum is divided by the number of golden items, at most by ten; from BioASQ 3 to 7 it was divided by ten
(the measures that end in ``/10``). That of snippets can pass 1, since several of them may overlap one golden snippet.

BioASQ's published program takes every snippet of an article that has a golden one for right, whether they overlap or not (the
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
"""Added to each average precision before the geometric mean is taken."""


class Marks(NamedTuple):
    """What the answer to one question is worth."""

    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0
    average_precision: float = 0.0
    of_ten: float = 0.0
    """Average precision divided by ten."""
    by_program: float = 0.0
    """Average precision as BioASQ's program has it."""


@dataclass(slots=True)
class Scores:
    """What a run is worth: each measure of documents and of snippets; nothing where the golden answers have none of them."""

    questions: int
    missing: int
    """Questions that the run does not answer."""
    documents: dict[str, float]
    snippets: dict[str, float]


class _Span(NamedTuple):
    """A stretch of characters, from the first to the last."""

    where: tuple[str, str, str]
    first: int
    last: int

    def size(self) -> int:
        return self.last - self.first + 1

    def overlap(self, other: _Span) -> int:
        """How many characters two stretches share."""
        if self.where != other.where:
            return 0
        return max(0, min(self.last, other.last) - max(self.first, other.first) + 1)


def score(run: Sequence[Question], golden: Sequence[Question]) -> Scores:
    """What a run is worth, over the questions that have golden documents, and over those that have golden snippets."""
    answers = {question.id: question for question in run}
    asked = [question for question in golden if question.documents or question.snippets]
    if not asked:
        raise CitewellError("the golden file has no documents and no snippets; give the one that BioASQ published with answers")
    given = [(question, answers.get(question.id, Question(question.id))) for question in asked]
    return Scores(
        len(asked),
        sum(question.id not in answers for question in asked),
        _means([mark_documents(answer.documents, right.documents) for right, answer in given if right.documents]),
        _means([mark_snippets(answer.snippets, right.snippets) for right, answer in given if right.snippets]),
    )


def mark_documents(returned: Sequence[str], golden: Sequence[str]) -> Marks:
    """The marks of the first ten documents; a PubMed record is the same by any of its addresses."""
    found = list(dict.fromkeys(map(_named, returned)))[:LIMIT]
    right = set(map(_named, golden))
    hits = [name in right for name in found]
    return _marks(hits, [1] * len(hits), hits, len(right), len(right))


def mark_snippets(returned: Sequence[Snippet], golden: Sequence[Snippet]) -> Marks:
    """The marks of the first ten snippets."""
    found, right = _joined(_spans(returned[:LIMIT])), _joined(_spans(golden))
    shared = [sum(span.overlap(other) for other in right) for span in found]
    articles = {article for (article, _, _), _, _ in right}
    of_right_articles = [article in articles for (article, _, _), _, _ in found]
    sizes, wanted = [span.size() for span in found], sum(span.size() for span in right)
    return _marks(shared, sizes, of_right_articles, wanted, len(right))


def _marks(shared: Sequence[int], sizes: Sequence[int], by_program: Sequence[bool], wanted: int, items: int) -> Marks:
    """The marks of a ranking.

    Of each of its items: how much it shares with what is wanted, how large it is, whether BioASQ's program takes it for right;
    of what is wanted: how much it is, and in how many items.
    """
    if not any(shared):
        return Marks()
    precisions = [part / whole for part, whole in zip(accumulate(shared), accumulate(sizes), strict=True)]
    precision, recall = precisions[-1], sum(shared) / wanted
    total, total_by_program = (
        sum(value for value, right in zip(precisions, rights, strict=True) if right) for rights in (shared, by_program)
    )
    most = min(LIMIT, items)
    f1 = 2 * precision * recall / (precision + recall)
    return Marks(precision, recall, f1, total / most, total / LIMIT, total_by_program / most)


def _means(marks: Sequence[Marks]) -> dict[str, float]:
    if not marks:
        return {}
    precision, recall, f1, *averages = zip(*marks, strict=True)
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
    """The stretches of snippets; one that ends before it begins has no characters, and is left out."""
    found = []
    for each in snippets:
        where = (_named(each.document), _section(each.begin_section), _section(each.end_section))
        if each.offset_in_begin_section <= each.offset_in_end_section:
            found.append(_Span(where, each.offset_in_begin_section, each.offset_in_end_section))
    return found


def _section(name: str) -> str:
    return "abstract" if name == "sections.0" else name


def _joined(spans: Iterable[_Span]) -> list[_Span]:
    """The spans, those that overlap made one at the place of the first of them."""
    apart: list[_Span] = []
    for span in spans:
        touching = [other for other in apart if other.overlap(span)]
        if not touching:
            apart.append(span)
            continue
        whole = [*touching, span]
        joined = _Span(span.where, min(each.first for each in whole), max(each.last for each in whole))
        apart = [joined if other == touching[0] else other for other in apart if other not in touching[1:]]
    return apart
