"""The parts of a manuscript that are not its argument, recognised by their headings and their first words.

An abstract is not running text. Acknowledgements, declarations, funding, contributions and lists are not expected to cite. The
words are data, in ``sections.toml``. A heading that names none of these parts may be the title of a draft without one.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from citewell.papers import Paragraph
from citewell.text.fold import folded

ABSTRACT, INTRODUCTION, BODY = "abstract", "introduction", "body"
_NUMBERING = re.compile(r"^(?:[\W\d]+|(?:[ivx]{1,4}|[a-z])[.)]\s+)+")
_CJK_SPACE = re.compile("(?<=[\u2e80-\u9fff]) (?=[\u2e80-\u9fff])")
"""Space that spreads a short heading over the line."""
_NOT_WORDS = re.compile(r"[^\w]+")
_MIN_COMMAND = 6
"""Shorter names of commands have other meanings, as ``\\tak`` and ``\\index``."""
_MAX_HEADING = 120
"""Longer headings do not name such a part."""
_MAX_BEGINNING = 250
"""How many characters of a paragraph are examined."""
_ORCID = re.compile(r"\b\d{4}-\d{4}-\d{4}-\d{3}[\dX]\b")
_ABSTRACT_COMMAND = re.compile(
    r"(?:[a-z]{1,2}|zh|my|the|thesis|paper|english|german|chinese|foreign|main|extended|graphical)?abstracts?"
    r"(?:-?[a-z]{2}|english|german|french|chinese|cn|page|text|pages)?",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,64}\.\w{2,}")
_MIN_COMMAS = 2
_MAX_CONTACT_WORDS = 80
"""A paragraph with an e-mail address and at most this many words says who the authors are."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of ``sections.toml``, folded."""

    headings: dict[str, str]
    """The part that each heading names."""
    prefixes: tuple[tuple[str, str], ...]
    """The beginning of longer headings, and their part."""
    joined: dict[str, str]
    """The part that each heading names, by its words without spaces, for those of more than a few letters."""
    joined_prefixes: tuple[tuple[str, str], ...]
    beginnings: tuple[tuple[str, str], ...]
    """Words in the first sentence of a paragraph, and the part."""
    institutions: tuple[str, ...]
    """How words for universities, hospitals and the like begin."""


@cache
def _words() -> _Words:
    tables = tomllib.loads((resources.files("citewell.draft") / "sections.toml").read_text("utf-8"))
    names = [(name, part) for part, table in tables.items() for name in table["headings"]]
    return _Words(
        {_plain(name): part for name, part in names},
        tuple((_plain(name), part) for name, part in names if name.endswith("*")),
        {joined: part for name, part in names if len(joined := _joined(name)) > _MIN_COMMAND},
        tuple((_joined(name), part) for name, part in names if name.endswith("*")),
        tuple((_spaced(each), part) for part, table in tables.items() for each in table.get("beginnings", ())),
        tuple(folded(each).rstrip("*") for each in tables["affiliations"]["institutions"]),
    )


def _plain(heading: str) -> str:
    """A heading without case, accents, numbering and punctuation."""
    return _CJK_SPACE.sub("", _NOT_WORDS.sub(" ", _NUMBERING.sub("", folded(heading.strip()))).strip())


def _joined(heading: str) -> str:
    return _plain(heading).replace(" ", "")


def _spaced(text: str) -> str:
    """The folded words of a text with single spaces, and a space around it."""
    return f" {' '.join(folded(text).replace('-', ' ').split())} "


@cache
def _part(heading: str) -> str:
    name = _plain(heading)
    words = _words()
    if name in words.headings:
        return words.headings[name]
    return next((part for prefix, part in words.prefixes if name.startswith(prefix)), "")


def part_named(heading: str) -> str:
    """The part of a manuscript that a heading names, a table of ``sections.toml``; empty for any other heading."""
    return _part(heading) if 0 < len(heading) <= _MAX_HEADING else ""


def part_of_command(name: str) -> str:
    """The part that a LaTeX command or environment is for, as ``authorcontributions``; empty for the argument and others."""
    name = name.lower()
    part = _words().joined.get(name) or next((part for prefix, part in _words().joined_prefixes if name.startswith(prefix)), "")
    return "" if part in (ABSTRACT, INTRODUCTION, BODY) else part


def is_abstract(heading: str) -> bool:
    """Whether a heading announces the abstract; at the end of a text the same words may announce a conclusion."""
    return part_named(heading) == ABSTRACT


def is_abstract_command(name: str) -> bool:
    """Whether a LaTeX command or environment is for the abstract: in any language, or ``cabstract`` and similar."""
    return bool(_ABSTRACT_COMMAND.fullmatch(name)) or is_abstract(name)


def is_title(heading: str) -> bool:
    """Whether the first heading of a draft may be its title: it does not name a usual part of a paper."""
    return bool(heading) and not part_named(heading)


def is_uncited_section(heading: str) -> bool:
    """Whether a section has no citations by convention: acknowledgements, references, funding and similar."""
    return part_named(heading) not in ("", ABSTRACT, INTRODUCTION, BODY)


def continues_abstract(heading: str) -> bool:
    """Whether a heading below that of an abstract is a part of a structured abstract, such as "Methods"."""
    return part_named(heading) != INTRODUCTION and not is_uncited_section(heading)


def is_uncited(paragraph: Paragraph) -> bool:
    """Whether a paragraph has no citations by convention, by the heading above it or by its own words."""
    return is_uncited_section(paragraph.section) or bool(part_begun(paragraph.text))


def part_begun(text: str) -> str:
    """The part that the first words of a paragraph belong to, as "We thank ..." to acknowledgements; empty for the argument."""
    head = text[:_MAX_BEGINNING]
    is_short = len(text.split()) <= _MAX_CONTACT_WORDS
    if _ORCID.search(head) or (is_short and (_ADDRESS.search(head) or _is_institution(text))):
        return "affiliations"
    stop = head.find(". ")
    spaced = _spaced(head if stop < 0 else head[: stop + 1]).replace(".", " ")
    return next((part for words, part in _words().beginnings if words in spaced or _begins(spaced, words)), "")


def without_keywords(abstract: str) -> str:
    """An abstract without the keywords that follow it in the same paragraph."""
    label = _keyword_label().search(abstract)
    return abstract[: label.start()].rstrip() if label and label.start() else abstract


@cache
def _keyword_label() -> re.Pattern[str]:
    tables = tomllib.loads((resources.files("citewell.draft") / "sections.toml").read_text("utf-8"))
    words = {re.escape(each.rstrip(" :\u2014\uff1a")).replace("\\ ", "[ -]?") for each in tables["lists"]["beginnings"]}
    return re.compile(
        rf"(?:(?<=[.!?\u3002)\]] )|(?<=[\u3002\uff09]))(?:{'|'.join(sorted(words))})\s*[:\uff1a.\u2013\u2014-]", re.IGNORECASE
    )


def _is_institution(text: str) -> bool:
    """Whether a text is the name and the place of an institution: a list with commas, not a sentence."""
    if text.count(",") < _MIN_COMMAS or text.rstrip().endswith((".", "!", "?", ":", ";")):
        return False
    return any(word.startswith(each) for word in _spaced(text).split() for each in _words().institutions)


def _begins(text: str, words: str) -> bool:
    """Whether words that end in a colon, a dash or no space begin a text."""
    return text.startswith(words.rstrip())
