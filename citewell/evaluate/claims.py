"""Measures of sentence classification: which sentences need a citation, tested on published papers by whether they cite.

A set has paragraphs that cite at least two of its papers and begin with a sentence that does not cite. So the first sentences
are neither trained nor tested on; they serve as context only. Paragraphs without citations are missing, and with them most
uncited sentences of Results and Methods: in a set two of five sentences cite, in whole articles one of seven.
Whole articles (`articles`) show the effect on precision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citewell.evaluate.sets import DataSet
from citewell.models.claims import Claims, SentenceBlock, Thresholds, scorable
from citewell.papers import Paper
from citewell.sources import jats
from citewell.sources.source import Source
from citewell.text.citation_removal import has_citation, remove_citations
from citewell.text.sentences import split_sentences
from citewell.types import Array, Float64Array, Mask

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
"""The baseline: phrases that refer to the work of others."""


@dataclass(frozen=True)
class LabelledBlock:
    """A block of sentences of a published paper, with labels: which sentences cite, and which count in the test."""

    block: SentenceBlock
    cites: Mask
    judged: Mask
    paper: str = ""
    year: int = 0


def labelled_paragraphs(dataset: DataSet, years: Sequence[int] | range) -> Iterator[LabelledBlock]:
    """The paragraphs of a set from papers of these years."""
    known = {name: paper.year for paper in dataset.papers() for name in paper.ids}
    naming = dataset.naming()
    for paragraph in dataset.full_paragraphs():
        citing = naming(str(paragraph.citing))
        year = known.get(citing)
        if year is not None and year in years:
            sentences = [paragraph.topic_sentence, *split_sentences(paragraph.text)]
            block = label_sentences(sentences, paragraph.section, citing, year)
            block.judged[0] = False
            yield block


def articles(folder: Path) -> Iterator[tuple[Paper, list[LabelledBlock]]]:
    """Whole articles in JATS XML, with a block for each section; articles without text are left out."""
    for path in sorted(folder.glob("*.xml")):
        with Source(path) as source:
            for paper in jats.read(source):
                if isinstance(paper, Paper) and paper.sentences:
                    yield paper, list(_sections(paper))


def _sections(paper: Paper) -> Iterator[LabelledBlock]:
    begin = 0
    for at in range(1, len(paper.sentences) + 1):
        if at == len(paper.sentences) or paper.sentences[at].section != paper.sentences[begin].section:
            section = paper.sentences[begin].section
            yield label_sentences(
                [each.text for each in paper.sentences[begin:at]], section, paper.ids[0] if paper.ids else "", paper.year or 0
            )
            begin = at


def label_sentences(sentences: Sequence[str], section: str, paper: str = "", year: int = 0) -> LabelledBlock:
    """A labelled block of sentences, in which citations are marks."""
    cites = np.array([has_citation(each) for each in sentences], bool)
    return LabelledBlock(
        SentenceBlock(sentences, section), cites, np.array([scorable(each) for each in sentences], bool), paper, year
    )


def score_blocks(model: Claims, labelled: Sequence[LabelledBlock]) -> tuple[Mask, Float64Array]:
    """Whether each sentence that counts cites, and its score by the model."""
    scores = model.scores([each.block for each in labelled])
    return _judged(labelled, [each.cites for each in labelled]), _judged(labelled, scores)


def count_cues(labelled: Sequence[LabelledBlock]) -> Float64Array:
    """The scores of the same sentences by the baseline: the number of cue phrases."""
    counts = [
        np.array([len(CUES.findall(remove_citations(text))) for text in each.block.sentences], float) for each in labelled
    ]
    return _judged(labelled, counts)


def _judged(labelled: Sequence[LabelledBlock], values: Sequence[Array]) -> Array:
    """The values of the sentences that count, in one array."""
    return np.concatenate([value[each.judged] for value, each in zip(values, labelled, strict=True)] or [np.zeros(0)])


def average_precision(cites: Mask, scores: Float64Array) -> float:
    """Average precision; sentences with equal scores count at the same rank."""
    hits, taken = _curve(cites, scores)[:2]
    gained = np.diff(hits, prepend=0)
    return float((gained * hits / taken).sum() / max(1, int(cites.sum())))


def best_threshold(cites: Mask, scores: Float64Array) -> float:
    """The threshold with the highest F1."""
    hits, taken, at = _curve(cites, scores)
    return float(at[np.argmax(2 * hits / (taken + cites.sum()))])


def threshold_for(cites: Mask, scores: Float64Array, precision: float) -> float:
    """The lowest threshold with at least this precision; the highest score if there is none."""
    hits, taken, at = _curve(cites, scores)
    precise = np.flatnonzero(hits / taken >= precision)
    return float(at[precise[-1]] if len(precise) else at[0])


def precision_recall_f1(cites: Mask, scores: Float64Array, threshold: float) -> dict[str, float]:
    """Precision, recall and F1 of the sentences with at least this score."""
    taken = scores >= threshold
    hits = int((taken & cites).sum())
    precision, recall = hits / max(1, int(taken.sum())), hits / max(1, int(cites.sum()))
    return {"P": precision, "R": recall, "F1": 2 * precision * recall / max(1e-12, precision + recall)}


def figures(cites: Mask, scores: Float64Array, thresholds: Thresholds) -> dict[str, float]:
    """Average precision; precision, recall and F1 at the best threshold; precision and recall at the one of high precision."""
    sure = precision_recall_f1(cites, scores, thresholds.high_precision)
    even = precision_recall_f1(cites, scores, thresholds.best_f1)
    return {"AP": average_precision(cites, scores), **even, "P sure": sure["P"], "R sure": sure["R"]}


def _curve(cites: Mask, scores: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """From the highest score down: the number of citing sentences so far, of all sentences so far, and the score."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    hits: Float64Array = np.cumsum(cites[order])[ends].astype(np.float64)
    return hits, (ends + 1).astype(np.float64), scores[order][ends]
