"""Converts a Word file to Markdown.

Citations by Zotero, Mendeley, EndNote or Word itself become ``[@key]``; the works that their fields describe become the
bibliography. A comment that asks for a citation becomes a gap after the text it refers to, and so does highlighted text.

This uses lxml: python-docx reads paragraphs and styles, but neither fields nor footnotes, which contain the citations.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree
from lxml.etree import _Element

from citewell.draft import markdown
from citewell.draft.archives import open_archive
from citewell.draft.docx import MAIN_PART
from citewell.draft.docx_citations import WordCitations
from citewell.draft.gaps import GAP, asks_for_citation
from citewell.errors import CitewellError
from citewell.papers import Paper

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MAX_BYTES = 100_000_000
_SKIPPED = frozenset((f"{_W}del", f"{_W}moveFrom", f"{_W}txbxContent", f"{_W}pPr", f"{_W}rPr", f"{_W}sdtPr"))
_HEADING = re.compile(r"heading (\d)")
_SPECIAL = re.compile(r"[\\`*$<{^~]|(?<!\w)[@_]|_(?!\w)|!(?=\[)|\](?=[(\[{])")
_LEADING = re.compile(r"\d+(?=[.)])|Table(?=:)|(?=[#>|+\-:=])")
_LETTER = re.compile(r"[^\W\d_]")
_ABSTRACT = re.compile(r"abstract\s*[:.\u2013\u2014-]\s*", re.IGNORECASE)
_ENDS_ABSTRACT = re.compile(r"#|\W*key ?words\b", re.IGNORECASE)
_MAX_ABSTRACT_WORDS = 500
_MAX_TITLE_WORDS = 40
_MAX_PLACEHOLDER_WORDS = 4
GAP_MARK = "[@?]"
_DAMAGE = (zipfile.BadZipFile, zlib.error, etree.XMLSyntaxError, OSError, EOFError, ValueError, KeyError, RuntimeError)
"""What a damaged or password-protected file raises; very deep nesting raises a RecursionError, which is a RuntimeError."""


def to_markdown(data: bytes, name: str) -> tuple[str, dict[str, Paper]]:
    """The content of a Word file as Markdown, and the works that it cites, by key; `name` is for error messages."""
    try:
        with open_archive(data) as parts:
            document = _Document(parts)
            return document.markdown(), document.citations.works
    except _DAMAGE as error:
        raise CitewellError(f"{name} is a damaged Word file ({error}); open it in Word and save it again") from error


@dataclass(slots=True)
class _Field:
    """A field that is being read: its instruction, and whether its displayed result has begun."""

    instruction: list[str] = field(default_factory=list)
    in_result: bool = False
    start: int = 0
    """Number of pieces of the paragraph before the result."""


class _Document:
    """A Word file that is being converted."""

    def __init__(self, parts: zipfile.ZipFile) -> None:
        self._archive = parts
        self._styles = self._named_styles()
        self._comments = {
            each.get(f"{_W}id", ""): " ".join(_texts(each)) for each in self._children("word/comments.xml", "comment")
        }
        self._notes = {
            (kind, each.get(f"{_W}id", "")): each
            for kind in ("footnote", "endnote")
            for each in self._children(f"word/{kind}s.xml", kind)
        }
        self.citations = WordCitations(self._part)
        self._fields: list[_Field] = []
        self._pieces: list[str] = []
        self._highlighted = False
        self._highlight_start = 0

    def markdown(self) -> str:
        """The whole file as Markdown."""
        root = self._part(MAIN_PART)
        body = root.find(f"{_W}body") if root is not None else None
        title, abstract_end = "", 0
        authors: list[str] = []
        blocks: list[str] = []
        for block in body if body is not None else ():
            kind, text = self._block(block)
            if not text:
                continue
            if kind == "title" and not title:
                title = text
            elif kind == "author":
                authors.append(text)
            elif kind == "abstract" and ("## Abstract" not in blocks or len(blocks) == abstract_end):
                blocks += [*([] if abstract_end else ["## Abstract"]), _ABSTRACT.sub("", text, count=1)]
                abstract_end = len(blocks)
            else:
                blocks.append(text)
        if not title and blocks and not blocks[0].startswith("#") and len(blocks[0].split()) <= _MAX_TITLE_WORDS:
            title, abstract_end = blocks.pop(0), max(0, abstract_end - 1)
        front = [f"title: {_quoted(title)}"] if title else []
        front += [f"author: [{', '.join(map(_quoted, authors))}]"] if authors else []
        return "\n".join(["---", *front, "---", "", "\n\n".join(_sections(blocks, abstract_end)), ""])

    # -- parts of the file --------------------------------------------------------------------------------------------

    def _part(self, name: str) -> _Element | None:
        """An XML part of the file; None where the file has no such part."""
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            return None
        if info.file_size > _MAX_BYTES:
            raise ValueError(f"its part {name} is too large")
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        return etree.fromstring(self._archive.read(name), parser)

    def _children(self, part: str, name: str) -> Iterator[_Element]:
        root = self._part(part)
        return root.iterchildren(f"{_W}{name}") if root is not None else iter(())

    def _named_styles(self) -> dict[str, str]:
        """The name of each paragraph style in lower case; a style based on a heading gets the name of the heading."""
        names, based = {}, {}
        for style in self._children("word/styles.xml", "style"):
            style_id = style.get(f"{_W}styleId", "")
            names[style_id] = _value(style.find(f"{_W}name")).lower()
            based[style_id] = _value(style.find(f"{_W}basedOn"))
        for style_id, name in list(names.items()):
            parent = names.get(based.get(style_id, ""), "")
            if _HEADING.match(parent) and not _front_matter_kind(name):
                names[style_id] = parent
        return names

    # -- blocks -------------------------------------------------------------------------------------------------------

    def _block(self, block: _Element) -> tuple[str, str]:
        """The kind of a block, and its text as Markdown."""
        if block.tag == f"{_W}tbl":
            rows = [[self._inside(cell) for cell in row.iterchildren(f"{_W}tc")] for row in block.iterchildren(f"{_W}tr")]
            return "table", "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows if row)
        if block.tag == f"{_W}sdt":
            return "text", "\n\n".join(text for each in block.iterfind(f"{_W}sdtContent/*") if (text := self._block(each)[1]))
        if block.tag != f"{_W}p":
            return "", ""
        style_id = _value(block.find(f"{_W}pPr/{_W}pStyle"))
        style = self._styles.get(style_id, style_id.lower())
        text = self._inside(block)
        if not text:
            return "", ""
        if heading := _HEADING.match(style):
            return "heading", f"{'#' * min(6, int(heading[1]) + 1)} {text}"
        kind = _front_matter_kind(style)
        if not kind and _ABSTRACT.match(text):
            kind = "abstract"
        if kind != "title" and block.find(f"{_W}pPr/{_W}numPr") is not None:
            text = f"- {text}"
        elif not kind or kind == "abstract":
            text = f"{leading[0]}\\{text[leading.end() :]}" if (leading := _LEADING.match(text)) else text
        return kind or "text", text

    def _inside(self, block: _Element) -> str:
        """The text of a paragraph or a cell, on one line."""
        outer, self._pieces = self._pieces, []
        highlighted, self._highlighted = self._highlighted, False
        self._walk(block)
        self._end_highlight()
        text, self._pieces, self._highlighted = " ".join("".join(self._pieces).split()), outer, highlighted
        return text

    def _walk(self, element: _Element) -> None:
        for child in element:
            if child.tag in _SKIPPED or not isinstance(child.tag, str) or child.tag.endswith("}Fallback"):
                continue
            if child.tag == f"{_W}r":
                self._run(child)
            elif keys := self._cited_keys(child):
                self._cite(keys)
            elif child.tag == f"{_W}commentRangeEnd":
                self._comment(child.get(f"{_W}id", ""))
            else:
                self._walk(child)

    def _cited_keys(self, element: _Element) -> list[str]:
        """The keys that a content control or a simple field cites."""
        if element.tag == f"{_W}sdt":
            return self.citations.of_tag(_value(element.find(f"{_W}sdtPr/{_W}tag")))
        return self.citations.of_instruction(element.get(f"{_W}instr", "")) if element.tag == f"{_W}fldSimple" else []

    # -- runs of text -------------------------------------------------------------------------------------------------

    def _run(self, run: _Element) -> None:
        highlight = run.find(f"{_W}rPr/{_W}highlight")
        highlighted = highlight is not None and highlight.get(f"{_W}val") not in (None, "none")
        if self._highlighted and not highlighted and _has_text(run):
            self._end_highlight()
        if highlighted and not self._highlighted and not self._in_instruction():
            self._highlighted = True
            self._highlight_start = len(self._pieces)
        for child in run:
            if child.tag == f"{_W}fldChar":
                self._field(child.get(f"{_W}fldCharType"))
            elif child.tag == f"{_W}instrText" and self._fields:
                self._fields[-1].instruction.append(child.text or "")
            elif child.tag == f"{_W}commentReference":
                self._comment(child.get(f"{_W}id", ""))
            elif child.tag in (f"{_W}footnoteReference", f"{_W}endnoteReference") and not self._in_instruction():
                self._note(child)
            elif not self._in_instruction():
                if child.tag == f"{_W}t":
                    self._pieces.append(_escaped(child.text or ""))
                elif child.tag in (f"{_W}tab", f"{_W}br", f"{_W}cr"):
                    self._pieces.append(" ")
                elif child.tag == f"{_W}noBreakHyphen":
                    self._pieces.append("-")

    def _in_instruction(self) -> bool:
        """Whether the position is in the instruction of a field, not in its result."""
        return bool(self._fields) and not self._fields[-1].in_result

    def _field(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._fields[-1].in_result = True
            self._fields[-1].start = len(self._pieces)
        elif kind == "end" and self._fields:
            done = self._fields.pop()
            instruction = "".join(done.instruction)
            keys = self.citations.of_instruction(instruction)
            if keys or self.citations.is_bibliography(instruction):
                del self._pieces[done.start if done.in_result else len(self._pieces) :]
            if keys:
                self._cite(keys)

    def _note(self, reference: _Element) -> None:
        kind = etree.QName(reference).localname.removesuffix("Reference")
        # A note is read once: notes that refer to each other would never end.
        note = self._notes.pop((kind, reference.get(f"{_W}id", "")), None)
        if note is not None and (text := self._inside(note)):
            self._pieces.append(f"^[{text}]")

    def _cite(self, keys: list[str]) -> None:
        space = "" if not self._pieces or self._pieces[-1].endswith((" ", "(")) else " "
        self._pieces.append(f"{space}[{'; '.join(map(markdown.at_key, keys))}]")

    def _comment(self, number: str) -> None:
        """A gap where a comment asks for a citation; a comment counts once, at the end of its range."""
        note = self._comments.pop(number, "")
        if asks_for_citation(note):
            self._pieces.append(f" <!-- {note.replace('--', '–').replace('>', '›')} -->")

    def _end_highlight(self) -> None:
        """End highlighted text: a placeholder becomes a gap, other text is followed by one."""
        if not self._highlighted:
            return
        self._highlighted = False
        text = "".join(self._pieces[self._highlight_start :])
        if not text.strip() or "[@" in text or "<!--" in text or GAP.search(text):
            return
        if (
            not _LETTER.search(text)
            or (asks_for_citation(text) and len(text.split()) <= _MAX_PLACEHOLDER_WORDS)
            or text.strip().upper() in ("XX", "XXX", "TODO")
        ):
            self._pieces[self._highlight_start :] = [
                GAP_MARK if text[:1] != " " else f" {GAP_MARK}",
                " " if text.endswith(" ") else "",
            ]
        else:
            stop = text.rstrip()[-1:] if text.rstrip()[-1:] in ".,;:!?" else ""
            words = text.rstrip().removesuffix(stop)
            self._pieces[self._highlight_start :] = [f"{words} {GAP_MARK}{stop}", text[len(text.rstrip()) :]]


def _front_matter_kind(style: str) -> str:
    """The part of the front matter that a style marks: ``title``, ``author``, ``abstract``, or empty."""
    for kind in ("abstract", "author", "title"):
        if style == kind or style.startswith((f"{kind} ", f"{kind}s")) or style.endswith((f" {kind}", f"_{kind}")):
            return "" if kind == "title" and ("toc" in style or "sub" in style or "running" in style) else kind
    return ""


def _sections(blocks: list[str], abstract_end: int) -> list[str]:
    """The blocks, with a heading after the abstract where none follows it, so that the abstract ends there.

    The abstract is one paragraph, or all paragraphs with its style (up to `abstract_end`), or the text between its heading and
    the next one, where that is short.
    """
    if "## Abstract" not in blocks:
        return blocks
    at = blocks.index("## Abstract") + 1
    end = max(abstract_end, at + 1)
    next_heading = next((each for each in range(at, len(blocks)) if _ENDS_ABSTRACT.match(blocks[each])), 0)
    if sum(len(block.split()) for block in blocks[at:next_heading]) <= _MAX_ABSTRACT_WORDS:
        end = max(end, next_heading)
    return [*blocks[:end], "## Text", *blocks[end:]] if end < len(blocks) and not blocks[end].startswith("#") else blocks


def _escaped(text: str) -> str:
    """Text escaped for Markdown; a gap typed as text stays a gap."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(element: _Element | None) -> str:
    return element.get(f"{_W}val", "") if element is not None else ""


def _texts(element: _Element) -> Iterator[str]:
    return (each.text or "" for each in element.iter(f"{_W}t"))


def _has_text(run: _Element) -> bool:
    return any((each.text or "").strip() for each in run.iterchildren(f"{_W}t"))
