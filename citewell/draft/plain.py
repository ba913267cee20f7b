"""Plain text as a draft: the title on the first line, paragraphs between empty lines, ``[?]`` where a citation is missing."""

from __future__ import annotations

import re

from citewell.draft.flow import Block, Flow, Script, unmarked
from citewell.draft.gaps import GAP, note_of
from citewell.draft.queries import wants_none
from citewell.papers import Draft

_ABSTRACT = re.compile(r"[#*\s]*abstract[*.:\s]*", re.IGNORECASE)
_PARAGRAPH = re.compile(r"[^\n]*\S[^\n]*(?:\n|$)(?:(?![ \t]*(?:[-*]|\u2022)[ \t])[^\n]*\S[^\n]*(?:\n|$))*")
"""Lines up to an empty one or to the next item of a list."""
_FIRST_LINE = re.compile(r"[#\s]*(\S[^\n]*)")
_HEADING_WORDS = 8


def read(flow: Flow) -> Draft:
    """The draft that a text is."""
    text = flow.text
    script = Script(flow, Draft(form="text"))
    draft = script.draft
    title = _FIRST_LINE.match(text)
    if title is None:
        return script.finish()
    draft.title = " ".join(title[1].split())
    in_abstract = False
    for found in _PARAGRAPH.finditer(text, title.end()):
        begin, end = found.span()
        lead = _ABSTRACT.match(text, begin, end)
        if not draft.abstract and lead and lead[0].strip():
            in_abstract = True
            begin = lead.end()
        paragraph = text[begin:end].strip()
        if not paragraph:
            continue
        first, _, rest = paragraph.partition("\n")
        if rest and wants_none(first):  # "References", and the list right below it
            script.section = first.strip()
            begin = text.index(first, begin, end) + len(first)
            paragraph = rest.strip()
        write(script.block, flow, begin, end)
        if _is_heading(paragraph) and not in_abstract:
            script.section = unmarked(script.block.readable().lstrip("# "))
            _drop(script, running=False)
        elif in_abstract or not draft.abstract:
            draft.abstract = unmarked(script.block.readable())
            in_abstract = False
            _drop(script, running=False)
        else:
            script.close()
    return script.finish()


def write(block: Block, flow: Flow, begin: int, end: int) -> None:
    """Write a stretch of a flow as it stands, its gaps marked."""
    for gap in GAP.finditer(flow.text, begin, end):
        block.copy(flow.text[begin : gap.start()], begin)
        block.mark(*gap.span(), [], note_of(gap[0]))
        begin = gap.end()
    block.copy(flow.text[begin:end], begin)


def _drop(script: Script, running: bool) -> None:
    block, script.block = script.block, Block()
    script.keep(block, running)


def _is_heading(paragraph: str) -> bool:
    if paragraph.startswith("#"):
        return "\n" not in paragraph
    return "\n" not in paragraph and len(paragraph.split()) <= _HEADING_WORDS and not paragraph.endswith((".", "!", "?", ":"))
