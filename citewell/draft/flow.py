"""Running text that knows where it comes from.

A reader turns a manuscript into a `Flow`: one text, and for each of its characters the file and the stretch of it that it was
made of. Then it walks along that text and writes what a person would read into a `Script`, which cuts it into paragraphs and
sentences, finds the contexts of citations and gaps, and knows the exact place of each in the source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from citewell.papers import OTHER_MARK, Draft, DraftSentence, Paragraph, Place, Slot
from citewell.text.marks import contexts
from citewell.text.sentences import sentence_spans

Numbers = npt.NDArray[np.int32]

_WORDS = re.compile(r"\s+|\S+")
_NEWLINE = re.compile("\n")
_TYPED = re.compile(
    r"\[\d{1,3}(?:\s?[,;\u2013-]\s?\d{1,3}){0,20}\]"  # [3, 5-7]
    r"|[A-Z][\w'\u2019-]+(?: et al\.)?,? \((?:18|19|20)\d\d[a-z]?\)"  # Berg (1931)
    r"|\([^()]{0,80}\b[A-Z][\w'\u2019-]+(?: et al\.)?,? (?:18|19|20)\d\d[a-z]?\b[^()]{0,200}\)"  # (see Berg, 1931)
)
"""A citation that is typed as text, as in a manuscript without a reference manager."""
_BEHIND_STOP = re.compile(
    rf"(?:(?<=[.!?])|(?<=[.!?][\"'\u201d\u2019)]))(?:{OTHER_MARK}(?=\s|$)| {OTHER_MARK}(?=$|\s+[\"'(\[\u201c]*[A-Z]))"
)
_BEFORE_MARK = re.compile(rf"\s*{OTHER_MARK}")


@dataclass
class Flow:
    """A text, and where each of its characters comes from."""

    text: str
    files: Numbers
    """For each character the number of its file in `names`."""
    begins: Numbers
    ends: Numbers
    names: list[str]
    sources: dict[str, str]

    @classmethod
    def of(cls, text: str, name: str = "") -> Flow:
        """A file as it is."""
        at = np.arange(len(text) + 1, dtype=np.int32)
        return cls(text, np.zeros(len(text), np.int32), at[:-1], at[1:], [name], {name: text})

    def place(self, begin: int, end: int) -> Place:
        """Where ``text[begin:end]`` stands; what lies in another file than its beginning is left out."""
        if not self.text:
            return Place(self.names[0])
        if begin >= end:  # nothing at all, behind the character before it
            behind = begin > 0
            at = min(begin - behind, len(self.text) - 1)
            name, offset = self.names[self.files[at]], int(self.ends[at] if behind else self.begins[at])
            return Place(name, offset, offset, self._line(name, offset))
        file = self.files[begin]
        here = slice(begin, end)
        mine = self.files[here] == file
        first, last = int(self.begins[here][mine].min()), int(self.ends[here][mine].max())
        name = self.names[file]
        return Place(name, first, last, self._line(name, first))

    @cached_property
    def _newlines(self) -> dict[str, list[int]]:
        return {name: [found.start() for found in _NEWLINE.finditer(text)] for name, text in self.sources.items()}

    def _line(self, name: str, offset: int) -> int:
        return bisect_right(self._newlines[name], offset - 1) + 1


@dataclass(slots=True)
class Strand:
    """A text and where each of its characters comes from: a `Flow` in the making."""

    text: str
    files: Numbers
    begins: Numbers
    ends: Numbers

    @classmethod
    def of(cls, text: str, file: int) -> Strand:
        """The file of this number as it is."""
        at = np.arange(len(text) + 1, dtype=np.int32)
        return cls(text, np.full(len(text), file, np.int32), at[:-1], at[1:])

    def cut(self, begin: int, end: int) -> Strand:
        here = slice(begin, end)
        return Strand(self.text[here], self.files[here], self.begins[here], self.ends[here])

    def call(self, begin: int, end: int, text: str) -> Strand:
        """`text`, all of which comes from ``self[begin:end]``."""
        size = len(text)
        file, first, last = self.files[begin], self.begins[begin:end].min(), self.ends[begin:end].max()
        return Strand(text, np.full(size, file, np.int32), np.full(size, first, np.int32), np.full(size, last, np.int32))


def joined(strands: Sequence[Strand]) -> Strand:
    """Strands one behind the other."""
    if not strands:
        nothing = np.zeros(0, np.int32)
        return Strand("", nothing, nothing, nothing)
    columns = [np.concatenate([getattr(each, name) for each in strands]) for name in ("files", "begins", "ends")]
    return Strand("".join(each.text for each in strands), *columns)


@dataclass(slots=True)
class _Mark:
    at: int
    """Where in the readable text of its block."""
    begin: int
    end: int
    keys: list[str]
    note: str
    textual: bool


@dataclass(slots=True)
class Block:
    """A paragraph in the making: readable text, and for each of its characters the stretch of the flow that it stands for."""

    text: list[str] = field(default_factory=list)
    size: int = 0
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    marks: list[_Mark] = field(default_factory=list)
    quiet: bool = False
    """Whether its citations count and its text does not: tables, headings."""

    def copy(self, text: str, begin: int) -> None:
        """Add a text that stands in the flow as it is, from `begin`."""
        for found in _WORDS.finditer(text):
            first, last = begin + found.start(), begin + found.end()
            if not found[0][0].isspace():
                self._add(found[0], range(first, last), range(first + 1, last + 1))
            elif self.size and self.text[-1] != " ":
                self._add(" ", [first], [last])

    def write(self, text: str, begin: int, end: int) -> None:
        """Add what ``flow[begin:end]`` reads as, where that is something else."""
        for found in _WORDS.finditer(text):
            word = " " if found[0][0].isspace() else found[0]
            if word != " " or (self.size and self.text[-1] != " "):
                self._add(word, [begin] * len(word), [end] * len(word))

    def mark(self, begin: int, end: int, keys: Sequence[str], note: str = "", textual: bool = False) -> None:
        """Add a citation or a gap; a textual one is a part of its sentence, as in "Färber and Jatowt (2020) survey"."""
        self.marks.append(_Mark(self.size, begin, end, list(keys), " ".join(note.split()), textual))
        self._add(OTHER_MARK, [begin] * len(OTHER_MARK), [end] * len(OTHER_MARK))

    def readable(self) -> str:
        return "".join(self.text).rstrip()

    def _add(self, text: str, begins: Sequence[int], ends: Sequence[int]) -> None:
        self.text.append(text)
        self.size += len(text)
        self.begins.extend(begins)
        self.ends.extend(ends)


@dataclass
class Script:
    """What has been read so far, as a draft in the making."""

    flow: Flow
    draft: Draft
    section: str = ""
    block: Block = field(default_factory=Block)
    _slots: list[tuple[int, Slot]] = field(default_factory=list)
    _paragraphs: list[tuple[int, Paragraph]] = field(default_factory=list)

    def close(self) -> Block:
        """End the paragraph that stands open, keep it, and begin another of the same kind."""
        block, self.block = self.block, Block(quiet=self.block.quiet)
        self.keep(block)
        return block

    def keep(self, block: Block, running: bool = True) -> None:
        """Take a block into the draft: its citations and gaps, and its text where that is `running`."""
        text = block.readable()
        if not text:
            return
        found = contexts(text, [(mark.at, mark.at + len(OTHER_MARK), []) for mark in block.marks])
        for context in found:
            mark = block.marks[int(context.id)]
            slot = Slot(context.text, self.flow.place(mark.begin, mark.end), mark.keys, mark.note)
            self._slots.append((mark.begin, slot))
        if running and not block.quiet:
            paragraph = self._paragraph(block, text)
            self._paragraphs.append((block.begins[0], paragraph))

    def _paragraph(self, block: Block, text: str) -> Paragraph:
        spans = [
            (begin, begin + len(text[begin:end].rstrip())) for begin, end in sentence_spans(_for_cutting(text, block.marks))
        ]
        marked = sorted(mark.at for mark in block.marks)
        sentences = []
        for begin, end in spans:
            if begin < end:
                cited = bisect_right(marked, end - 1) > bisect_right(marked, begin - 1) or _TYPED.search(text, begin, end)
                sentences.append(DraftSentence(text[begin:end], self._place(block, begin, end), bool(cited)))
        return Paragraph(text, self._place(block, 0, len(text)), self.section, sentences)

    def _place(self, block: Block, begin: int, end: int) -> Place:
        """Where ``text[begin:end]`` of a block stands in the source."""
        return self.flow.place(min(block.begins[begin:end]), max(block.ends[begin:end]))

    def finish(self) -> Draft:
        """The draft, all in reading order."""
        self.close()
        draft = self.draft
        places = set()
        for _, slot in sorted(self._slots, key=lambda found: found[0]):
            # A macro may say its argument twice; the author wrote it once.
            if (place := astuple(slot.place)) not in places:
                places.add(place)
                draft.slots.append(slot)
        draft.paragraphs = [paragraph for _, paragraph in sorted(self._paragraphs, key=lambda found: found[0])]
        _count_nested(draft)
        draft.sources = self.flow.sources
        return draft


def unmarked(text: str) -> str:
    """Readable text without its marks."""
    return _BEFORE_MARK.sub("", text).strip()


def _for_cutting(text: str, marks: Sequence[_Mark]) -> str:
    """`text`, in which a citation right behind a full stop looks like a bracket that belongs to the sentence before."""
    textual = {mark.at for mark in marks if mark.textual}
    return _BEHIND_STOP.sub(lambda found: found[0] if found.end() - len(OTHER_MARK) in textual else "]" * len(found[0]), text)


def _count_nested(draft: Draft) -> None:
    """A sentence is cited too where the citation stands in a note or a list inside it, or in a note that follows it at once."""
    begins: dict[str, list[int]] = {}
    for slot in draft.slots:
        begins.setdefault(slot.place.file, []).append(slot.place.begin)
    for places in begins.values():
        places.sort()
    for paragraph in draft.paragraphs:
        for at, sentence in enumerate(paragraph.sentences):
            ahead = paragraph.sentences[at + 1].place.begin if at + 1 < len(paragraph.sentences) else paragraph.place.end
            mine = begins.get(sentence.place.file, [])
            first = bisect_right(mine, sentence.place.begin - 1)
            if first < len(mine) and mine[first] < max(ahead, sentence.place.end):
                sentence.cited = True
