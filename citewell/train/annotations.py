"""Documents annotated with biomedical concepts, in the PubTator format or in BioC-XML, plain or gzipped.

A document in the PubTator format is a title line (``PMID|t|...``), an abstract line (``PMID|a|...``) and a line for each
annotation, with tabs between PMID, start, end, mention, type and the concept's identifier. Lines of relations are skipped. A
line that cannot be read is reported and counted, and the rest is still read.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from lxml import etree
from lxml.etree import _Element

from citewell.errors import CitewellError
from citewell.progress import SILENT, Progress

_TEXT = re.compile(r"([^|\t]+)\|([ta])\|")
_SEVERAL = re.compile(r"[|;,]")
_NO_CONCEPT = ("", "-", "-1")
_RELATION_FIELDS, _ANNOTATION_FIELDS = 4, 6
_GZIP = b"\x1f\x8b"
_REPORTED = 20
"""The number of problems of a file that are reported one by one."""


class AnnotatedDocument(NamedTuple):
    """The concepts mentioned in one document."""

    id: str
    mentions: list[tuple[str, str]]
    """Concept and mention, in the order of the file."""


class AnnotationReader:
    """Reads a file, and counts what it could not use."""

    def __init__(self, path: Path, progress: Progress = SILENT) -> None:
        self._path, self._progress = path, progress
        self.documents, self.broken, self.unlinked = 0, 0, 0
        """The number of documents, of problems, and of mentions without a concept."""

    def __iter__(self) -> Iterator[AnnotatedDocument]:
        try:
            with self._open() as stream:
                head = stream.peek(64) if hasattr(stream, "peek") else b""
                documents = (
                    self._bioc(stream) if head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<") else self._pubtator(stream)
                )
                for document in documents:
                    self.documents += 1
                    yield document
        except (OSError, EOFError) as error:
            raise CitewellError(f"cannot read the annotations {self._path}: {error}") from None
        if not self.documents:
            raise CitewellError(f"{self._path} has no annotated document; it must be in the PubTator format or in BioC-XML")
        if self.broken > _REPORTED:
            self._progress.message(f"{self._path}: {self.broken - _REPORTED:,} further problems")
        self._progress.message(
            f"{self._path}: {self.documents:,} documents; {self.broken:,} problems,"
            f" {self.unlinked:,} mentions without a concept, all left out"
        )

    def _open(self) -> BinaryIO:
        with self._path.open("rb") as stream:
            zipped = stream.read(2) == _GZIP
        return cast(BinaryIO, gzip.open(self._path, "rb") if zipped else self._path.open("rb"))

    def _pubtator(self, stream: BinaryIO) -> Iterator[AnnotatedDocument]:
        document: AnnotatedDocument | None = None
        for number, raw in enumerate(stream, 1):
            line = raw.decode("utf-8", "replace").lstrip("\ufeff").rstrip("\r\n")
            opening = _TEXT.match(line)
            if opening and (document is None or document.id != opening[1]):
                if document is not None:
                    yield document
                document = AnnotatedDocument(opening[1], [])
            elif line.strip() and not opening:
                problem = self._annotation(line, document)
                if problem:
                    self._report(f"line {number}: {problem}; left out")
        if document is not None:
            yield document

    def _annotation(self, line: str, document: AnnotatedDocument | None) -> str:
        """Add the annotation of a line to its document; what is wrong with the line, if anything."""
        fields = line.split("\t")
        if document is None or fields[0] != document.id:
            return "it belongs to no document above" if len(fields) > 1 else "neither text nor annotation"
        if len(fields) == _RELATION_FIELDS and not fields[1].isdigit():
            return ""
        if len(fields) < _ANNOTATION_FIELDS - 1 or not (fields[1].isdigit() and fields[2].isdigit()):
            return "an annotation needs PMID, start, end, mention, type and concept, with tabs between them"
        if int(fields[1]) >= int(fields[2]) or not fields[3].strip():
            return "the annotation is empty"
        self._add(document, fields[3], fields[4], fields[5] if len(fields) >= _ANNOTATION_FIELDS else "")
        return ""

    def _bioc(self, stream: BinaryIO) -> Iterator[AnnotatedDocument]:
        options = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": True}
        try:
            for _, element in etree.iterparse(stream, events=("end",), tag="document", **options):
                document = AnnotatedDocument((element.findtext("id") or "").strip(), [])
                for annotation in element.iter("annotation"):
                    infons = {infon.get("key", "").lower(): _text(infon) for infon in annotation.iterfind("infon")}
                    mention = _text(annotation.find("text"))
                    if mention:
                        self._add(document, mention, infons.get("type", ""), infons.get("identifier", ""))
                    else:
                        self._report(f"document {document.id or '?'}: an annotation without text; left out")
                element.clear()
                yield document
        except etree.XMLSyntaxError as error:
            self._report(f"the XML is damaged ({error.msg}); the rest of the file is left out")

    def _add(self, document: AnnotatedDocument, mention: str, kind: str, identifier: str) -> None:
        """Add a mention with its concepts; several concepts of one mention are separated by ``|``, ``;`` or ``,``."""
        concepts = [part.strip() for part in _SEVERAL.split(identifier) if part.strip() not in _NO_CONCEPT]
        self.unlinked += not concepts
        # Identifiers of genes and species are plain numbers, which mean different things.
        document.mentions.extend((f"{kind}:{each}" if each.isdigit() else each, mention.strip()) for each in concepts)

    def _report(self, problem: str) -> None:
        self.broken += 1
        if self.broken <= _REPORTED:
            self._progress.message(f"{self._path}, {problem}")


def _text(element: _Element | None) -> str:
    return "" if element is None else "".join(map(str, element.itertext())).strip()
