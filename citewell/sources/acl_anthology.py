"""The XML files of the ACL Anthology: collections of volumes of papers.

The <meta> of a volume (book title, date, venue) applies to all its papers. The front matter of a volume becomes the record of
the proceedings.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical
from citewell.papers import Name, Paper, Problem
from citewell.sources import clean
from citewell.sources.source import Source
from citewell.sources.xml import RecordError, iso_date, opening, papers, text, text_at
from citewell.text.names import person

NAME = "ACL Anthology XML"
PRIORITY = 80


def matches(head: bytes) -> bool:
    root, start = opening(head)
    return root == "collection" and ("<volume" in start or "<event" in start)


def read(source: Source) -> Iterator[Paper | Problem]:
    return papers(source, ["meta", "paper", "frontmatter"], _Volumes().paper)


class _Volumes:
    """The volume of the current papers."""

    def __init__(self) -> None:
        self._volume: tuple[str, str] | None = None
        self._meta: dict[str, str] = {}
        self._editors: list[Name] = []

    def paper(self, record: _Element) -> Paper | None:
        volume, collection = record.getparent(), next(record.iterancestors("collection"), None)
        if volume is None or volume.tag != "volume" or collection is None:
            if record.tag == "meta":
                return None
            raise RecordError("the paper is outside of any volume")
        here = collection.get("id", ""), volume.get("id", "")
        if record.tag == "meta":
            self._volume = here
            self._meta = {part.tag: text(part) for part in reversed(record)}
            self._editors = _people(record, "editor")
            return None
        if self._volume != here:
            self._volume, self._meta, self._editors = here, {}, []
        return self._described(record, here, volume.get("type", ""))

    def _described(self, record: _Element, volume: tuple[str, str], kind: str) -> Paper:
        front = record.tag == "frontmatter"
        title = self._meta.get("booktitle", "") if front else text_at(record, "title")
        if not title:
            raise RecordError("the front matter belongs to a volume without a title" if front else "the paper has no title")
        date = iso_date(
            text_at(record, "year") or self._meta.get("year", ""), text_at(record, "month") or self._meta.get("month", "")
        )
        ids = [_anthology_id(*volume, "0" if front else record.get("id", ""), text_at(record, "url"))]
        ids.append(canonical("doi", text_at(record, "doi") or (self._meta.get("doi", "") if front else "")) or "")
        article = "article-journal" if kind == "journal" else "paper-conference"
        extra = {
            "type": "proceedings" if front else article,
            "pages": text_at(record, "pages").replace("\u2013", "-"),
            "volume": self._meta.get("journal-volume", ""),
            "issue": self._meta.get("journal-issue", ""),
            "publisher": self._meta.get("publisher", ""),
            "publisher-place": self._meta.get("address", ""),
            "container-title-short": self._meta.get("venue", "").upper(),
            "citekey": text_at(record, "bibkey"),
            "url": f"https://aclanthology.org/{ids[0].removeprefix('acl:')}" if ids[0] else "",
        }
        return Paper(
            title=title,
            abstract=text_at(record, "abstract"),
            authors=self._editors if front else _people(record, "author"),
            year=clean.year(date),
            date=date,
            venue=self._meta.get("journal-title") or self._meta.get("booktitle", ""),
            ids=clean.unique(ids),
            extra={field: value for field, value in extra.items() if value},
        )


def _anthology_id(collection: str, volume: str, paper: str, url: str) -> str:
    """The id of the paper: its address if that is an id, else its number in the scheme of the Anthology."""
    if known := canonical("acl", url):
        if known.partition(":")[2].lower().startswith(_prefix(collection, volume).lower()):
            return known
        raise RecordError(f"{url} does not belong to its volume, {_prefix(collection, volume)}")
    if not collection[:1].isalpha():
        return canonical("acl", f"{collection}-{volume}.{paper}") or ""
    number = paper.zfill(2 if _two_digits(collection, volume) else 3)
    return canonical("acl", f"{_prefix(collection, volume)}{number}") or ""


def _prefix(collection: str, volume: str) -> str:
    if not collection[:1].isalpha():
        return f"{collection}-{volume}."
    return f"{collection}-{volume.zfill(2) if _two_digits(collection, volume) else volume}"


def _two_digits(collection: str, volume: str) -> bool:
    """Whether volume numbers have two digits: in workshops, and in two collections that ran out of numbers."""
    return collection.startswith("W") or collection == "C69" or (collection == "D19" and volume.zfill(2) >= "05")


def _people(record: _Element, role: str) -> list[Name]:
    names = (person(text_at(each, "last"), text_at(each, "first")) for each in record.iterfind(role))
    return [name for name in dict.fromkeys(names) if any(name)]
