"""Reads Jupyter notebooks: their Markdown cells, one after the other, as one Markdown document.

The file itself is the source: every place is an offset into its JSON, so that a patch changes only the strings that contain the
citation, and everything else stays byte for byte. Code cells and their output are not text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from citewell.draft import markdown
from citewell.draft.files import DraftSource
from citewell.draft.source_text import MappedText, SourceText, concatenate
from citewell.errors import CitewellError
from citewell.papers import Draft

PRIORITY = 38
SUFFIXES = (".ipynb",)
_OWN = re.compile(r"\s*\{")
_CELLS = re.compile(r"\"cell_type\"\s*:")
_JSON = re.compile(r"\"[^\"\\]*(?:\\.[^\"\\]*)*\"|[{}\[\],:]", re.DOTALL)
_CHARACTERS = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\(.)|([^\\]+)", re.DOTALL
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_BETWEEN = re.compile(r"\"[^\"]*\"")
"""The end of one string and the beginning of the next: the lines of a cell are separate strings."""


def matches(source: DraftSource) -> bool:
    """Whether a manuscript is a notebook: by its suffix, or as JSON with cells."""
    return source.suffix in SUFFIXES or bool(_OWN.match(source.text) and _CELLS.search(source.text))


def read(source: DraftSource) -> Draft:
    """The draft in the Markdown cells of a notebook, with its bibliography."""
    text = source.text
    if source.data:
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            name = source.name or "the notebook"
            raise CitewellError(f"{name} is a damaged notebook ({error}); open it in Jupyter and save it again") from error
    whole = MappedText.of(text, 0)
    pieces: list[MappedText] = []
    for cell in _cells(text):
        if cell.is_text(first=not pieces):
            start = ("\n\n" if pieces else "") + ("# " if cell.type == "heading" else "")
            if start:
                pieces.append(whole.substitute(cell.strings[0][0], cell.strings[0][0] + 1, start))
            pieces += [_mapped(text, begin, end) for begin, end in cell.strings]
    joined = concatenate(pieces)
    mapped = SourceText(joined.text, joined.files, joined.begins, joined.ends, [""], {"": text})
    return markdown.read_mapped(mapped, source.folder)


@dataclass(slots=True)
class _Cell:
    """A cell: its type, and the spans of the strings that make its source."""

    type: str = ""
    strings: list[tuple[int, int]] = field(default_factory=list)

    def is_text(self, first: bool) -> bool:
        """Whether it has text; the first cell may be a raw one with a YAML header."""
        return bool(self.strings) and (self.type in ("markdown", "heading") or (first and self.type == "raw"))


def _cells(text: str) -> Iterator[_Cell]:
    """The cells in order. Objects nest, so the keys that lead to a string are kept on a stack."""
    keys: list[str | None] = []
    cell, depth, last = _Cell(), -1, ""
    span = (0, 0)
    for token in _JSON.finditer(text):
        sign = token[0]
        if sign[0] == '"':
            last, span = sign, token.span()
            if (depth >= 0 and keys[depth:] == ["source"]) or (depth >= 0 and keys[depth:] == ["source", None]):
                cell.strings.append((span[0] + 1, span[1] - 1))
            elif depth >= 0 and keys[depth:] == ["cell_type"]:
                cell.type = sign[1:-1]
        elif sign == ":":
            if cell.strings and cell.strings[-1] == (span[0] + 1, span[1] - 1):
                cell.strings.pop()  # it was a key
            if keys:
                keys[-1] = last[1:-1]
        elif sign in "{[":
            if sign == "{" and len(keys) >= 2 and keys[-2:] == ["cells", None] and depth < 0:
                cell, depth = _Cell(), len(keys)
            keys.append("" if sign == "{" else None)
        elif sign in "}]" and keys:
            keys.pop()
            if len(keys) == depth:
                yield cell
                depth = -1
        elif sign == "," and keys and keys[-1] is not None:
            keys[-1] = ""


def _mapped(text: str, begin: int, end: int) -> MappedText:
    """The text of a JSON string; each character comes from itself or from its escape sequence."""
    characters: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    for match in _CHARACTERS.finditer(text, begin, end):
        if match[5]:
            characters.append(match[5])
            begins += range(match.start(), match.end())
            ends += range(match.start() + 1, match.end() + 1)
            continue
        if match[1]:
            character = chr(0x10000 + ((int(match[1], 16) - 0xD800) << 10) + int(match[2], 16) - 0xDC00)
        elif match[3]:
            number = int(match[3], 16)
            character = chr(number) if not 0xD800 <= number < 0xE000 else "\ufffd"
        else:
            character = _ESCAPES.get(match[4], match[4])
        characters.append(character)
        begins.append(match.start())
        ends.append(match.end())
    return MappedText(
        "".join(characters), np.zeros(len(begins), np.int32), np.array(begins, np.int32), np.array(ends, np.int32)
    )


def decoded(source: str) -> tuple[str, list[int]]:
    """The text in a part of a cell, and the offset in `source` of each of its characters and of its end."""
    pieces, at = [], 0
    for between in _between(source):
        pieces.append(_mapped(source, at, between[0]))
        at = between[1]
    whole = concatenate([*pieces, _mapped(source, at, len(source))])
    return whole.text, [*whole.begins.tolist(), len(source)]


def _between(source: str) -> Iterator[tuple[int, int]]:
    """Where a part of a cell leaves one string for the next."""
    at = 0
    while (begin := source.find('"', at)) >= 0:
        backslashes = len(source[:begin]) - len(source[:begin].rstrip("\\"))
        if backslashes % 2:
            at = begin + 1
            continue
        match = _BETWEEN.match(source, begin)
        if match is None:
            return
        yield match.span()
        at = match.end()


def edited(source: str, new: str) -> tuple[int, int, str]:
    """The smallest change of a part of a cell that gives it a new text: two offsets, and JSON in place of what is between."""
    old, offsets = decoded(source)
    begin = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))
    same = 0
    while same < min(len(old), len(new)) - begin and old[-1 - same] == new[-1 - same]:
        same += 1
    first, last = offsets[begin], offsets[len(old) - same]
    if '"' in source[first:last].replace('\\"', ""):
        raise CitewellError("the citation continues in the next line of a notebook cell; put it on one line first")
    return first, last, json.dumps(new[begin : len(new) - same], ensure_ascii=False)[1:-1]
