"""Word files as drafts: what the file holds, written as Markdown, which is then read as any Markdown is.

The Markdown is the draft's source: a place in it is a place in what a person may look at, paste elsewhere and read again.
Citations that Zotero, Mendeley, EndNote or Word itself put in become ``[@key]``, with the works that their fields describe as
the bibliography. A comment that asks for a citation becomes a gap behind the text that it is about, and so does what is
highlighted.

Written on lxml: python-docx reads paragraphs and styles, and neither fields nor footnotes, which is where citations are.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree
from lxml.etree import _Element

from citewell.draft import markdown
from citewell.draft.archives import archive
from citewell.draft.docx_citations import Citations
from citewell.draft.files import Folder
from citewell.draft.gaps import GAP, asks_for_citation
from citewell.errors import CitewellError
from citewell.papers import Draft

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MAIN = "word/document.xml"
_MAX_BYTES = 100_000_000
_SKIPPED = frozenset((f"{_W}del", f"{_W}moveFrom", f"{_W}txbxContent", f"{_W}pPr", f"{_W}rPr", f"{_W}sdtPr"))
_HEADING = re.compile(r"heading (\d)")
_SPECIAL = re.compile(r"[\\`*$<{^~]|(?<!\w)[@_]|_(?!\w)|!(?=\[)|\](?=[(\[{])")
_LEADING = re.compile(r"\d+(?=[.)])|Table(?=:)|(?=[#>|+\-:=])")
_LETTER = re.compile(r"[^\W\d_]")
_ABSTRACT = re.compile(r"abstract\s*[:.\u2013\u2014-]\s*", re.IGNORECASE)
_ENDS_ABSTRACT = re.compile(r"#|\W*key ?words\b", re.IGNORECASE)
_ABSTRACT_WORDS = 500
_TITLE_WORDS = 40
_GAP_WORDS = 4
GAP_MARK = "[@?]"


def looks_like(data: bytes) -> bool:
    """Whether a file is one of Word's."""
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with archive(data) as parts:
            return _MAIN in parts.namelist()
    except zipfile.BadZipFile:
        return False


def read(data: bytes, name: str) -> Draft:
    """The draft that a Word file is; `name` is what an error calls it."""
    try:
        with archive(data) as parts:
            text, citations = _Document(parts).markdown()
    except (zipfile.BadZipFile, etree.XMLSyntaxError, OSError, ValueError, KeyError, RecursionError) as error:
        raise CitewellError(f"{name} is a damaged Word file ({error}); open it in Word and save it anew") from error
    draft = markdown.read(text, Folder())
    draft.format = "docx"
    draft.bibliography |= citations.works
    return draft


@dataclass(slots=True)
class _Field:
    """A field of Word: what it is told to do, and whether what it shows has begun."""

    instruction: list[str] = field(default_factory=list)
    shown: bool = False
    start: int = 0
    """How much of the paragraph was written before what it shows."""


class _Document:
    """A Word file while it is read."""

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
        self._citations = Citations(self._part)
        self._fields: list[_Field] = []
        self._pieces: list[str] = []
        self._lit = False

    def markdown(self) -> tuple[str, Citations]:
        """All of it as Markdown, and its citations."""
        root = self._part(_MAIN)
        body = root.find(f"{_W}body") if root is not None else None
        title, styled = "", 0
        authors: list[str] = []
        blocks: list[str] = []
        for block in body if body is not None else ():
            kind, said = self._block(block)
            if not said:
                continue
            if kind == "title" and not title:
                title = said
            elif kind == "author":
                authors.append(said)
            elif kind == "abstract" and ("## Abstract" not in blocks or len(blocks) == styled):
                blocks += [*([] if styled else ["## Abstract"]), _ABSTRACT.sub("", said, count=1)]
                styled = len(blocks)
            else:
                blocks.append(said)
        if not title and blocks and not blocks[0].startswith("#") and len(blocks[0].split()) <= _TITLE_WORDS:
            title, styled = blocks.pop(0), max(0, styled - 1)
        front = [f"title: {_quoted(title)}"] if title else []
        front += [f"author: [{', '.join(map(_quoted, authors))}]"] if authors else []
        return "\n".join(["---", *front, "---", "", "\n\n".join(_sections(blocks, styled)), ""]), self._citations

    # -- parts of the file --------------------------------------------------------------------------------------------

    def _part(self, name: str) -> _Element | None:
        """A part of the file as a tree; None where there is none."""
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            return None
        if info.file_size > _MAX_BYTES:
            raise ValueError(f"its part {name} is larger than any manuscript")
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        return etree.fromstring(self._archive.read(name), parser)

    def _children(self, part: str, name: str) -> Iterator[_Element]:
        root = self._part(part)
        return root.iterchildren(f"{_W}{name}") if root is not None else iter(())

    def _named_styles(self) -> dict[str, str]:
        """The name of each paragraph style, in lower case; one that is based on a heading is called by that."""
        names, based = {}, {}
        for style in self._children("word/styles.xml", "style"):
            at = style.get(f"{_W}styleId", "")
            names[at] = _value(style.find(f"{_W}name")).lower()
            based[at] = _value(style.find(f"{_W}basedOn"))
        for at, name in list(names.items()):
            parent = names.get(based.get(at, ""), "")
            if _HEADING.match(parent) and not _known(name):
                names[at] = parent
        return names

    # -- blocks -------------------------------------------------------------------------------------------------------

    def _block(self, block: _Element) -> tuple[str, str]:
        """What kind of block it is, and what it says as Markdown."""
        if block.tag == f"{_W}tbl":
            rows = [[self._inside(cell) for cell in row.iterchildren(f"{_W}tc")] for row in block.iterchildren(f"{_W}tr")]
            return "table", "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows if row)
        if block.tag == f"{_W}sdt":
            return "text", "\n\n".join(said for each in block.iterfind(f"{_W}sdtContent/*") if (said := self._block(each)[1]))
        if block.tag != f"{_W}p":
            return "", ""
        style_id = _value(block.find(f"{_W}pPr/{_W}pStyle"))
        style = self._styles.get(style_id, style_id.lower())
        said = self._inside(block)
        if not said:
            return "", ""
        if found := _HEADING.match(style):
            return "heading", f"{'#' * min(6, int(found[1]) + 1)} {said}"
        kind = _known(style)
        if not kind and _ABSTRACT.match(said):
            kind = "abstract"
        if kind != "title" and block.find(f"{_W}pPr/{_W}numPr") is not None:
            said = f"- {said}"
        elif not kind or kind == "abstract":
            said = f"{leading[0]}\\{said[leading.end() :]}" if (leading := _LEADING.match(said)) else said
        return kind or "text", said

    def _inside(self, block: _Element) -> str:
        """What stands in a paragraph or a cell, on one line."""
        outer, self._pieces = self._pieces, []
        lit, self._lit = self._lit, False
        self._walk(block)
        self._unlit()
        said, self._pieces, self._lit = " ".join("".join(self._pieces).split()), outer, lit
        return said

    def _walk(self, element: _Element) -> None:
        for child in element:
            if child.tag in _SKIPPED or not isinstance(child.tag, str) or child.tag.endswith("}Fallback"):
                continue
            if child.tag == f"{_W}r":
                self._run(child)
            elif keys := self._cited_by(child):
                self._cite(keys)
            elif child.tag == f"{_W}commentRangeEnd":
                self._commented(child.get(f"{_W}id", ""))
            else:
                self._walk(child)

    def _cited_by(self, element: _Element) -> list[str]:
        """What a content control or a field in one piece cites."""
        if element.tag == f"{_W}sdt":
            return self._citations.of_tag(_value(element.find(f"{_W}sdtPr/{_W}tag")))
        return self._citations.of_instruction(element.get(f"{_W}instr", "")) if element.tag == f"{_W}fldSimple" else []

    # -- what stands in a run -----------------------------------------------------------------------------------------

    def _run(self, run: _Element) -> None:
        light = run.find(f"{_W}rPr/{_W}highlight")
        lit = light is not None and light.get(f"{_W}val") not in (None, "none")
        if self._lit and not lit and _says(run):
            self._unlit()
        if lit and not self._lit and not self._hidden():
            self._lit = True
            self._lit_from = len(self._pieces)
        for child in run:
            if child.tag == f"{_W}fldChar":
                self._field(child.get(f"{_W}fldCharType"))
            elif child.tag == f"{_W}instrText" and self._fields:
                self._fields[-1].instruction.append(child.text or "")
            elif child.tag == f"{_W}commentReference":
                self._commented(child.get(f"{_W}id", ""))
            elif child.tag in (f"{_W}footnoteReference", f"{_W}endnoteReference") and not self._hidden():
                self._note(child)
            elif not self._hidden():
                if child.tag == f"{_W}t":
                    self._pieces.append(_escaped(child.text or ""))
                elif child.tag in (f"{_W}tab", f"{_W}br", f"{_W}cr"):
                    self._pieces.append(" ")
                elif child.tag == f"{_W}noBreakHyphen":
                    self._pieces.append("-")

    def _hidden(self) -> bool:
        """Whether we stand in what a field is told, not in what it shows."""
        return bool(self._fields) and not self._fields[-1].shown

    def _field(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._fields[-1].shown = True
            self._fields[-1].start = len(self._pieces)
        elif kind == "end" and self._fields:
            done = self._fields.pop()
            instruction = "".join(done.instruction)
            keys = self._citations.of_instruction(instruction)
            if keys or self._citations.is_bibliography(instruction):
                del self._pieces[done.start if done.shown else len(self._pieces) :]
            if keys:
                self._cite(keys)

    def _note(self, reference: _Element) -> None:
        kind = etree.QName(reference).localname.removesuffix("Reference")
        # A note is told once: some that name each other, or one another twice, would make no end.
        note = self._notes.pop((kind, reference.get(f"{_W}id", "")), None)
        if note is not None and (said := self._inside(note)):
            self._pieces.append(f"^[{said}]")

    def _cite(self, keys: list[str]) -> None:
        spaced = "" if not self._pieces or self._pieces[-1].endswith((" ", "(")) else " "
        self._pieces.append(f"{spaced}[{'; '.join(map(markdown.at_key, keys))}]")

    def _commented(self, number: str) -> None:
        """A gap where a comment asks for a citation; a comment counts once, where its range ends."""
        note = self._comments.pop(number, "")
        if asks_for_citation(note):
            self._pieces.append(f" <!-- {note.replace('--', '–').replace('>', '›')} -->")

    def _unlit(self) -> None:
        """End what is highlighted: a placeholder becomes the gap itself, words are followed by one."""
        if not self._lit:
            return
        self._lit = False
        said = "".join(self._pieces[self._lit_from :])
        if not said.strip() or "[@" in said or "<!--" in said or GAP.search(said):
            return
        if (
            not _LETTER.search(said)
            or (asks_for_citation(said) and len(said.split()) <= _GAP_WORDS)
            or said.strip().upper() in ("XX", "XXX", "TODO")
        ):
            self._pieces[self._lit_from :] = [
                GAP_MARK if said[:1] != " " else f" {GAP_MARK}",
                " " if said.endswith(" ") else "",
            ]
        else:
            stop = said.rstrip()[-1:] if said.rstrip()[-1:] in ".,;:!?" else ""
            words = said.rstrip().removesuffix(stop)
            self._pieces[self._lit_from :] = [f"{words} {GAP_MARK}{stop}", said[len(said.rstrip()) :]]

    _lit_from = 0


def _known(style: str) -> str:
    """What of the front matter a style marks."""
    for kind in ("abstract", "author", "title"):
        if style == kind or style.startswith((f"{kind} ", f"{kind}s")) or style.endswith((f" {kind}", f"_{kind}")):
            return "" if kind == "title" and ("toc" in style or "sub" in style or "running" in style) else kind
    return ""


def _sections(blocks: list[str], styled: int) -> list[str]:
    """Blocks, with a heading behind the abstract where none follows it: what comes next is no abstract.

    An abstract is one paragraph, or all that are styled so (the last of them ends at `styled`), or what stands between its
    heading and the next, where that is not long.
    """
    if "## Abstract" not in blocks:
        return blocks
    at = blocks.index("## Abstract") + 1
    end = max(styled, at + 1)
    ahead = next((each for each in range(at, len(blocks)) if _ENDS_ABSTRACT.match(blocks[each])), 0)
    if sum(len(block.split()) for block in blocks[at:ahead]) <= _ABSTRACT_WORDS:
        end = max(end, ahead)
    return [*blocks[:end], "## Text", *blocks[end:]] if end < len(blocks) and not blocks[end].startswith("#") else blocks


def _escaped(text: str) -> str:
    """Text so that Markdown reads it as it is; a gap that is typed in stays one."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(element: _Element | None) -> str:
    return element.get(f"{_W}val", "") if element is not None else ""


def _texts(element: _Element) -> Iterator[str]:
    return (each.text or "" for each in element.iter(f"{_W}t"))


def _says(run: _Element) -> bool:
    return any((each.text or "").strip() for each in run.iterchildren(f"{_W}t"))
