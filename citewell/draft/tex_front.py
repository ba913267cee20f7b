"""Reads what surrounds the text of a LaTeX paper: its authors, and a bibliography typed into it."""

from __future__ import annotations

import re
from html import unescape

from citewell.draft.sections import is_title
from citewell.draft.source_text import SourceText
from citewell.draft.tex_brackets import Brackets
from citewell.draft.tex_commands import LOGOS
from citewell.draft.tex_expand import braces
from citewell.identifiers import canonical, recognise
from citewell.papers import Draft, Paper
from citewell.sources.clean import year
from citewell.sources.latex import to_text
from citewell.text.names import parse_all

COMMAND = re.compile(r"\\(title|author|abstract|bibliography|addbibresource|addglobalbib)(?![A-Za-z@])")
"""The commands that are read in a preamble."""

_SIZES = ("large", "Large", "LARGE", "huge", "Huge", "HUGE")
_LARGE = re.compile(r"\\(large|Large|LARGE|huge|Huge|HUGE)(?![A-Za-z@])")
_DISPLAY_END = re.compile(
    r"\n[ \t\r]*\n|\\par(?![A-Za-z@])|\\end\s*\{|\\\\\s*\[|\\(?:large|Large|LARGE|huge|Huge|HUGE|normalsize|small)(?![A-Za-z@])"
    r"|\}\s*(?:\n|\\\\|\})"
)
_MAX_DISPLAYED = 1000
_MIN_TITLE_WORDS, _MAX_TITLE_WORDS = 3, 40
PDF_TITLE = re.compile(r"\bpdftitle\s*=\s*(?=\{)")
_ANNOTATIONS = re.compile(
    r"\\(?:thanks|footnote|footnotemark|inst|textsuperscript|email|orcid|orcidlink|orcidID|affiliation|IEEEauthorblockA|corref|fnref"
    r"|altaffilmark|altaffiltext|stepcounter|refstepcounter|arabic|label|ref|authornote|IEEEmembership|href|url|texttt"
    r"|vspace|hspace)(?![A-Za-z@])\s*+(?:\[[^\[\]]{0,300}\])?\s*+(?:\{(?:[^{}]++|\{[^{}]*+\})*+\})?"
)
_TITLE_WORD = r"(?:[Tt]itle|[Tt]itel|[Tt]itre|[Tt][ií]tulo|[Tt]itolo|[Tt]ytul)"
_TITLE_COMMAND = re.compile(rf"\\([A-Za-z]*{_TITLE_WORD}[A-Za-z]{{0,3}})[ \t]*(?=\{{)")
"""Commands in which classes of theses and journals take the title: ``\\thesistitle{...}``."""
_SETUP = re.compile(r"\\[A-Za-z]*(?:[Ss]etup|[Ii]nfo|[Ss]ettings|[Dd]ata|cover)[ \t]*(?=\{)")
_TITLE_FIELD = re.compile(rf"(?<![\w\\*.-])([a-z]{{0,6}}{_TITLE_WORD}(?:-?[a-z]{{2}})?\*?)[ \t]*=[ \t]*(?=\{{)")
"""The same in a list of fields: ``\\thusetup{title = {...}}``."""
_OTHER_TITLE = re.compile(
    r"sub|sotto|unter|short|kurz|court|run|head|foot|page|format|size|font|style|colou?r|space|rule|width|sep|chap|sec|frame|block"
    r"|book|journal|series|conf|volume|degree|grad|acad|prof|author|advis|list|contents|bib|index|pdf|make|print|insert|fancy|box"
    r"|legend|caption|column|tab|fig|abstract|event|course|alt|old|orig|break|thanks|mark|skip|theorem|pack|logo|pre|post|drop",
    re.IGNORECASE,
)
"""What titles of something else, or layout of titles, have in their names."""
_ENGLISH_TITLE = re.compile(r"e(?:n|ng|nglish)?-?title|title-?(?:en|eng)|title\*|.*(?:foreign|trans).*", re.IGNORECASE)
_DEFINES = re.compile(r"\\(?:re)?newcommand\*?\{?\s*$|\\(?:[gex]?def|let|Declare\w*|provide\w*)\s*$")
_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7af]")
_MIN_CJK = 4
_LOGO = re.compile(r"\\([A-Za-z]*T[eE]X[A-Za-z]*|TikZ)(?![A-Za-z])")
_LAYOUT = re.compile(
    r"(\\\\|\\(?:newline|linebreak|titlebreak|break)(?![A-Za-z]))\s*\*?\s*(?:\[[^\[\]\n]{0,30}\])?"
    r"|\\(?:color|usekomafont|selectfont|lipsum|[Bb]lindtext|fontsize\s*\{[^{}]*\})(?![A-Za-z])\s*(?:\[[^\[\]\n]{0,30}\])?"
    r"(?:\s*\{[^{}]*\})?"
    r"|\\(?:textcolor|colorbox|resizebox|scalebox|texorpdfstring)\s*(?:\[[^\[\]\n]{0,30}\])?\s*\{[^{}]*\}(?=\s*\{)"
    r"|\\(?:kern|hskip|lower|raise)\s*[+-]?[\d.]*\s*(?:pt|em|ex|mm|cm|in)"
)
"""Layout in titles: line breaks with a distance, colours, sizes, and texts of packages that fill a page."""
_FORMULA = re.compile(r"\$[^$]*\$")
_NEXT = re.compile(r"\\(?:and|And|AND)(?![A-Za-z])|\\quad|\\qquad|,|;|\band\b|&")
_LINE = re.compile(r"\\\\|\\newline|\\IEEEauthorblockN|\\(?:name|addr)(?![A-Za-z])")
_NAME = re.compile(r"[^\W\d_][^\d@]*[^\W\d_]\.?")
_NO_NAME = re.compile(
    r"universit|institut|department|laborator|college|school|anonymous|submission|research|inc\b|corp", re.IGNORECASE
)
_BIBITEM = re.compile(r"\\bibitem(?![A-Za-z])\s*")
_BLOCK = re.compile(r"\\newblock\b")
_QUOTED = re.compile(r"(?:``|“|\")(.{8,400}?)[,.]?(?:''|”|\")", re.DOTALL)
_ITALIC = re.compile(r"\\(?:emph|textit)\s*\{([^{}]{8,400})\}|\{\\(?:em|it)\s+([^{}]{8,400})\}")
_DOI = re.compile(r"10\.\d{4,9}/[^\s{},]+")
_ARXIV = re.compile(r"arxiv[:\s]*(\d{4}\.\d{4,5})", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_INITIAL = re.compile(r"\b[A-Z]$")


def plain_text(inside: str) -> str:
    """The text of an argument of the front matter, without notes and affiliations."""
    # Titles use \texttt for names of programs; lists of authors use it for e-mail addresses.
    inside = _LAYOUT.sub(lambda match: " " if match[1] else "", inside)
    inside = _LOGO.sub(lambda match: LOGOS.get(match[1], match[0]), inside)
    return to_text(_ANNOTATIONS.sub(lambda match: match[0] if match[0].startswith("\\texttt") else " ", inside))


def named_title(text: str, brackets: Brackets, end: int) -> str:
    """The title that a draft gives in a command or a field of its class, as theses do; empty where there is none.

    A title in English next to one without that mark is a translation.
    """
    found = [(match[1], match.end()) for match in _TITLE_COMMAND.finditer(text, 0, end) if not _is_defined(text, match.start())]
    for setup in _SETUP.finditer(text, 0, end):
        close = brackets.braces.get(setup.end(), -1)
        found += [(match[1], match.end()) for match in _TITLE_FIELD.finditer(text, setup.end(), max(close, setup.end()))]
    candidates = []
    for name, at in found:
        inside = brackets.inside(at)
        title = plain_text(inside)
        is_enough = len(title.split()) > 1 or len(_CJK.findall(title)) >= _MIN_CJK
        is_layout = _OTHER_TITLE.search(name) or "#" in inside or len(title.split()) > _MAX_TITLE_WORDS
        if is_enough and not is_layout and is_title(title):
            candidates.append((bool(_ENGLISH_TITLE.fullmatch(name)), inside))
    return min(candidates, key=lambda candidate: candidate[0], default=(False, ""))[1]


def _is_defined(text: str, begin: int) -> bool:
    """Whether the command at `begin` is defined there, not used."""
    return bool(_DEFINES.search(text, max(0, begin - 30), begin))


def displayed_title(text: str, begin: int, end: int) -> str:
    """The title that is typed in large letters before the text, as on the title page of a thesis; empty where there is none."""
    candidates = []
    for match in _LARGE.finditer(text, begin, end):
        last = _DISPLAY_END.search(text, match.end(), min(end, match.end() + _MAX_DISPLAYED))
        title = plain_text(text[match.end() : last.start()]) if last else ""
        if _MIN_TITLE_WORDS <= len(title.split()) <= _MAX_TITLE_WORDS and is_title(title):
            candidates.append((_SIZES.index(match[1]), len(title.split()), title))
    return max(candidates, default=(0, 0, ""))[2]


def people(inside: str) -> list[str]:
    """The names in an ``\\author``; affiliations are on further lines."""
    inside = _FORMULA.sub(" ", _ANNOTATIONS.sub(" ", unescape(inside)))
    names = []
    for chunk in re.split(r"\\(?:and|And|AND)(?![A-Za-z])|\\IEEEauthorblockN", inside):
        lines = [line for line in _LINE.split(chunk) if to_text(line).strip(" ,")]
        for part in _NEXT.split(lines[0]) if lines else ():
            name = to_text(part).strip(" ,;*†‡0123456789")
            if _NAME.fullmatch(name) and len(name.split()) <= 6 and not _NO_NAME.search(name):
                names.append(name)
    return names


def read_items(draft: Draft, source: SourceText, begin: int, end: int) -> None:
    """Read the entries of a ``thebibliography``, as far as title, authors and year can be recognised."""
    starts = [match.span() for match in _BIBITEM.finditer(source.text, begin, end)]
    for at, (start, body) in enumerate(starts):
        close = starts[at + 1][0] if at + 1 < len(starts) else end
        key, paper = item(source.text[body:close])
        if key and key not in draft.bibliography:
            draft.bibliography[key] = paper
            draft.entries[key] = source.place(start, start + len(source.text[start:close].rstrip()))


def item(text: str) -> tuple[str, Paper]:
    """The key and the work of one ``\\bibitem``, from the text after the command."""
    pairs = braces(text)
    at = 0
    if text.startswith("["):
        while at < len(text) and text[at] != "]":
            at = pairs.get(at, at) + 1
        at = len(text) - len(text[at + 1 :].lstrip())
    close = pairs.get(at, -1)
    if close < 0:
        return "", Paper()
    key, body = text[at + 1 : close].strip(), text[close + 1 :]
    blocks = [block for block in _BLOCK.split(body) if block.strip()]
    quoted, italic = _QUOTED.search(body), _ITALIC.search(body)
    if len(blocks) > 1:
        names, title = blocks[0], blocks[1]
    elif quoted:
        names, title = body[: quoted.start()], quoted[1]
    elif italic:
        names, title = body[: italic.start()], italic[1] or italic[2]
    else:
        names, title = _guessed(body)
    years = _YEAR.findall(body)
    paper = Paper(
        title=to_text(title).strip(" .,"),
        authors=parse_all(_names(to_text(names))),
        year=year(years[-1]) if years else None,
        ids=[each for each in (_doi(body), _arxiv(body)) if each],
    )
    paper.extra["citekey"] = key
    return key, paper


def _guessed(body: str) -> tuple[str, str]:
    """Names and title of an item without mark-up: the first two sentences; an initial does not end a sentence."""
    parts = body.split(". ")
    for at in range(len(parts) - 1):
        if not _INITIAL.search(parts[at]):
            return ". ".join(parts[: at + 1]), parts[at + 1]
    return "", body


def _names(text: str) -> list[str]:
    text = _YEAR.sub("", text).replace("()", "").strip(" .,")
    return [name.strip(" ,&") for name in re.split(r",?\s+and\s+|;|&|,(?!\s*(?:[A-Z]\.[\s-]?)+(?:,|\s+and\b|$))", text)]


def _doi(body: str) -> str | None:
    match = _DOI.search(body)
    return canonical("doi", match[0]) if match else None


def _arxiv(body: str) -> str | None:
    match = _ARXIV.search(body)
    return recognise(f"arxiv:{match[1]}") if match else None
