"""The texts of a set as documents of sentences, to learn from without labels.

A document is a paper's title and its sentences, or a paragraph of a paper of the train years. Papers with only a title are left
out, as in the BioASQ studies: a title that only others cite says little. Distractors count as papers. Citation marks are
removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import when
from citewell.papers import OTHER_MARK, TARGET_MARK
from citewell.text.sentences import split_sentences


def documents(dataset: DataSet) -> Iterator[list[str]]:
    """Each document as its title (empty for a paragraph) and its sentences."""
    distractors = any(path.name.startswith("distractors") for path in dataset.files())
    years: dict[str, int] = {}
    for paper in dataset.papers(distractors):
        years |= dict.fromkeys(paper.ids, when(paper) // 10_000)
        sentences = [sentence.text for sentence in paper.sentences] or split_sentences(paper.abstract)
        if sentences:
            yield [paper.title, *sentences]
    naming = dataset.naming()
    for paragraph in dataset.full_paragraphs():
        if 0 < years.get(naming(str(paragraph.citing)), 0) <= (dataset.train_until or 0):
            text = f"{paragraph.topic_sentence} {paragraph.text}"
            yield ["", *split_sentences(text.replace(TARGET_MARK, " ").replace(OTHER_MARK, " "))]
