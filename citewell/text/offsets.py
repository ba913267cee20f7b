"""The section and the character offsets of each sentence of a paper, as BioASQ reports snippets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from citewell.papers import Paper, Sentence

BODY = "body"
"""The name of the section for full text without section titles."""


class SentenceOffsets(NamedTuple):
    """A part of the text of a section: ``text[begin:end]``."""

    section: str
    begin: int
    end: int


def sentence_offsets(paper: Paper, sentences: Sequence[Sentence]) -> list[SentenceOffsets]:
    """The offsets of each sentence of a paper, in order: in the abstract, else in the title, else in its own section.

    The text of any other section is its sentences, joined by single spaces.
    """
    offsets = []
    known = {"abstract": paper.abstract, "title": paper.title}
    ends = dict.fromkeys(known, 0)
    lengths: dict[str, int] = {}
    for sentence in sentences:
        section = BODY if sentence.section in ("", *known) else sentence.section
        begin = lengths[section] + 1 if section in lengths else 0
        lengths[section] = begin + len(sentence.text)
        for name, text in known.items():
            if (position := _position(text, sentence.text, ends[name])) >= 0:
                section, begin = name, position
                ends[name] = position + len(sentence.text)
                break
        offsets.append(SentenceOffsets(section, begin, begin + len(sentence.text)))
    return offsets


def _position(text: str, sentence: str, after: int) -> int:
    """Where a sentence begins, preferably after the previous one; -1 if the text does not contain it."""
    begin = text.find(sentence, after)
    return begin if begin >= 0 else text.find(sentence)
