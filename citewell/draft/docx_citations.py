"""The citations of a Word file, as the programs that inserted them store them.

Zotero and Mendeley store CSL-JSON in the instruction of a field, Mendeley's newer add-in in the tag of a content control,
EndNote its own XML, Citavi its own JSON, and Word refers to sources in a part of the file.
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
from citewell.identifiers import canonical
from citewell.library.store.identity import paper_keys, title_key
from citewell.papers import Name, Paper
from citewell.sources.clean import text as cleaned
from citewell.sources.clean import year
from citewell.text.names import literal, parse, person
from citewell.text.ris_names import read_name

_B = "{http://schemas.openxmlformats.org/officeDocument/2006/bibliography}"
_WORD = re.compile(r"\s*CITATION\s+(\S+)(.*)", re.DOTALL)
_CITAVI = re.compile(r"CitaviPlaceholder\{([A-Za-z0-9+/=\s]+)\}?")
_ALSO = re.compile(r"\\m\s+(\S+)")
_TAG = "MENDELEY_CITATION_v3_"
_LIST_TAGS = ("MENDELEY_BIBLIOGRAPHY", "CitaviBibliography")
_BOOKMARK = "ZOTERO_BREF_"
_BIBLIOGRAPHY = re.compile(r"ZOTERO_BIBL|CSL_BIBLIOGRAPHY|EN\.REFLIST|CitaviBibliography|^\s*BIBLIOGRAPHY\b")
_ITEM = ("id", "uris", "uri", "itemData")
"""What belongs to a cited work; other fields belong to the citation: its page, its prefix."""
_MAX_SOURCES = 20


class WordCitations:
    """The works that a Word file cites, by key."""

    def __init__(self, part: Callable[[str], _Element | None]) -> None:
        self.works: dict[str, Paper] = {}
        self._keys: dict[str, str] = {}
        self._names = Citekeys()
        self._part = part
        self._sources: dict[str, Paper] | None = None
        self._bookmarks: dict[str, str] | None = None
        self._unread: dict[str, int] = {}
        self.has_zotero = False
        self.items: dict[str, Mapping[str, Any]] = {}
        """The cited item of each work as the fields of Zotero have it, by key."""

    def is_bibliography(self, instruction: str) -> bool:
        """Whether a field shows the list of references."""
        return bool(_BIBLIOGRAPHY.search(instruction))

    def is_bibliography_tag(self, tag: str) -> bool:
        """Whether a content control shows the list of references of Mendeley or Citavi."""
        return tag.startswith(_LIST_TAGS)

    def of_instruction(self, instruction: str, data: str = "") -> list[str]:
        """The keys that a field cites; empty where it is not a citation. `data` is what EndNote stores with the field."""
        if "CSL_CITATION" in instruction:
            self.has_zotero |= "ZOTERO_ITEM" in instruction
            program = "Zotero" if "ZOTERO_ITEM" in instruction else "Mendeley"
            return self._read(program, self._from_csl(instruction[instruction.find("{") :]))
        if "EN.CITE" in instruction:
            stored = instruction if "<EndNote" in instruction else _decoded(data)
            return self._read("EndNote", self._from_endnote(stored[stored.find("<EndNote") :]))
        if match := _CITAVI.search(instruction):
            return self._read("Citavi", self._from_citavi(match[1]))
        if match := _WORD.match(instruction):
            return [self.key(self._source(name)) for name in (match[1], *_ALSO.findall(match[2]))]
        return []

    def of_bookmark(self, name: str) -> list[str]:
        """The keys that a bookmark of Zotero cites; empty where it is not a citation."""
        if not name.startswith(_BOOKMARK):
            return []
        if self._bookmarks is None:
            self._bookmarks = _properties(self._part("docProps/custom.xml"))
        return self.of_instruction(self._bookmarks.get(name, ""))

    def notes(self) -> list[str]:
        """What could not be read, one line each."""
        unread = [
            f"{count} {program} citation{'s' if count != 1 else ''} cannot be read, because the fields do not describe their"
            f" works; insert them again with {program}, or add the works to the library"
            for program, count in self._unread.items()
        ]
        unknown = [key for key, paper in self.works.items() if not paper.title and not paper.authors]
        if unknown:
            names = ", ".join(unknown)
            unread.append(f"Word's list of sources has no entry for {names}; add it in Word: References > Manage Sources")
        return unread

    def _read(self, program: str, keys: list[str]) -> list[str]:
        """The keys of a citation; one that has none is counted."""
        if not keys:
            self._unread[program] = self._unread.get(program, 0) + 1
        return keys

    def of_tag(self, tag: str) -> list[str]:
        """The keys that a content control cites; empty where it is not a citation."""
        if not tag.startswith(_TAG):
            return []
        try:
            return self._read("Mendeley", self._from_csl(base64.b64decode(tag.removeprefix(_TAG)).decode()))
        except (binascii.Error, ValueError):
            return self._read("Mendeley", [])

    def _from_csl(self, stored: str) -> list[str]:
        try:
            cited, _ = json.JSONDecoder().raw_decode(stored.strip())
            items = [(each, each.get("itemData")) for each in cited.get("citationItems", [])]
        except (ValueError, AttributeError, TypeError, RecursionError):
            return []
        keys = []
        for stored_item, item in items:
            if isinstance(item, Mapping) and (paper := _from_item(item)) is not None:
                keys.append(self.key(paper))
                self.items.setdefault(keys[-1], {name: stored_item[name] for name in _ITEM if name in stored_item})
        return keys

    def _from_citavi(self, stored: str) -> list[str]:
        try:
            listed = json.loads(base64.b64decode("".join(stored.split())))["Entries"]
            references = [each["Reference"] for each in listed if isinstance(each.get("Reference"), Mapping)]
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return []
        return [self.key(paper) for each in references if (paper := _from_citavi_reference(each)).title]

    def _from_endnote(self, stored: str) -> list[str]:
        try:
            parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
            root = etree.fromstring(stored[: stored.rfind(">") + 1].encode(), parser)
        except (etree.XMLSyntaxError, ValueError):
            return []
        return [self.key(_from_endnote_record(cite)) for cite in root.iter("Cite")] if root is not None else []

    def key(self, paper: Paper) -> str:
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


def _decoded(data: str) -> str:
    """The text that EndNote stores with a field, in base64."""
    try:
        stored = base64.b64decode("".join(data.split()))
    except (binascii.Error, ValueError):
        return ""
    return stored.decode("utf-16-le" if stored[1:2] == b"\x00" else "utf-8", "replace").rstrip("\x00")


def _properties(root: _Element | None) -> dict[str, str]:
    """What Zotero stores for each of its bookmarks; a long text is in several properties, ``NAME_1``, ``NAME_2`` ..."""
    stored: dict[str, dict[int, str]] = {}
    for each in root if root is not None else ():
        bookmark, _, number = each.get("name", "").rpartition("_")
        if bookmark.startswith(_BOOKMARK) and number.isdecimal():
            stored.setdefault(bookmark, {})[int(number)] = _text(each)
    return {name: "".join(pieces[number] for number in sorted(pieces)) for name, pieces in stored.items()}


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
    if doi := canonical("doi", cleaned(source.findtext(f"{_B}DOI") or source.findtext(f"{_B}StandardNumber") or "")):
        paper.ids.append(doi)
    paper.extra["citekey"] = source.findtext(f"{_B}Tag", "")
    return paper


def _from_citavi_reference(reference: Mapping[str, Any]) -> Paper:
    people = reference.get("Authors") or reference.get("Editors")
    names = [each for each in people if isinstance(each, Mapping)] if isinstance(people, list) else []
    given = [" ".join(filter(None, (cleaned(each.get(part)) for part in ("FirstName", "MiddleName")))) for each in names]
    authors = [person(cleaned(each.get("LastName")), first) for each, first in zip(names, given, strict=True)]
    published = reference.get("Year") or reference.get("YearResolved")
    paper = Paper(cleaned(reference.get("Title")), authors=authors, year=year(published))
    periodical = reference.get("Periodical")
    paper.venue = cleaned(periodical.get("Name")) if isinstance(periodical, Mapping) else ""
    if doi := canonical("doi", cleaned(reference.get("Doi"))):
        paper.ids.append(doi)
    return paper


def _from_endnote_record(cite: _Element) -> Paper:
    fields = {name: cleaned(" ".join(map(_text, cite.iter(name)))) for name in ("title", "Author", "Year")}
    people = [read_name(cleaned(_text(each))) for each in cite.iterfind("record/contributors/authors/author")]
    paper = Paper(
        fields["title"], authors=people or [parse(name) for name in [fields["Author"]] if name], year=year(fields["Year"])
    )
    paper.venue = cleaned(" ".join(map(_text, cite.iterfind("record/periodical/full-title"))))
    if doi := canonical("doi", cleaned(_text_of(cite, "record/electronic-resource-num"))):
        paper.ids.append(doi)
    return paper


def _text(element: _Element) -> str:
    return "".join(map(str, element.itertext()))


def _person(element: _Element) -> Name:
    given = (element.findtext(f"{_B}{part}", "") for part in ("First", "Middle"))
    return person(cleaned(element.findtext(f"{_B}Last", "")), cleaned(" ".join(given)))


def _text_of(element: _Element, path: str) -> str:
    inner = element.find(path)
    return _text(inner) if inner is not None else ""
