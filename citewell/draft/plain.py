"""Plain text as a draft: the title on the first line, paragraphs between empty lines, ``[?]`` where a citation is missing."""

from __future__ import annotations

import re
from pathlib import Path

from citewell.errors import CitewellError
from citewell.papers import Draft, Slot
from citewell.text.marks import contexts
from citewell.text.sentences import split_sentences

_GAP = re.compile(r"\[@?\?\]|\[CITATION\]|TARGETCIT", re.IGNORECASE)
_ABSTRACT = re.compile(r"[#*\s]*abstract[*.:\s]*", re.IGNORECASE)
_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+")
_LATEX = re.compile(r"\\(?:documentclass|begin\{document\})")
_HEADING_WORDS = 8
_MAX_BYTES = 20_000_000


def read_draft(path: Path) -> Draft:
    """The draft in a text file."""
    if path.stat().st_size > _MAX_BYTES:
        raise CitewellError(f"{path} is larger than any manuscript ({_MAX_BYTES // 1_000_000} MB); give a text file")
    data = path.read_bytes()
    if b"\x00" in data:
        raise CitewellError(f"{path} is not a text file; save your draft as plain text")
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if _LATEX.search(text):
        raise CitewellError(f"{path} is LaTeX, which suggest does not read yet; give its text as a .txt file, or use --context")
    draft = parse(text)
    if not draft.title:
        raise CitewellError(f"{path} is empty; put the title on its first line and the text below it")
    return draft


def parse(text: str) -> Draft:
    """The draft that `text` is."""
    found = [(text.count("\n", 0, match.start()) + 1, match[0].strip()) for match in _PARAGRAPH.finditer(text)]
    if not found:
        return Draft("", "")
    title, _, rest = found[0][1].partition("\n")
    body = ([(found[0][0] + 1, rest)] if rest else []) + found[1:]
    draft = Draft(title.lstrip("# ").strip(), "")
    in_abstract = False
    for line, paragraph in body:
        lead = _ABSTRACT.match(paragraph)
        if not draft.abstract and lead and lead[0].strip():
            in_abstract = True
            paragraph = paragraph[lead.end() :]
        if not paragraph:
            continue
        if in_abstract or (not draft.abstract and not _is_heading(paragraph)):
            draft.abstract = " ".join(paragraph.split())
            in_abstract = False
        elif not _is_heading(paragraph):
            draft.paragraphs.append(" ".join(paragraph.split()))
            draft.topics += split_sentences(draft.paragraphs[-1])[:1]
        draft.slots += _slots(paragraph, line)
    return draft


def _slots(paragraph: str, line: int) -> list[Slot]:
    gaps = list(_GAP.finditer(paragraph))
    lines = [line + paragraph.count("\n", 0, gap.start()) for gap in gaps]
    found = contexts(paragraph, [(gap.start(), gap.end(), []) for gap in gaps])
    return [Slot(context.text, lines[int(context.id)]) for context in found]


def _is_heading(paragraph: str) -> bool:
    if paragraph.startswith("#"):
        return "\n" not in paragraph
    return "\n" not in paragraph and len(paragraph.split()) <= _HEADING_WORDS and not paragraph.endswith((".", "!", "?", ":"))
