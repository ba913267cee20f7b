"""Writes accepted citations into a Word file: as fields of Zotero, or as text with author and year and a list at the end.

The XML is edited in its bytes (see `docx_parts`): the formatting stays, and all other parts of the file are copied unchanged. A
typed reference list gets the new entries in its own order, a numbered one gets the next numbers.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.parsers.expat import ExpatError

from citewell.draft import word_references, zotero_fields
from citewell.draft.accept import sentence_end
from citewell.draft.archives import open_archive
from citewell.draft.docx import MAIN_PART
from citewell.draft.docx_document import Conversion, convert
from citewell.draft.docx_parts import TextSpan, WordPart
from citewell.draft.sections import part_named
from citewell.errors import CitewellError
from citewell.papers import Draft, Paper, Place

STYLES = ("auto", "zotero", "text")
"""How citations are written: fields of Zotero, plain text, or (``auto``) fields where the document has some."""
_EMPTY_PART = re.compile(r"^#{1,6} ([^\n]{1,60})\n*(?=^#|\Z)", re.MULTILINE)
"""A heading without text below it."""
_OPENING = "([{\u201c\u2018/"


@dataclass(frozen=True, slots=True)
class WordChoice:
    """Papers to cite at a place of the Markdown that was made from a Word file."""

    place: Place
    papers: Sequence[Paper]


def with_citations(
    data: bytes, name: str, draft: Draft, choices: Sequence[WordChoice], keys: Mapping[str, str], style: str = "auto"
) -> tuple[bytes, list[str]]:
    """The Word file with the citations, and notes about them; `keys` are the citation keys by paper id."""
    converted = convert(data, name)
    try:
        with open_archive(data) as archive:
            papers = {paper.id: paper for choice in choices for paper in choice.papers}
            writer = _Writer(converted, archive, keys, style, papers.values())
            for choice in choices:
                writer.cite(draft, choice)
            writer.add_references()
            return _repacked(archive, {part: each.edited() for part, each in writer.parts.items()}), writer.notes
    except (ValueError, ExpatError, KeyError, zipfile.BadZipFile) as error:
        raise CitewellError(f"{name} cannot be changed ({error}); open it in Word, save it again and retry") from error


class _Writer:
    """The parts of a Word file that are being changed."""

    def __init__(
        self,
        converted: Conversion,
        archive: zipfile.ZipFile,
        keys: Mapping[str, str],
        style: str,
        papers: Iterable[Paper],
    ) -> None:
        self.parts: dict[str, WordPart] = {}
        self.notes: list[str] = []
        self._converted = converted
        self._archive = archive
        self._keys = keys
        self._zotero = style == "zotero" or (style == "auto" and converted.has_zotero)
        self._new = [paper for paper in papers if keys[paper.id] not in converted.works]
        self._suffixes = word_references.suffixes(self._new, converted.works.values())

    # -- citations ----------------------------------------------------------------------------------------------------

    def cite(self, draft: Draft, choice: WordChoice) -> None:
        """Write one citation."""
        text = self._converted.markdown
        place, is_gap = choice.place, True
        citation = next((each for each in draft.citations if each.place == place), None)
        if citation is None:
            at = sentence_end(draft, place)
            place, is_gap = Place(place.file, at, at, place.line), False
        elif citation.keys:
            place, is_gap = Place(place.file, place.end, place.end, place.line), False
        elif text.text.startswith("<!--", place.begin):
            self.notes.append("the comments that asked for citations stay in the copy; resolve them in Word")
        origins = zip(text.begins[place.begin : place.end], text.ends[place.begin : place.end], strict=True)
        spans = sorted({span for span in origins if span[0] >= 0}) if is_gap else []
        at = spans[0][0] if spans else self._point(place)
        if at < 0:
            raise CitewellError(f"line {place.line} has no text to cite at; put the gap into the running text")
        part, number, character = self._find(at)
        # The space that the Markdown has before a comment or after highlighted text is not in the Word file.
        word = part.texts[number].text
        before = word[character - 1] if character else text.text[max(0, place.begin - 1) : place.begin]
        space = "" if not before or before.isspace() or before in _OPENING else " "
        self._write(at, space, choice.papers, f"{place.begin}")
        for begin, end in spans:
            self._delete(begin, end)

    def _point(self, place: Place) -> int:
        """The offset in the Word file of a point in the Markdown: after the character before it, or before the one after it.

        A citation of a reference manager has no characters of its own: a point after it is before the text that follows.
        """
        text = self._converted.markdown
        line_begin = text.text.rfind("\n", 0, place.begin) + 1
        line_end = text.text.find("\n", place.end)
        line_end = line_end if line_end >= 0 else len(text)
        before = next((at for at in range(place.begin - 1, line_begin - 1, -1) if text.begins[at] >= 0), -1)
        after = next((at for at in range(place.end, line_end) if text.begins[at] >= 0), -1)
        if after >= 0 and (before < 0 or "[@" in text.text[before + 1 : place.begin]):
            return text.begins[after]
        return text.ends[before] if before >= 0 else -1

    def _write(self, at: int, space: str, papers: Sequence[Paper], place: str) -> None:
        part, number, character = self._find(at)
        properties, prefix = part.properties(part.texts[number].run), part.prefix
        shown = self._shown(papers)
        if self._zotero:
            known = self._converted.items
            items = [
                known.get(key) or zotero_fields.citation_item(paper, key) for paper in papers for key in [self._keys[paper.id]]
            ]
            runs = zotero_fields.run(space, properties, prefix) if space else ""
            runs += zotero_fields.citation(items, shown, properties, prefix, place)
        else:
            runs = zotero_fields.run(space + shown, properties, prefix)
        part.replace(number, character, character, runs)

    def _delete(self, begin: int, end: int) -> None:
        part, number, character = self._find(begin)
        part.replace(number, character, character + end - begin, "")

    def _find(self, offset: int) -> tuple[WordPart, int, int]:
        element, character = self._converted.offsets.find(offset)
        return self._part(element.part), element.number, character

    def _part(self, name: str) -> WordPart:
        if name not in self.parts:
            self.parts[name] = WordPart(self._archive.read(name))
        return self.parts[name]

    def _shown(self, papers: Sequence[Paper]) -> str:
        """The text of a citation."""
        if self._converted.brackets and not self._zotero:
            numbers = sorted(self._number(paper) for paper in papers)
            brackets = self._converted.brackets
            return f"{brackets[0]}{', '.join(map(str, numbers))}{brackets[1]}"
        cited = [word_references.author_year(paper, self._suffixes.get(paper.id, "")) for paper in papers]
        return f"({'; '.join(cited)})"

    def _number(self, paper: Paper) -> int:
        """The number of a work in a numbered list of references."""
        numbers = self._converted.numbers
        return numbers.setdefault(self._keys[paper.id], max(numbers.values(), default=0) + 1)

    # -- the list of references -----------------------------------------------------------------------------------------

    def add_references(self) -> None:
        """Add the new works to the list of references; without a list, add one at the end."""
        if self._zotero:
            self._add_zotero_list()
        elif self._new and self._converted.references:
            self._extend_list()
        elif self._new:
            papers = sorted(self._new, key=word_references.sort_key)
            prefix, style = self._part(MAIN_PART).prefix, self._paragraph_style("bibliography")
            runs = [zotero_fields.run(self._entry(paper), "", prefix) for paper in papers]
            self._append([zotero_fields.paragraph(each, style, prefix) for each in runs])

    def _add_zotero_list(self) -> None:
        self.notes.append("open the copy in Word and choose Zotero > Refresh: Zotero then writes the citations in your style")
        part = self._part(MAIN_PART)
        if b"ZOTERO_BIBL" in part.data or b"CSL_BIBLIOGRAPHY" in part.data:
            return
        works = {key: paper for key, paper in self._converted.works.items() if key in self._converted.items}
        papers = works | {self._keys[paper.id]: paper for paper in self._new}
        entries = [self._entry(paper) for paper in sorted(papers.values(), key=word_references.sort_key)]
        if entries:
            self._append(zotero_fields.reference_list(entries, self._paragraph_style("bibliography"), part.prefix))

    def _append(self, paragraphs: list[str]) -> None:
        """Add the paragraphs of a list of references: below its heading, where that waits for it, else at the end."""
        part = self._part(MAIN_PART)
        if (waiting := self._empty_list()) is not None:
            part.add_paragraphs(waiting.paragraph.end, paragraphs)
            return
        heading = zotero_fields.paragraph(
            zotero_fields.run("References", "", part.prefix), self._paragraph_style("heading 1"), part.prefix
        )
        part.add_paragraphs(part.body_end, [heading, *paragraphs])

    def _empty_list(self) -> TextSpan | None:
        """The heading of a list of references that has no entries yet."""
        for heading in _EMPTY_PART.finditer(self._converted.markdown.text):
            if part_named(heading[1]) == "references":
                return self._paragraph(heading.start(1))
        return None

    def _extend_list(self) -> None:
        """Add the new works to a typed list: in the order of the numbers, or where their authors belong."""
        spans = [(self._paragraph(begin), key) for key, (begin, _) in self._converted.references.items()]
        part = self._part(MAIN_PART)
        entries = [(span, self._converted.works[key]) for span, key in spans if span is not None]
        if not entries:
            raise ValueError("its list of references cannot be found again")
        first = min(begin for begin, _ in self._converted.references.values())
        is_bracketed = self._converted.markdown.text.startswith("[", first)
        in_order = sorted(self._new, key=self._number if self._converted.numbers else word_references.sort_key)
        for paper in in_order:
            span = entries[-1][0]
            if not self._converted.numbers:
                before = [each for each, work in entries if word_references.sort_key(work) <= word_references.sort_key(paper)]
                span = before[-1] if before else span
            text = self._entry(paper)
            if self._converted.is_labelled:
                number = self._number(paper)
                text = f"[{number}] {text}" if is_bracketed else f"{number}. {text}"
            runs = zotero_fields.run(text, part.properties(span.run), part.prefix)
            properties = part.properties(span.paragraph)
            part.add_paragraphs(span.paragraph.end, [zotero_fields.paragraph(runs, properties, part.prefix)])

    def _paragraph(self, begin: int) -> TextSpan | None:
        """The text with which an entry of the list begins."""
        text = self._converted.markdown
        offset = next((each for each in text.begins[begin : begin + 20] if each >= 0), -1)
        if offset < 0:
            return None
        element, _ = self._converted.offsets.find(offset)
        return self._part(MAIN_PART).texts[element.number] if element.part == MAIN_PART else None

    def _entry(self, paper: Paper) -> str:
        return word_references.reference(paper, self._suffixes.get(paper.id, ""))

    def _paragraph_style(self, name: str) -> str:
        """The properties of a paragraph with a style of the document; empty where it has no such style."""
        style = self._converted.styles.get(name)
        prefix = self._part(MAIN_PART).prefix
        return f'<{prefix}pPr><{prefix}pStyle {prefix}val="{style}"/></{prefix}pPr>' if style else ""


def _repacked(archive: zipfile.ZipFile, parts: Mapping[str, bytes]) -> bytes:
    """The archive with some parts replaced; the others keep their content, order, dates and compression."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as written:
        for info in archive.infolist():
            data = parts.get(info.filename)
            written.writestr(info, archive.read(info) if data is None else data, info.compress_type)
    return out.getvalue()
