"""Sentences with weak labels of whether they are transition sentences, and the measures of their classification.

CORWA's labels are not at hand, so rules stand in for them. A first sentence of a paragraph of an introduction or of related
work counts as one if it follows the rules of the model (`follows_rules`). Others do not, nor do sentences from within these
paragraphs. The labels are weak: some paragraphs begin with a detail, and some sentences within one lead over to a new topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.claims import average_precision, precision_recall_f1
from citewell.evaluate.sets import DataSet, FullParagraph
from citewell.models.claims import scorable, section_kind
from citewell.models.transitions import follows_rules
from citewell.text.sentences import split_sentences
from citewell.types import Float64Array, Mask

KINDS = ("introduction", "related work")
"""The kinds of sections whose paragraphs are used: in others first sentences often report what was done."""


@dataclass(frozen=True)
class LabelledSentence:
    """A sentence, and whether it counts as a transition sentence."""

    text: str
    transition: bool
    first: bool = True
    """Whether its paragraph begins with it."""


class HandLabelled(msgspec.Struct):
    """A line of a file of sentences that a person has labelled; other fields are ignored."""

    sentence: str
    transition: bool


def opening_paragraphs(dataset: DataSet) -> Iterator[tuple[int, FullParagraph]]:
    """The paragraphs of introductions and of related work, each with the year of its paper."""
    years = {name: paper.year for paper in dataset.papers() for name in paper.ids}
    naming = dataset.naming()
    for paragraph in dataset.full_paragraphs():
        year = years.get(naming(str(paragraph.citing)))
        if year is not None and section_kind(paragraph.section) in KINDS:
            yield year, paragraph


def labelled_sentences(paragraphs: Iterable[FullParagraph], within: int, seed: int) -> Iterator[LabelledSentence]:
    """The first sentence of each paragraph, and up to `within` others of it, chosen at random."""
    random = np.random.default_rng(seed)
    for paragraph in paragraphs:
        yield LabelledSentence(paragraph.topic_sentence, follows_rules(paragraph.topic_sentence))
        rest = split_sentences(paragraph.text)
        inner = (rest[at] for at in random.permutation(len(rest)).tolist())
        for sentence in islice(filter(scorable, inner), within):
            yield LabelledSentence(sentence, False, first=False)


def hand_labelled(path: Path) -> list[LabelledSentence]:
    """The sentences of a file of JSON lines with `sentence` and `transition`."""
    decode = msgspec.json.Decoder(HandLabelled).decode
    try:
        lines = [decode(line) for line in path.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise CitewellError(f"cannot read {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise CitewellError(f"{path} is not a file of labelled sentences ({error}); see benchmarks/transitions.py") from None
    return [LabelledSentence(line.sentence, line.transition) for line in lines]


def figures(labels: Mask, scores: Float64Array, threshold: float) -> dict[str, float]:
    """Average precision, and precision, recall and F1 at the threshold."""
    return {"AP": average_precision(labels, scores), **precision_recall_f1(labels, scores, threshold)}
