"""Joins a manuscript with the files that it includes, as one text in which every character knows its file."""

from __future__ import annotations

import posixpath
import re

from citewell.draft.files import Folder
from citewell.draft.source_text import MappedText, SourceText, concatenate

_MAX_DEPTH = 8
_MAX_LENGTH = 20_000_000


def with_includes(text: str, folder: Folder, include: re.Pattern[str], suffixes: tuple[str, ...] = ()) -> SourceText:
    """The manuscript with the files that `include` names in its first group, and those that they include.

    A name is relative to the file that has it. A file that is included twice is read once.
    """
    names, sources = [""], {"": text}
    length = len(text)

    def expanded(name: str, number: int, depth: int) -> MappedText:
        nonlocal length
        whole = MappedText.of(sources[name], number)
        pieces, at = [], 0
        for match in include.finditer(sources[name]) if depth < _MAX_DEPTH else ():
            opened = folder.text(posixpath.normpath(posixpath.join(posixpath.dirname(name), match[1])), *suffixes)
            if opened is None or opened[0] in sources or length + len(opened[1]) > _MAX_LENGTH:
                continue
            length += len(opened[1])
            names.append(opened[0])
            sources[opened[0]] = opened[1]
            paragraph_break = whole.substitute(*match.span(), "\n\n")
            inner = expanded(opened[0], len(names) - 1, depth + 1)
            pieces += [whole.cut(at, match.start()), paragraph_break, inner, paragraph_break]
            at = match.end()
        return concatenate([*pieces, whole.cut(at, len(whole.text))])

    joined = expanded("", 0, 0)
    return SourceText(joined.text, joined.files, joined.begins, joined.ends, names, sources)
