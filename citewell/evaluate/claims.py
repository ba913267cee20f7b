"""How well sentences that call for a citation are told from others: those of published papers, by whether they cite.

What a set has are paragraphs that cite at least two of its papers and begin with a sentence that does not cite. Of the first
sentences nothing can be learned or measured, therefore; they are only read as neighbours. Paragraphs that cite nothing are
missing, and with them most uncited sentences of Results and Methods: in a set two of five sentences cite, in whole articles one
of seven. Whole articles (`articles`) show what that does to precision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.evaluate.sets import DataSet
from citewell.models.claims import Claims, SentenceBlock, Thresholds, scorable
from citewell.papers import Paper
from citewell.sources import jats
from citewell.sources.source import Source
from citewell.text.citation_removal import has_citation, remove_citations
from citewell.text.sentences import split_sentences

CUES = re.compile(
    r"\bet al\b|\bstud(?:y|ies) (?:have|has|show|suggest|demonstrat|report|found|indicat)"
    r"|\b(?:previous|prior|earlier|recent|other|several|numerous|many|past) (?:\w+ )?(?:stud|work|report|research"
    r"|finding|author|investigat|experiment)"
    r"|\b(?:has|have) (?:also |recently |previously |long |all )?been (?:shown|found|reported|described"
    r"|demonstrated|suggested|proposed|implicated|observed|used|linked|associated|identified|known|thought|studied"
    r"|developed)|\b(?:is|are) (?:well )?(?:known|thought|believed|established|widely)\b|\bpreviously\b|\breviewed\b"
    r"|\baccording to\b|\bin the literature\b|\bas described\b|\bdescribed (?:before|elsewhere|earlier)\b"
    r"|\bit (?:has been|was|is) (?:shown|reported|proposed|suggested|known)\b"
    r"|\bconsistent with (?:previous|earlier|other)\b"
    r"|\b(?:researchers|others|authors) (?:have|has|found|showed|reported)\b"
    r"|\bwell[- ](?:known|established|documented|studied)\b",
    re.IGNORECASE,
)
"""The baseline: words that announce somebody else's work."""

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Marked:
    """A passage of a published paper: which of its sentences cite, and of which something can be said."""

    passage: SentenceBlock
    cites: Labels
    judged: Labels
    paper: str = ""
    year: int = 0


def passages(dataset: DataSet, years: Sequence[int] | range) -> Iterator[Marked]:
    """The paragraphs of a set whose papers are of these years."""
    known = {name: paper.year for paper in dataset.papers() for name in paper.ids}
    naming = dataset.naming()
    for paragraph in dataset.full_paragraphs():
        citing = naming(str(paragraph.citing))
        year = known.get(citing)
        if year is not None and year in years:
            sentences = [paragraph.topic_sentence, *split_sentences(paragraph.text)]
            found = of_sentences(sentences, paragraph.section, citing, year)
            found.judged[0] = False
            yield found


def articles(folder: Path) -> Iterator[tuple[Paper, list[Marked]]]:
    """Whole articles in JATS XML, a passage for each section in a row; those without text are left out."""
    for path in sorted(folder.glob("*.xml")):
        with Source(path) as source:
            for paper in jats.read(source):
                if isinstance(paper, Paper) and paper.sentences:
                    yield paper, list(_sections(paper))


def _sections(paper: Paper) -> Iterator[Marked]:
    begin = 0
    for at in range(1, len(paper.sentences) + 1):
        if at == len(paper.sentences) or paper.sentences[at].section != paper.sentences[begin].section:
            section = paper.sentences[begin].section
            yield of_sentences(
                [each.text for each in paper.sentences[begin:at]], section, paper.ids[0] if paper.ids else "", paper.year or 0
            )
            begin = at


def of_sentences(sentences: Sequence[str], section: str, paper: str = "", year: int = 0) -> Marked:
    """A passage of sentences with their citations as marks."""
    cites = np.array([has_citation(each) for each in sentences], bool)
    return Marked(SentenceBlock(sentences, section), cites, np.array([scorable(each) for each in sentences], bool), paper, year)


def thought(model: Claims, found: Sequence[Marked]) -> tuple[Labels, Floats]:
    """Of all sentences of which something can be said whether they cite, and the model's scores."""
    scores = model.scores([each.passage for each in found])
    return _taken(found, [each.cites for each in found]), _taken(found, scores)


def cued(found: Sequence[Marked]) -> Floats:
    """The same sentences by the baseline: how many cues each has."""
    counts = [np.array([len(CUES.findall(remove_citations(text))) for text in each.passage.sentences], float) for each in found]
    return _taken(found, counts)


def _taken(found: Sequence[Marked], values: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate([value[each.judged] for value, each in zip(values, found, strict=True)] or [np.zeros(0)])


def average_precision(cites: Labels, scores: Floats) -> float:
    """The mean, over sentences that cite, of the precision down to each; of equal scores all are taken at once."""
    right, taken = _curve(cites, scores)[:2]
    gained = np.diff(right, prepend=0)
    return float((gained * right / taken).sum() / max(1, int(cites.sum())))


def best_threshold(cites: Labels, scores: Floats) -> float:
    """The score from which on F1 is best."""
    right, taken, at = _curve(cites, scores)
    return float(at[np.argmax(2 * right / (taken + cites.sum()))])


def threshold_for(cites: Labels, scores: Floats, precision: float) -> float:
    """The lowest score from which on this precision is kept; the highest of all where it never is."""
    right, taken, at = _curve(cites, scores)
    kept = np.flatnonzero(right / taken >= precision)
    return float(at[kept[-1]] if len(kept) else at[0])


def measured(cites: Labels, scores: Floats, threshold: float) -> dict[str, float]:
    """Precision, recall and F1 of the sentences from a score on."""
    taken = scores >= threshold
    right = int((taken & cites).sum())
    precision, recall = right / max(1, int(taken.sum())), right / max(1, int(cites.sum()))
    return {"P": precision, "R": recall, "F1": 2 * precision * recall / max(1e-12, precision + recall)}


def figures(cites: Labels, scores: Floats, thresholds: Thresholds) -> dict[str, float]:
    """Average precision; precision, recall and F1 at the even threshold; precision and recall at the sure one."""
    sure = measured(cites, scores, thresholds.high_precision)
    even = measured(cites, scores, thresholds.best_f1)
    return {"AP": average_precision(cites, scores), **even, "P sure": sure["P"], "R sure": sure["R"]}


def _curve(cites: Labels, scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Going down from the highest score: how many that cite are taken, how many are, and the score reached."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    right: Floats = np.cumsum(cites[order])[ends].astype(np.float64)
    return right, (ends + 1).astype(np.float64), scores[order][ends]
