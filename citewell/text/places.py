"""Where the sentences of a paper stand: their section, and the offsets of the first character and of the one after the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from citewell.papers import Paper, Sentence

BODY = "body"
"""The section of full text that names none of its own."""


class Place(NamedTuple):
    """A stretch of a section's text: ``text[begin:end]``."""

    section: str
    begin: int
    end: int


def sentence_places(paper: Paper, sentences: Sequence[Sentence]) -> list[Place]:
    """Where each of a paper's sentences, in their order, stands: in the abstract, else in the title, else in its own section.

    The text of a section other than these two is its sentences, joined by single spaces.
    """
    places = []
    known = {"abstract": paper.abstract, "title": paper.title}
    ends = dict.fromkeys(known, 0)
    lengths: dict[str, int] = {}
    for sentence in sentences:
        section = BODY if sentence.section in ("", *known) else sentence.section
        begin = lengths[section] + 1 if section in lengths else 0
        lengths[section] = begin + len(sentence.text)
        for name, text in known.items():
            if (found := _begin(text, sentence.text, ends[name])) >= 0:
                section, begin = name, found
                ends[name] = found + len(sentence.text)
                break
        places.append(Place(section, begin, begin + len(sentence.text)))
    return places


def _begin(text: str, sentence: str, after: int) -> int:
    """Where a sentence begins, behind the one before it if it stands there; -1 where it stands nowhere."""
    begin = text.find(sentence, after)
    return begin if begin >= 0 else text.find(sentence)
