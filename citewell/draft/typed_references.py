"""Reads a reference list that is typed as text, as at the end of a Word file: authors, year, title and DOI of each entry.

The common styles are known: "Berg A, Holm B (1931) Title. Journal" and its variants, "Berg, A. 1931. Title.", "1. Berg A.
Title. Journal 5: 1-9, 1931" and titles in quotation marks. What an entry does not show clearly stays empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.identifiers import canonical
from citewell.papers import Paper
from citewell.text.fold import folded
from citewell.text.names import parse

_HEADING = re.compile(
    r"(?:#{1,6}\s+)?(?:\d+\\?[.)]?\s+)?(?:references?|reference list|bibliography|literature(?: cited)?|works cited"
    r"|cited literature|literatur(?:verzeichnis)?|quellen(?:verzeichnis)?|références(?: bibliographiques)?|bibliographie"
    r"|referencias(?: bibliográficas)?|bibliografía|bibliografia|riferimenti bibliografici|referências|参考文献)\s*[:.]?",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?=[^\w\s])")
_LABEL = re.compile(r"(?:-\s+)?(?:\[(\d{1,4})\]|(\d{1,4})[.)](?=\s))\s*")
_DOI = re.compile(r"10\.\d{4,9}/[^\s,;<>\"]+")
_ARXIV = re.compile(r"arxiv[:\s./a-z]{0,20}(\d{4}\.\d{4,5})", re.IGNORECASE)
_URL = re.compile(r"https?://\S+|\bdoi:?\s*\S+", re.IGNORECASE)
_YEAR = re.compile(r"\b((?:1[5-9]|20)\d\d)([a-z]?)\b")
_DATED = re.compile(r"[\s.,]\(((?:1[5-9]|20)\d\d)([a-z]?)(?:,[^()]{0,30})?\)[.,:]?\s+")
_DATED_PLAIN = re.compile(r"[.,]\s+((?:1[5-9]|20)\d\d)([a-z]?)[.,:]\s+")
_QUOTED = re.compile(r"[\u201c\u201e\"\u00ab\u2018]([^\u201d\u201c\"\u00bb\u2019]{8,400}?)[,.]?[\u201d\u201c\"\u00bb\u2019]")
_STOP = re.compile(r"[.?!](?=\s|$)")
_NAME_WORD = re.compile(r"[^\W\d_](?:[\w'\u2019\u2010-]*[^\W\d_])+")
_INITIALS = re.compile(r"(?:[A-Z]-?){1,4}|(?:[A-Z]\.[\s-]?){1,4}")
_DIGIT = re.compile(r"\d")
_SEPARATOR = re.compile(r"\s*;\s*|\s*,?\s+(?:and|und|et|y|e)\s+|\s*,?\s*&\s*")
_OTHERS = re.compile(r",?\s*\bet al\b\.?|\(?\beds?\.\)?|\(Hrsg\.\)", re.IGNORECASE)
_MIN_TITLE_WORDS = 2
_MAX_AUTHORS_LENGTH = 3000
_MIN_ENTRY = 20


@dataclass(slots=True)
class TypedReference:
    """One entry of a typed reference list."""

    number: int
    """Its number in the list, counted from 1, or the number it has."""
    paper: Paper
    names: list[str]
    """The words of the authors, folded, in their order."""
    suffix: str = ""
    """The letter after the year, as in 1931a."""
    is_labelled: bool = False
    """Whether the number is typed."""


def reference_list(blocks: Sequence[str]) -> tuple[int, int]:
    """The first and the last block (exclusive) of the reference list among the blocks of a document; both 0 without one."""
    headings = [at for at, block in enumerate(blocks) if len(block) < 60 and _HEADING.fullmatch(_plain(block))]
    for at in reversed(headings):
        end = next((each for each in range(at + 1, len(blocks)) if blocks[each].startswith(("#", "|"))), len(blocks))
        if any(map(parse_reference, blocks[at + 1 : end])):
            return at + 1, end
    return 0, 0


def parse_reference(block: str, number: int = 0) -> TypedReference | None:
    """One entry; None where a block is not an entry. `number` is its position in the list."""
    text = _plain(block)
    label = _LABEL.match(text)
    text = text[label.end() :] if label else text.removeprefix("- ")
    if len(text) < _MIN_ENTRY or not (label or _YEAR.search(text) or _DOI.search(text)):
        return None
    authors, title, year, suffix = _parts(text)
    if not authors and not title:
        return None
    paper = Paper(title, authors=[*map(parse, _people(authors))], year=year, ids=_ids(text))
    names = [folded(word) for word in _NAME_WORD.findall(_OTHERS.sub(" ", authors))]
    return TypedReference(int(label[1] or label[2]) if label else number, paper, names, suffix, bool(label))


def _plain(block: str) -> str:
    return _ESCAPE.sub("", block).strip()


def _ids(text: str) -> list[str]:
    doi = _DOI.search(text)
    arxiv = _ARXIV.search(text)
    found = (
        canonical("doi", doi[0].rstrip(".)]")) if doi else None,
        canonical("arxiv", arxiv[1]) if arxiv else None,
    )
    return list(dict.fromkeys(each for each in found if each))


def _parts(text: str) -> tuple[str, str, int | None, str]:
    """The authors, the title, the year and the letter after it."""
    head = text[:_MAX_AUTHORS_LENGTH]
    digit = _DIGIT.search(head)
    authors_end = digit.start() if digit else 0  # names have no digits: the year after the authors has the first ones
    dated = _DATED.search(head, max(0, authors_end - 2), authors_end + 60) or _DATED_PLAIN.search(
        head, max(0, authors_end - 3), authors_end + 10
    )
    if dated and dated.start(1) != authors_end:
        dated = None
    quoted = _QUOTED.search(text)
    if dated and (not quoted or dated.start() < quoted.start()):
        title = quoted[1] if quoted and quoted.start() < dated.end() + 3 else _sentence(text[dated.end() :])
        return text[: dated.start() + 1].strip(" ,"), title, int(dated[1]), dated[2]
    years = list(_YEAR.finditer(_URL.sub(lambda match: " " * len(match[0]), text)))
    year, suffix = (int(years[-1][1]), years[-1][2]) if years else (None, "")
    if quoted:
        return text[: quoted.start()].strip(" ,."), quoted[1].strip(), year, suffix
    for stop in _STOP.finditer(text[:_MAX_AUTHORS_LENGTH]):
        title = _sentence(text[stop.end() :])
        if len(title.split()) > _MIN_TITLE_WORDS:
            return text[: stop.start()].strip(), title, year, suffix
    return "", "", year, suffix


def _sentence(text: str) -> str:
    """The first sentence: a title, which may contain abbreviations of one letter."""
    text = text.strip()
    for stop in _STOP.finditer(text):
        before = text[: stop.start()]
        if len(before.split()) >= _MIN_TITLE_WORDS and not re.search(r"(?:^|\s)[A-Za-z]$|\bvs$", before):
            return before + (stop[0] if stop[0] != "." else "")
    return text if len(text) < 400 else ""


def _people(authors: str) -> list[str]:
    """The names of the authors, given names first."""
    people: list[str] = []
    for group in _SEPARATOR.split(_OTHERS.sub(" ", authors)):
        parts = [part.strip() for part in group.split(",") if part.strip()]
        for part in parts:
            words = part.split()
            if len(words) > 2 and words[-1].islower() and _INITIALS.fullmatch(words[-2]):  # Groot LC de
                words = [words[-1], *words[:-1]]
            if people and _INITIALS.fullmatch(part):  # Berg, A. M., Holm, B.
                if "\x00" in people[-1]:
                    people[-1] = f"{part} {people[-1].rstrip(chr(0))}"
            elif len(words) > 1 and _INITIALS.fullmatch(words[-1]) and not words[0].endswith("."):  # Berg AM
                people.append(" ".join([words[-1], *words[:-1]]))
            elif len(parts) > 1 and len(words) <= 3 and not _INITIALS.fullmatch(words[0]):
                people.append(f"{part}\x00")
            else:
                people.append(part)
    return _given_names_after_comma([name for name in people if _NAME_WORD.search(name)])


def _given_names_after_comma(people: list[str]) -> list[str]:
    """ "Berg, Ada" is one name where the list begins in that way: "Berg, Ada, Bo Holm, and Cy Lund"."""
    if len(people) > 1 and all(len(name.rstrip("\x00").split()) == 1 and name.endswith("\x00") for name in people[:2]):
        family, given = (name.rstrip("\x00") for name in people[:2])
        people = [f"{given} {family}", *people[2:]]
    return [name.rstrip("\x00") for name in people]
