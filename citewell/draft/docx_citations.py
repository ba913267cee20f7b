"""The citations of a Word file, as the programs that inserted them store them.

Zotero and Mendeley store CSL-JSON in the instruction of a field, Mendeley's newer add-in in the tag of a content control,
EndNote its own XML, and Word refers to sources in a part of the file.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from lxml import etree
from lxml.etree import _Element

from citewell.draft.bibliography import entries
from citewell.export.naming import Citekeys
from citewell.library.store.identity import paper_keys, title_key
from citewell.papers import Name, Paper
from citewell.sources.clean import text as cleaned
from citewell.sources.clean import year
from citewell.text.names import literal, parse, person
from citewell.text.ris_names import read_name

_B = "{http://schemas.openxmlformats.org/officeDocument/2006/bibliography}"
_WORD = re.compile(r"\s*CITATION\s+(\S+)(.*)", re.DOTALL)
_ALSO = re.compile(r"\\m\s+(\S+)")
_TAG = "MENDELEY_CITATION_v3_"
_BIBLIOGRAPHY = re.compile(r"ZOTERO_BIBL|CSL_BIBLIOGRAPHY|EN\.REFLIST|^\s*BIBLIOGRAPHY\b")
_MAX_SOURCES = 20


class WordCitations:
    """The works that a Word file cites, by key."""

    def __init__(self, part: Callable[[str], _Element | None]) -> None:
        self.works: dict[str, Paper] = {}
        self._keys: dict[str, str] = {}
        self._names = Citekeys()
        self._part = part
        self._sources: dict[str, Paper] | None = None

    def is_bibliography(self, instruction: str) -> bool:
        """Whether a field shows the list of references."""
        return bool(_BIBLIOGRAPHY.search(instruction))

    def of_instruction(self, instruction: str) -> list[str]:
        """The keys that a field cites; empty where it is not a citation."""
        if "CSL_CITATION" in instruction:
            return self._from_csl(instruction[instruction.find("{") :])
        if "EN.CITE" in instruction and "<EndNote" in instruction:
            return self._from_endnote(instruction[instruction.find("<EndNote") :])
        if match := _WORD.match(instruction):
            return [self._key(self._source(name)) for name in (match[1], *_ALSO.findall(match[2]))]
        return []

    def of_tag(self, tag: str) -> list[str]:
        """The keys that a content control cites; empty where it is not a citation."""
        if not tag.startswith(_TAG):
            return []
        try:
            return self._from_csl(base64.b64decode(tag.removeprefix(_TAG)).decode())
        except (binascii.Error, ValueError):
            return []

    def _from_csl(self, stored: str) -> list[str]:
        try:
            cited, _ = json.JSONDecoder().raw_decode(stored.strip())
            items = [each.get("itemData") for each in cited.get("citationItems", [])]
        except (ValueError, AttributeError, TypeError, RecursionError):
            return []
        return [self._key(paper) for item in items if isinstance(item, Mapping) and (paper := _from_item(item)) is not None]

    def _from_endnote(self, stored: str) -> list[str]:
        try:
            parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
            root = etree.fromstring(stored[: stored.rfind(">") + 1].encode(), parser)
        except (etree.XMLSyntaxError, ValueError):
            return []
        return [self._key(_from_endnote_record(cite)) for cite in root.iter("Cite")] if root is not None else []

    def _key(self, paper: Paper) -> str:
        """The key of a work, the same for each of its citations."""
        name = paper_keys(paper)[0] if paper.ids else f"{title_key(paper.title)} {paper.year}" if paper.title else str(paper)
        if name not in self._keys:
            key = self._keys[name] = self._names.key(paper)
            paper.extra["citekey"] = key
            self.works[key] = paper
        return self._keys[name]

    def _source(self, tag: str) -> Paper:
        """A source from Word's own list."""
        if self._sources is None:
            self._sources = {}
            for number in range(1, _MAX_SOURCES):
                root = self._part(f"customXml/item{number}.xml")
                for each in root.iter(f"{_B}Source") if root is not None else ():
                    self._sources[each.findtext(f"{_B}Tag", "")] = _from_source(each)
        return self._sources.get(tag) or Paper(extra={"citekey": tag})


def _from_item(item: Mapping[str, Any]) -> Paper | None:
    papers = [paper for _, paper in entries(json.dumps([{"type": "article", "id": "item", **item}]))]
    if not papers:
        return None
    # The id of an item is a number in a database; a citation key was chosen by the user.
    key = cleaned(str(item.get("citation-key") or ""))
    papers[0].extra = {name: value for name, value in papers[0].extra.items() if name != "citekey"} | (
        {"citekey": key} if key else {}
    )
    return papers[0]


def _from_source(source: _Element) -> Paper:
    listed = source.find(f"{_B}Author/{_B}Author")
    people = [] if listed is None else [*map(_person, listed.iterfind(f"{_B}NameList/{_B}Person"))]
    if listed is not None and (group := cleaned(listed.findtext(f"{_B}Corporate", ""))):
        people.append(literal(group))
    paper = Paper(cleaned(source.findtext(f"{_B}Title", "")), authors=people, year=year(source.findtext(f"{_B}Year")))
    paper.venue = cleaned(source.findtext(f"{_B}JournalName") or source.findtext(f"{_B}ConferenceName") or "")
    paper.extra["citekey"] = source.findtext(f"{_B}Tag", "")
    return paper


def _from_endnote_record(cite: _Element) -> Paper:
    fields = {name: cleaned(" ".join(map(_text, cite.iter(name)))) for name in ("title", "Author", "Year")}
    people = [read_name(cleaned(_text(each))) for each in cite.iterfind("record/contributors/authors/author")]
    return Paper(fields["title"], authors=people or [parse(fields["Author"])], year=year(fields["Year"]))


def _text(element: _Element) -> str:
    return "".join(map(str, element.itertext()))


def _person(element: _Element) -> Name:
    given = (element.findtext(f"{_B}{part}", "") for part in ("First", "Middle"))
    return person(cleaned(element.findtext(f"{_B}Last", "")), cleaned(" ".join(given)))
