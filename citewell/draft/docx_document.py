"""Converts a Word file to Markdown.

Citations by Zotero, Mendeley, EndNote or Word itself become ``[@key]``; the works that their fields describe become the
bibliography. A comment that asks for a citation becomes a gap after the text it refers to, and so does highlighted text.
Citations typed as text become ``[@key]`` where the reference list at the end has their works (see `typed_citations`).

This uses lxml: python-docx reads paragraphs and styles, but neither fields nor footnotes, which contain the citations.
"""

from __future__ import annotations

import itertools
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree
from lxml.etree import _Element

from citewell.draft import markdown
from citewell.draft.archives import open_archive
from citewell.draft.docx import MAIN_PART
from citewell.draft.docx_citations import WordCitations
from citewell.draft.docx_text import Offsets, TextElement, WordText
from citewell.draft.gaps import GAP, asks_for_citation
from citewell.draft.sections import is_abstract, is_uncited_section, part_begun, part_named
from citewell.draft.typed_citations import SUPERSCRIPT, TypedCitations, has_typed_citation, reference_list
from citewell.errors import CitewellError
from citewell.papers import Paper

_W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_W15 = "{http://schemas.microsoft.com/office/word/2012/wordml}"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MAX_BYTES = 100_000_000
_SKIPPED = frozenset((f"{_W}del", f"{_W}moveFrom", f"{_W}txbxContent", f"{_W}pPr", f"{_W}rPr", f"{_W}sdtPr"))
_HEADING = re.compile(r"heading (\d)")
_SPECIAL = re.compile(r"[\\`*$<{^~]|(?<!\w)[@_]|_(?!\w)|!(?=\[)|\](?=[(\[{])")
_LEADING = re.compile(r"\d+(?=[.)])|Table(?=:)|(?=[#>|+\-:=])")
_LETTER = re.compile(r"[^\W\d_]")
_ABSTRACT = re.compile(r"abstract\s*[:.\u2013\u2014-]\s*", re.IGNORECASE)
_MAX_NAME = 60
"""The longest name of a part of a paper, such as "Acknowledgements", that is a heading without the style of one."""
_MAX_ABSTRACT_WORDS = 500
_MAX_TITLE_WORDS = 40
_MAX_PLACEHOLDER_WORDS = 4
_MAX_GROUP = 300
_ANOTHER = re.compile(r"\b(?:another|more|second|further|additional|other|else|also|newer|better)\b", re.IGNORECASE)
"""Words of a comment that asks for a citation next to one that is there."""
_NUMBERS = re.compile(r"\s?\d{1,3}(?:\s?[,;\u2013-]\s?\d{1,3}){0,20},?\s?")
_NO_MARK = re.compile(f"[^{''.join(SUPERSCRIPT)}]+")
_LISTS = ("Bibliographies", "Table of Contents")
GAP_MARK = "[@?]"
_DAMAGE = (zipfile.BadZipFile, zlib.error, etree.XMLSyntaxError, OSError, EOFError, ValueError, KeyError, RuntimeError)
"""What a damaged or password-protected file raises; very deep nesting raises a RecursionError, which is a RuntimeError."""


@dataclass(slots=True)
class Conversion:
    """A Word file as Markdown."""

    markdown: WordText
    works: dict[str, Paper]
    """The works that it cites or lists, by key."""
    references: dict[str, tuple[int, int]]
    """Where the entry of a typed reference list is in the Markdown, by key."""
    notes: list[str]
    """What could not be read."""
    offsets: Offsets
    has_zotero: bool = False
    """Whether Zotero is in use: the file has fields of it."""
    items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the fields of Zotero say about each work, by key."""
    numbers: dict[str, int] = field(default_factory=dict)
    """The number of each entry of a numbered reference list, by key."""
    is_labelled: bool = False
    """Whether these numbers are typed; Word can also count by itself."""
    brackets: str = ""
    """The brackets around numbers that are citations; empty where citations have author and year."""
    styles: dict[str, str] = field(default_factory=dict)
    """The id of each paragraph style, by its name in lower case."""


def convert(data: bytes, name: str) -> Conversion:
    """The content of a Word file as Markdown; `name` is for error messages."""
    try:
        with open_archive(data) as parts:
            return _Document(parts).convert()
    except _DAMAGE as error:
        raise CitewellError(f"{name} is a damaged Word file ({error}); open it in Word and save it again") from error


@dataclass(slots=True)
class _Field:
    """A field that is being read: its instruction, and whether its displayed result has begun."""

    instruction: list[str] = field(default_factory=list)
    in_result: bool = False
    data: str = ""
    """What EndNote stores with the field, in base64."""
    hides_result: bool = False
    """Whether its result is a list of references, which may have many paragraphs."""
    paragraph: int = 0
    """The number of the paragraph in which the result begins."""
    start: int = 0
    """Number of pieces of that paragraph before the result."""


class _Document:
    """A Word file that is being converted."""

    def __init__(self, parts: zipfile.ZipFile) -> None:
        self._archive = parts
        self._styles = self._named_styles()
        self._comments = self._open_comments()
        self._notes = {
            (kind, each.get(f"{_W}id", "")): each
            for kind in ("footnote", "endnote")
            for each in self._children(f"word/{kind}s.xml", kind)
        }
        self.citations = WordCitations(self._part)
        self.offsets = Offsets()
        self._starts: dict[_Element, int] = {}
        self._fields: list[_Field] = []
        self._pieces: list[WordText] = []
        self._numbers = itertools.count(1)
        self._paragraph = 0
        self._bookmarks: dict[str, tuple[int, list[str]]] = {}
        self._highlighted = False
        self._highlight_start = 0
        self._comment_starts: dict[str, int] = {}

    def convert(self) -> Conversion:
        """The whole file as Markdown."""
        body = self._body()
        title, abstract_end = "", 0
        authors: list[str] = []
        blocks: list[WordText] = []
        for block in body if body is not None else ():
            kind, content = self._block(block)
            text = content.text
            if not text:
                continue
            if kind == "title" and not title:
                title = text
            elif kind == "author":
                authors.append(text)
            elif kind == "abstract" and (not _has_abstract(blocks) or len(blocks) == abstract_end):
                label = _ABSTRACT.match(text)
                blocks += [*([] if abstract_end else [WordText.added("## Abstract")]), content.cut(label.end() if label else 0)]
                abstract_end = len(blocks)
            else:
                blocks.append(content)
        if not title and blocks and not blocks[0].text.startswith("#") and len(blocks[0].text.split()) <= _MAX_TITLE_WORDS:
            title, abstract_end = blocks.pop(0).text, max(0, abstract_end - 1)
        front = [f"title: {_quoted(_without_superscripts(title))}"] if title else []
        front += [f"author: [{', '.join(_quoted(_without_superscripts(name)) for name in authors)}]"] if authors else []
        return self._with_typed_citations(["---", *front, "---", "", ""], _sections(blocks, abstract_end))

    def _with_typed_citations(self, front: list[str], blocks: list[WordText]) -> Conversion:
        """The Markdown of the blocks, with the citations that are typed as text, and the list of references at the end."""
        begin, end = reference_list([block.text for block in blocks])
        typed = TypedCitations([block.text for block in blocks[begin:end]], self.citations.key)
        texts = [block.text for block in (*blocks[:begin], *blocks[end:])]
        typed.choose_style(texts)
        pieces = [WordText.added("\n".join(front))]
        references: dict[str, tuple[int, int]] = {}
        size = len(pieces[0])
        for at, block in enumerate(blocks):
            is_reference = begin <= at < end
            content = _cleaned(block) if is_reference or block.text.startswith("#") else _cited(block, typed)
            if is_reference and (key := typed.keys[at - begin]):
                references.setdefault(key, (size, size + len(content)))
            separator = WordText.added("\n\n" if at + 1 < len(blocks) else "\n")
            pieces += [content, separator]
            size += len(content) + len(separator)
        return Conversion(
            WordText.joined(pieces),
            self.citations.works,
            references,
            [*self.citations.notes(), *typed.notes()],
            self.offsets,
            self.citations.has_zotero,
            self.citations.items,
            typed.numbers,
            typed.is_labelled,
            typed.brackets,
            self._style_ids(),
        )

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

    def _body(self) -> _Element | None:
        """The body of the document; the texts of the document and its notes are counted on the way."""
        root = self._part(MAIN_PART)
        parts = [(MAIN_PART, root)]
        # Notes are parsed once, so that their elements are those in `_notes`.
        for kind in ("footnote", "endnote"):
            note = next((each for (name, _), each in self._notes.items() if name == kind), None)
            parts.append((f"word/{kind}s.xml", note.getparent() if note is not None else None))
        for name, tree in parts:
            for number, element in enumerate(tree.iter(f"{_W}t") if tree is not None else ()):
                self._starts[element] = self.offsets.add(TextElement(name, number), len(element.text or ""))
        return root.find(f"{_W}body") if root is not None else None

    def _open_comments(self) -> dict[str, str]:
        """The text of each comment that is not resolved, by its id."""
        done = {
            each.get(f"{_W15}paraId") for each in self._children("word/commentsExtended.xml", "commentEx", _W15)
            if each.get(f"{_W15}done") == "1"
        }  # fmt: skip
        return {
            each.get(f"{_W}id", ""): " ".join(_texts(each))
            for each in self._children("word/comments.xml", "comment")
            if not any(one.get(f"{_W14}paraId") in done for one in each.iterchildren(f"{_W}p"))
        }

    def _children(self, part: str, name: str, namespace: str = _W) -> Iterator[_Element]:
        root = self._part(part)
        return root.iterchildren(f"{namespace}{name}") if root is not None else iter(())

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

    def _style_ids(self) -> dict[str, str]:
        styles = [each for each in self._children("word/styles.xml", "style") if each.get(f"{_W}type") == "paragraph"]
        return {_value(each.find(f"{_W}name")).lower(): each.get(f"{_W}styleId", "") for each in reversed(styles)}

    # -- blocks -------------------------------------------------------------------------------------------------------

    def _block(self, block: _Element) -> tuple[str, WordText]:
        """The kind of a block, and its text as Markdown."""
        if block.tag == f"{_W}tbl":
            return "table", self._table(block)
        if block.tag == f"{_W}sdt":
            return self._control(block)
        if block.tag != f"{_W}p":
            return "", WordText()
        style_id = _value(block.find(f"{_W}pPr/{_W}pStyle"))
        style = self._styles.get(style_id, style_id.lower())
        content = self._inside(block)
        text = content.text
        if not text:
            return "", content
        if heading := _HEADING.match(style):
            return "heading", _joined(f"{'#' * min(6, int(heading[1]) + 1)} ", content)
        kind = _front_matter_kind(style)
        is_item = block.find(f"{_W}pPr/{_W}numPr") is not None
        if not kind and not is_item and len(text) <= _MAX_NAME and part_named(text):
            return "heading", _joined("## ", content)  # typed in bold or capital letters, without the style of a heading
        if not kind and _ABSTRACT.match(text):
            kind = "abstract"
        if kind != "title" and is_item:
            content = _joined("- ", content)
        elif (not kind or kind == "abstract") and (leading := _LEADING.match(text)):
            content = _joined(content.cut(0, leading.end()), "\\", content.cut(leading.end()))
        return kind or "text", content

    def _table(self, table: _Element) -> WordText:
        pieces: list[WordText | str] = []
        for row in table.iterchildren(f"{_W}tr"):
            cells = [self._inside(cell) for cell in row.iterchildren(f"{_W}tc")]
            if cells:
                pieces += ["\n"] if pieces else []
                for cell in cells:
                    pieces += ["| ", WordText(cell.text.replace("|", "/"), cell.begins, cell.ends), " "]
                pieces.append("|")
        return _joined(*pieces)

    def _control(self, control: _Element) -> tuple[str, WordText]:
        """A content control around paragraphs: those in it, unless it is the list of references of Word or Mendeley."""
        gallery = _value(control.find(f"{_W}sdtPr/{_W}docPartObj/{_W}docPartGallery"))
        tag = _value(control.find(f"{_W}sdtPr/{_W}tag"))
        if gallery in _LISTS or self.citations.is_bibliography_tag(tag):
            return "", WordText()
        pieces: list[WordText | str] = []
        for each in control.iterfind(f"{_W}sdtContent/*"):
            content = self._block(each)[1]
            if content.text:
                pieces += ["\n\n", content] if pieces else [content]
        return "text", _joined(*pieces)

    def _inside(self, block: _Element) -> WordText:
        """The text of a paragraph or a cell, on one line."""
        outer, self._pieces = self._pieces, []
        highlighted, self._highlighted = self._highlighted, False
        number, self._paragraph = self._paragraph, next(self._numbers)
        self._walk(block)
        self._end_highlight()
        content, self._pieces, self._highlighted = WordText.joined(self._pieces).on_one_line(), outer, highlighted
        self._paragraph = number
        return content

    def _walk(self, element: _Element) -> None:
        for child in element:
            if child.tag in _SKIPPED or not isinstance(child.tag, str) or child.tag.endswith("}Fallback"):
                continue
            name = child.tag.removeprefix(_W)
            if name == "r":
                self._run(child)
            elif name == "commentRangeStart":
                self._comment_starts[child.get(f"{_W}id", "")] = len(self._pieces)
            elif name == "commentRangeEnd":
                self._comment(child.get(f"{_W}id", ""))
            elif name in ("bookmarkStart", "bookmarkEnd"):
                self._bookmark(child, name)
            elif name in ("sdt", "fldSimple"):
                self._citing(child)
            else:
                self._walk(child)

    def _citing(self, element: _Element) -> None:
        """A content control or a simple field: a citation, or text."""
        if element.tag == f"{_W}sdt":
            tag = _value(element.find(f"{_W}sdtPr/{_W}tag"))
            keys, hidden = self.citations.of_tag(tag), self.citations.is_bibliography_tag(tag)
        else:
            instruction = element.get(f"{_W}instr", "")
            keys, hidden = self.citations.of_instruction(instruction), self.citations.is_bibliography(instruction)
        if keys:
            self._cite(keys)
        elif not hidden:
            self._walk(element)

    def _bookmark(self, element: _Element, name: str) -> None:
        """A citation that Zotero stores as a bookmark, which it does for documents that LibreOffice also opens."""
        number = element.get(f"{_W}id", "")
        if name == "bookmarkStart":
            if keys := self.citations.of_bookmark(element.get(f"{_W}name", "")):
                self._bookmarks[number] = len(self._pieces), keys
        elif number in self._bookmarks:
            start, keys = self._bookmarks.pop(number)
            del self._pieces[start:]
            self._cite(keys)

    # -- runs of text -------------------------------------------------------------------------------------------------

    def _run(self, run: _Element) -> None:
        highlight = run.find(f"{_W}rPr/{_W}highlight")
        highlighted = highlight is not None and highlight.get(f"{_W}val") not in (None, "none")
        if self._highlighted and not highlighted and _has_text(run):
            self._end_highlight()
        if highlighted and not self._highlighted and not self._is_hidden():
            self._highlighted = True
            self._highlight_start = len(self._pieces)
        raised = _value(run.find(f"{_W}rPr/{_W}vertAlign")) == "superscript"
        for child in run:
            if child.tag == f"{_W}fldChar":
                self._field(child)
            elif child.tag == f"{_W}instrText" and self._fields:
                self._fields[-1].instruction.append(child.text or "")
            elif child.tag == f"{_W}commentReference":
                self._comment(child.get(f"{_W}id", ""))
            elif self._is_hidden():
                continue
            elif child.tag in (f"{_W}footnoteReference", f"{_W}endnoteReference"):
                self._note(child)
            elif child.tag == f"{_W}t":
                self._text(child, raised)
            elif child.tag in (f"{_W}tab", f"{_W}br", f"{_W}cr"):
                self._pieces.append(WordText.added(" "))
            elif child.tag == f"{_W}noBreakHyphen":
                self._pieces.append(WordText.added("-"))

    def _text(self, element: _Element, raised: bool) -> None:
        text = element.text or ""
        start = self._starts.get(element)
        content = (WordText.at(text, start) if start is not None else WordText.added(text)).escaped(_SPECIAL)
        if raised and _NUMBERS.fullmatch(text):
            content = _joined(SUPERSCRIPT[0], content, SUPERSCRIPT[1])
        self._pieces.append(content)

    def _is_hidden(self) -> bool:
        """Whether the position is in the instruction of a field, or in a list of references."""
        return any(not each.in_result or each.hides_result for each in self._fields)

    def _field(self, mark: _Element) -> None:
        """The begin, the middle or the end of a field."""
        kind = mark.get(f"{_W}fldCharType")
        if kind == "begin":
            data = "".join(each.text or "" for each in mark.iterchildren(f"{_W}fldData"))
            self._fields.append(_Field(data=data))
        elif kind == "separate" and self._fields:
            opened = self._fields[-1]
            opened.in_result = True
            opened.hides_result = self.citations.is_bibliography("".join(opened.instruction))
            opened.paragraph, opened.start = self._paragraph, len(self._pieces)
        elif kind == "end" and self._fields:
            self._end_field(self._fields.pop())

    def _end_field(self, done: _Field) -> None:
        instruction = "".join(done.instruction)
        if "EN.CITE.DATA" in instruction:  # EndNote stores long citations in a field inside the field
            if self._fields and not self._fields[-1].data:
                self._fields[-1].data = done.data
            return
        if keys := self.citations.of_instruction(instruction, done.data):
            if done.in_result:
                del self._pieces[done.start if done.paragraph == self._paragraph else 0 :]
            self._cite(keys)

    def _note(self, reference: _Element) -> None:
        kind = etree.QName(reference).localname.removesuffix("Reference")
        # A note is read once: notes that refer to each other would never end.
        note = self._notes.pop((kind, reference.get(f"{_W}id", "")), None)
        if note is not None and (content := self._inside(note)).text:
            self._pieces.append(_joined("^[", content, "]"))

    def _cite(self, keys: list[str]) -> None:
        space = "" if not self._pieces or self._pieces[-1].text.endswith((" ", "(")) else " "
        self._pieces.append(WordText.added(f"{space}[{'; '.join(map(markdown.at_key, keys))}]"))

    def _comment(self, number: str) -> None:
        """A gap where a comment asks for a citation; a comment counts once, at the end of its range."""
        note = self._comments.pop(number, "")
        if not asks_for_citation(note):
            return
        if (start := self._comment_starts.get(number)) is not None:
            text = "".join(piece.text for piece in self._pieces[start:]).rstrip(" .,;:")
            if text.endswith("]") and "[@" in text[-_MAX_GROUP:] and not _ANOTHER.search(note):
                return  # the citation that the comment asks for
            if has_typed_citation(text[-_MAX_GROUP:]) and text.endswith((")", "]")) and not _ANOTHER.search(note):
                return
        self._pieces.append(WordText.added(f" <!-- {note.replace('--', '–').replace('>', '›')} -->"))

    def _end_highlight(self) -> None:
        """End highlighted text: a placeholder becomes a gap, other text is followed by one."""
        if not self._highlighted:
            return
        self._highlighted = False
        content = WordText.joined(self._pieces[self._highlight_start :])
        text = content.text
        if not text.strip() or "[@" in text or "<!--" in text or GAP.search(text) or has_typed_citation(text):
            return
        end = len(text.rstrip())
        if (
            not _LETTER.search(text)
            or (asks_for_citation(text) and len(text.split()) <= _MAX_PLACEHOLDER_WORDS)
            or text.strip().upper() in ("XX", "XXX", "TODO")
        ):
            begin = len(text) - len(text.lstrip())
            self._pieces[self._highlight_start :] = [
                WordText.added(" " if begin else ""),
                content.replaced(begin, end, GAP_MARK),
                WordText.added(" " if text.endswith(" ") else ""),
            ]
        else:
            stop = end - 1 if text[end - 1] in ".,;:!?" else end
            self._pieces[self._highlight_start :] = [content.cut(0, stop), WordText.added(f" {GAP_MARK}"), content.cut(stop)]


def _front_matter_kind(style: str) -> str:
    """The part of the front matter that a style marks: ``title``, ``author``, ``abstract``, or empty."""
    for kind in ("abstract", "author", "title"):
        if style == kind or style.startswith((f"{kind} ", f"{kind}s")) or style.endswith((f" {kind}", f"_{kind}")):
            return "" if kind == "title" and ("toc" in style or "sub" in style or "running" in style) else kind
    return ""


def _has_abstract(blocks: list[WordText]) -> bool:
    return any(block.text == "## Abstract" for block in blocks)


def _abstract_heading(texts: list[str]) -> int:
    """The number of the block that announces the abstract; -1 where there is none before the text begins."""
    for at, text in enumerate(texts):
        if text.startswith("#"):
            heading = text.lstrip("# ")
            if is_abstract(heading):
                return at
            if not is_uncited_section(heading):
                break
    return -1


def _sections(blocks: list[WordText], abstract_end: int) -> list[WordText]:
    """The blocks, with a heading after the abstract where none follows it, so that the abstract ends there.

    The abstract is one paragraph, or all paragraphs with its style (up to `abstract_end`), or the text between its heading and
    the next one or its keywords, where that is short.
    """
    texts = [block.text for block in blocks]
    at = _abstract_heading(texts) + 1
    if not at:
        return blocks
    end = max(abstract_end, at + 1)
    ends = (each for each in range(at, len(texts)) if texts[each].startswith("#") or part_begun(texts[each]) == "lists")
    next_part = next(ends, 0)
    if sum(len(text.split()) for text in texts[at:next_part]) <= _MAX_ABSTRACT_WORDS:
        end = max(end, next_part)
    if end < len(blocks) and not texts[end].startswith("#"):
        return [*blocks[:end], WordText.added("## Text"), *blocks[end:]]
    return blocks


def _cited(block: WordText, typed: TypedCitations) -> WordText:
    """A block with its typed citations as Markdown."""
    pieces, at = [], 0
    for begin, end, citation in typed.find(block.text):
        pieces += [block.cut(at, begin), block.replaced(begin, end, citation)]
        at = end
    return _cleaned(WordText.joined([*pieces, block.cut(at)]))


def _cleaned(block: WordText) -> WordText:
    """A block without the marks of superscripts."""
    if SUPERSCRIPT[0] not in block.text:
        return block
    return WordText.joined(block.cut(*piece.span()) for piece in _NO_MARK.finditer(block.text))


def _without_superscripts(text: str) -> str:
    return "".join(_NO_MARK.findall(text))


def _joined(*pieces: WordText | str) -> WordText:
    return WordText.joined(piece if isinstance(piece, WordText) else WordText.added(piece) for piece in pieces)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(element: _Element | None) -> str:
    return element.get(f"{_W}val", "") if element is not None else ""


def _texts(element: _Element) -> Iterator[str]:
    return (each.text or "" for each in element.iter(f"{_W}t"))


def _has_text(run: _Element) -> bool:
    return any((each.text or "").strip() for each in run.iterchildren(f"{_W}t"))
