"""Citations and reference lists as plain text with author and year, for documents without a reference manager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from citewell.papers import OTHERS, Name, Paper
from citewell.text.fold import folded

_MAX_AUTHORS = 20
"""A list of references names this many authors and then the last one."""


def author_year(paper: Paper, suffix: str = "") -> str:
    """A citation without brackets: "Berg & Holm, 1931"."""
    names = [name.literal or f"{name.particle} {name.family}".strip() for name in paper.authors if name != OTHERS]
    if not names:
        title = " ".join(paper.title.split()[:4])
        who = f"\u201c{title}\u201d" if title else paper.id
    elif len(names) <= 2 and OTHERS not in paper.authors:
        who = " & ".join(names)
    else:
        who = f"{names[0]} et al."
    return f"{who}, {paper.year if paper.year is not None else 'n.d.'}{suffix}"


def suffixes(papers: Iterable[Paper], existing: Iterable[Paper]) -> dict[str, str]:
    """A letter for each new paper whose citation is that of another work too, by paper id; existing citations stay."""
    papers = list(papers)
    used = Counter(map(author_year, existing))
    new = Counter(map(author_year, papers))
    letters = {}
    for paper in papers:
        label = author_year(paper)
        if used[label] or new[label] > 1:
            letters[paper.id] = chr(ord("a") + min(used[label], 25))
        used[label] += 1
    return letters


def reference(paper: Paper, suffix: str = "") -> str:
    """An entry of the reference list."""
    year = f"({paper.year if paper.year is not None else 'n.d.'}{suffix})."
    people = _people(paper.authors)
    title = paper.title.rstrip(".")
    front = [people, year, _sentence(title)] if people else [_sentence(title), year]
    return " ".join(filter(None, (*front, _where(paper), _link(paper))))


def sort_key(paper: Paper) -> tuple[str, int]:
    """The order of a reference list: by authors, then by year."""
    return folded(_people(paper.authors) or paper.title), paper.year or 0


def _people(authors: list[Name]) -> str:
    names = [_family_first(name) for name in authors if name != OTHERS]
    if OTHERS in authors:
        return f"{', '.join(names)}, et al."
    if len(names) > _MAX_AUTHORS:
        return f"{', '.join(names[: _MAX_AUTHORS - 1])}, \u2026 {names[-1]}"
    return f"{', '.join(names[:-1])}, & {names[-1]}" if len(names) > 1 else "".join(names)


def _family_first(name: Name) -> str:
    if name.literal:
        return name.literal
    initials = " ".join(f"{word[0]}." for word in name.given.replace(".", " ").split())
    return ", ".join(filter(None, (f"{name.particle} {name.family}".strip(), initials, name.suffix)))


def _where(paper: Paper) -> str:
    """The venue with volume, issue and pages."""
    extra: Mapping[str, str] = paper.extra
    volume = extra.get("volume", "") + (f"({extra['issue']})" if extra.get("issue") else "")
    where = ", ".join(filter(None, (paper.venue, volume, extra.get("pages", "").replace("--", "\u2013"))))
    return _sentence(where or extra.get("publisher", ""))


def _link(paper: Paper) -> str:
    for name in paper.ids:
        scheme, _, value = name.partition(":")
        if scheme == "doi":
            return f"https://doi.org/{value}"
        if scheme == "arxiv":
            return f"https://arxiv.org/abs/{value}"
    return paper.extra.get("url", "")


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "?", "!")) else f"{text}."
