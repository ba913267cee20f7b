"""LaTeX as a draft.

`tex_expand` makes one text of the document, its files and its macros. Here that text is walked along once, command by command:
what a person would read goes into paragraphs, citations and gaps are marked, and what is no running text (mathematics, tables,
verbatim text) is left out, but for its captions and citations. What cannot be understood is taken for text: a brace that
nothing closes is passed over, an environment that never ends does not begin.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citewell.draft import tex_commands, tex_front
from citewell.draft.bibliography import read_bibliography
from citewell.draft.builder import Block, DraftBuilder, without_marks
from citewell.draft.files import Folder
from citewell.draft.gaps import GAP, asks_for_citation, is_key, placeholder_note
from citewell.draft.plain import copy_with_gaps
from citewell.draft.source_text import SourceText
from citewell.draft.tex_brackets import BLANK_LINE, Brackets, environments
from citewell.draft.tex_expand import expand
from citewell.papers import Draft
from citewell.sources.latex import to_text
from citewell.text.accents import LETTER_ACCENTS

_TOKEN = re.compile(
    r"""\\(?P<word>[A-Za-z@]+)(?P<star>\*?)
      | \\(?P<accent>["'`^~=.](?:\s*\{\s*(?:\\[ij]|[^\W\d_])\s*\}|\s*(?:\\[ij](?![A-Za-z])|[^\W\d_])))
      | \\(?P<symbol>.)
      | (?P<paragraph>\n[ \t\r]*\n\s*)
      | (?P<text>(?:[^\\${}~&`'\-\n]|-(?!-)|'(?!')|`(?!`)|\n(?![ \t\r]*\n))+)
      | (?P<sign>---?|``|''|~)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_LETTER_ACCENTS = re.compile(f"[{LETTER_ACCENTS}]")
_ACCENTED = re.compile(r"\s*\{?\s*(?:\\[ij](?![A-Za-z])|[^\W\d_])\s*\}?")
_KEY = re.compile(r"[^,\s](?:[^,]*[^,\s])?")
_NOT_KEYS = re.compile(r"[\\{}$]|\n\s*\n")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}\\\n]{1,60})\}")
_CITATION = re.compile(r"\\[A-Za-z]*[Cc]ite[A-Za-z]*\*?\s*(?:\[[^\]]*\]\s*)*\{([^{}]*)\}")
_CITATION_INSIDE = re.compile(r"\\[A-Za-z]*[Cc]ite")
_BEGIN_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
_SIGNS = {"---": "—", "--": "–", "``": "“", "''": "”", "~": " "}
_SYMBOLS = {"\\": " ", ",": " ", ";": " ", ":": " ", "-": "", "/": "", "@": "", "!": "", "(": "", ")": ""}
_LONGEST_GAP = 60
_LONGEST_END = 200
_STOP = re.compile(
    r"(?P<stop>\.)(?:[\s~}]|\\[,;!\\ ]|\\(?:label|tag)\*?\{[^{}]*\}|\\(?:nonumber|notag|quad|qquad)(?![A-Za-z])"
    r"|\\end\{(?:split|aligned|cases|array|gathered)\})*$"
)
_LATEX = re.compile(
    r"\\(?:documentclass|usepackage|maketitle|begin\s*\{|end\s*\{|(?:sub)*section\*?\s*\{|chapter\*?\s*\{"
    r"|[A-Za-z]*cite[a-z]*\*?\s*[\[{]|input\s*\{)"
)


def looks_like(text: str) -> bool:
    """Whether a text is LaTeX."""
    return bool(_LATEX.search(text))


def read(text: str, folder: Folder) -> Draft:
    """The draft that a LaTeX document is, with what `folder` holds of it."""
    source = expand(text, folder, tex_commands.is_known)
    reader = _Reader(source)
    reader.walk()
    draft = reader.builder.build()
    read_bibliography(draft, reader.resources, folder)
    if not draft.bibliography and (formatted := folder.formatted()) is not None:
        draft.sources[formatted[0]] = formatted[1]
        tex_front.take_items(draft, SourceText.of(formatted[1], formatted[0]), 0, len(formatted[1]))
    return draft


@dataclass(slots=True)
class _Frame:
    """A stretch of the text that is read into a block of its own."""

    end: int
    outer: Block
    done: Callable[[Block], object]


class _Reader:
    """Walks along a source. Every step is forward, and nothing recurses."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.text = source.text
        self.builder = DraftBuilder(source, Draft(format="latex"))
        self.resources: list[str] = []
        self._brackets = Brackets(source.text)
        self._environments = environments(source.text)
        self._blank_lines = [found.start() for found in BLANK_LINE.finditer(source.text)]
        self._citations = [found.start() for found in _CITATION_INSIDE.finditer(source.text)]
        self._frames: list[_Frame] = []
        self._passed: set[int] = set()
        self._abstract: list[str] = []
        self._heading = ""
        self._file = source.files[0] if len(source.files) else 0

    def walk(self) -> None:
        """Read all of it."""
        text, at = self.text, 0
        begin = _BEGIN_DOCUMENT.search(text)
        if begin:
            self._preamble(begin.start())
            at = begin.end()
        while at < len(text) or self._frames:
            while self._frames and at >= self._frames[-1].end:
                self._leave()
            if at >= len(text):
                continue
            found = _TOKEN.match(text, at)
            assert found is not None, "the last alternative takes any character"
            at = max(self._step(found), found.end())
        draft = self.builder.draft
        draft.title = draft.title or self._heading
        draft.abstract = " ".join(self._abstract)

    # -- one token ----------------------------------------------------------------------------------------------------

    def _step(self, found: re.Match[str]) -> int:
        """Take one token; where to go on."""
        begin, end = found.span()
        block = self.builder.block
        match found.lastgroup:
            case "word" | "star":
                return self._word(found["word"], begin, end)
            case "text":
                copy_with_gaps(block, self.source, begin, end)
            case "paragraph":
                self._close()
            case "sign":
                block.write(_SIGNS[found[0]], begin, end)
            case "accent":
                block.write(to_text(found[0]), begin, end)
            case "symbol":
                if found["symbol"] in "[(":
                    return self._formula(begin, end, "\\]" if found["symbol"] == "[" else "\\)")
                block.write(_SYMBOLS.get(found["symbol"], found["symbol"]), begin, end)
            case _:
                if found[0] == "$" and begin in self._passed:
                    return end
                if found[0] == "$":
                    double = self.text.startswith("$$", begin)
                    return self._formula(begin, end + double, "$$" if double else "$")
                if found[0] not in "{}":
                    block.write(" " if found[0] == "&" else found[0], begin, end)
        return end

    def _word(self, name: str, begin: int, end: int) -> int:
        known = tex_commands
        if known.is_gap(name):
            return self._gap(begin, end)
        if known.is_citation(name):
            return self._citation(name, begin, end)
        if known.is_note(name):
            return self._note(name, begin, end)
        if name in ("begin", "end"):
            return self._environment(begin, end)
        if name in known.HEADINGS or name in known.RUN_IN:
            self._close()
            return self._enter(
                self._brackets.options(end), self._headed if name in known.HEADINGS else self._quietly, citations_only=True
            )
        if name in known.ASIDE:
            return self._enter(
                self._brackets.arguments(end, 1) if name == "captionof" else self._brackets.options(end), self.builder.add
            )
        if name == "title":
            return self._enter(self._brackets.options(end), self._titled, citations_only=True)
        if name == "author":
            return self._authors(end)
        if name == "abstract":
            return self._enter(self._brackets.options(end), self._abstracted, citations_only=True)
        if name == "nocite":
            self.builder.draft.listed += _keys_of(self._brackets.inside(end))
        if name in ("bibliography", "addbibresource", "addglobalbib", "addsectionbib"):
            self.resources += _keys_of(self._brackets.inside(self._brackets.options(end)))
        if name in known.BREAKS:
            self._close()
            return self._past(end, self._brackets.options(end))
        if known.THANKS.fullmatch(name):
            self._thanks()
            return end
        if name in known.SECOND:
            return self._brackets.arguments(end, 2 if name in ("multicolumn", "resizebox") else 1)
        if name in known.SKIPPED or name == "nocite":
            return self._skip(name, end, self._brackets.arguments(end, known.SKIPPED.get(name, 1)))
        return self._unknown(name, begin, end)

    def _skip(self, name: str, at: int, end: int) -> int:
        """Pass over what a command says to nobody, but for the citations in it."""
        cited = self._cites_between(at, end)
        if name in tex_commands.RAISED and (cited or GAP.search(self.text, at, min(end, at + _LONGEST_GAP))):
            return at
        return self._read_apart(at, end, self._quietly, citations_only=True) if cited else end

    def _past(self, at: int, end: int) -> int:
        """Behind the options between `at` and `end`; where a citation is in them they are read as text."""
        return at if self._cites_between(at, end) else end

    def _cites_between(self, begin: int, end: int) -> bool:
        return bisect_left(self._citations, begin) < bisect_left(self._citations, end)

    def _unknown(self, name: str, begin: int, end: int) -> int:
        """A letter, a sign, or a command that nobody knows, whose arguments are read as text."""
        if _LETTER_ACCENTS.fullmatch(name) and (accented := _ACCENTED.match(self.text, end)):
            self.builder.block.write(to_text(self.text[begin : accented.end()]), begin, accented.end())
            return accented.end()
        if said := to_text(f"\\{name}"):
            self.builder.block.write(said, begin, end)
            return end
        return self._past(end, self._brackets.options(end)) if self.text.startswith("[", end) else end

    # -- citations and gaps -------------------------------------------------------------------------------------------

    def _citation(self, name: str, begin: int, end: int) -> int:
        """A citation command with its options, its keys, and for ``\\cites`` and the like several of both."""
        several = name.endswith("cites")
        at = self._brackets.arguments(end, 1) if "volcite" in name else end
        groups: list[tuple[int, int]] = []
        while True:
            behind = self._brackets.options(at, cited=True)
            close = self._brackets.braces.get(behind, -1)
            if close < 0 or (groups and not several) or _NOT_KEYS.search(self.text, behind + 1, close):
                break
            groups.append((behind + 1, close))
            at = close + 1
        if not groups:
            return end
        found = [(match.span(), match[0]) for group in groups for match in _KEY.finditer(self.text, *group)]
        keys = [key for _, key in found if is_key(key)]
        block = self.builder.block
        note = "" if keys else placeholder_note(" ".join(key for _, key in found))
        block.mark(begin, at, keys, note, tex_commands.is_textual(name))
        if keys:
            for place, key in found:
                if not is_key(key):  # a gap beside keys, as in \cite{one, ?}
                    block.mark(*place, [])
        return at

    def _gap(self, begin: int, end: int) -> int:
        """A command that says by its name that a citation is missing, and may say in its argument which."""
        behind = self._brackets.options(end) if self.text.startswith("[", end) else end
        close = self._brackets.braces.get(behind, -1)
        note = _said(self.text[behind + 1 : close]) if close > 0 else ""
        end = close + 1 if close > 0 else end
        self.builder.block.mark(begin, end, [], note)
        return end

    def _note(self, name: str, begin: int, end: int) -> int:
        """What the author wrote to themselves: a gap if it asks for a citation, nothing otherwise."""
        behind = self._brackets.options(end)
        close = self._brackets.braces.get(behind, -1)
        if close < 0:
            return end
        cited = self._cites_between(behind, close)
        if cited and name in tex_commands.MARGIN:
            return self._enter(behind, self.builder.add)
        note = _said(self.text[behind + 1 : close])
        if asks_for_citation(note) or cited:
            self.builder.block.mark(begin, close + 1, [], note)
        return close + 1

    # -- stretches that are read apart --------------------------------------------------------------------------------

    def _enter(self, at: int, done: Callable[[Block], object], citations_only: bool = False) -> int:
        """Read the argument that begins at `at` into a block of its own, which `done` gets at its end."""
        close = self._brackets.braces.get(at, -1)
        if close < 0:
            return at
        return self._read_apart(at + 1, close, done, citations_only)

    def _read_apart(self, at: int, end: int, done: Callable[[Block], object], citations_only: bool) -> int:
        self._frames.append(_Frame(end, self.builder.block, done))
        self.builder.block = Block(citations_only=citations_only)
        return at

    def _leave(self) -> None:
        frame = self._frames.pop()
        block, self.builder.block = self.builder.block, frame.outer
        frame.done(block)

    def _quietly(self, block: Block) -> None:
        self.builder.add_citations(block)

    def _headed(self, block: Block) -> None:
        self.builder.section = without_marks(block.readable()) or self.builder.section  # \ackname and the like say nothing here
        self._heading = self._heading or self.builder.section
        self._quietly(block)

    def _titled(self, block: Block) -> None:
        self.builder.draft.title = self.builder.draft.title or without_marks(block.readable())
        self._quietly(block)

    def _abstracted(self, block: Block) -> None:
        if said := without_marks(block.readable()):
            self._abstract.append(said)
        self._quietly(block)

    def _thanks(self) -> None:
        self._close()
        self.builder.section = "Acknowledgements"

    def _close(self) -> None:
        """End a paragraph; in a stretch that is read apart only where that is running text."""
        if not self._frames or not self.builder.block.citations_only:
            self.builder.end_paragraph()
        else:
            self.builder.block.write(" ", 0, 0)

    def _environment(self, begin: int, end: int) -> int:
        found = _ENVIRONMENT.match(self.text, begin)
        if not found:
            return end
        full, name = found[2], found[2].rstrip("*")
        apart = name in tex_commands.QUIET or name in tex_commands.MATH
        if found[1] == "end" or begin not in self._environments:
            if not apart:
                self._close()
            return found.end()
        close = self._environments[begin]
        at = found.end()
        if full != "document":
            at = self._past(at, self._brackets.arguments(at, tex_commands.ARGUMENTS.get(name, 0)))
        if tex_commands.THANKS.fullmatch(name):
            self._thanks()
            return at
        if name in tex_commands.UNREAD:
            if name == "thebibliography":
                tex_front.take_items(self.builder.draft, self.source, at, close)
            return close
        if name == "abstract":
            self._close()
            return self._read_apart(at, close, self._abstracted, citations_only=True)
        if apart:
            if name in tex_commands.MATH:
                self._stop(at, close)
            return self._read_apart(min(at, close), close, self._quietly, citations_only=True)
        self._close()
        return at

    def _formula(self, begin: int, end: int, closing: str) -> int:
        """Mathematics: a short formula in a line is read, a displayed one is not; a sign that nothing closes is a sign."""
        limit = self._frames[-1].end if self._frames else len(self.text)
        at = bisect_left(self._blank_lines, end)
        if at < len(self._blank_lines):
            limit = min(limit, self._blank_lines[at])
        close = end
        while True:
            close = self.text.find(closing, close, limit)
            if close < 0:
                if closing in "$$":
                    self.builder.block.write("$", begin, end)
                return end
            if self.text[close - 1] != "\\" or closing[0] == "\\":
                break
            close += 1
        inside = self.text[end:close]
        if _CITATION_INSIDE.search(inside):
            if closing in ("$$", "\\]"):
                return self._read_apart(end, close, self._quietly, citations_only=True)
            self._passed.add(close)  # a citation set high, as in $^{\cite{a}}$, is read as text
            return end + len(inside) - len(inside.lstrip(" ^"))
        if closing in ("$", "\\)"):
            self.builder.block.write(to_text(inside), begin, close + len(closing))
        else:
            self._stop(end, close)
        return close + len(closing)

    def _stop(self, begin: int, end: int) -> None:
        """A sentence that ends in a displayed formula ends there: its full stop stands in the formula."""
        found = _STOP.search(self.text, max(begin, end - _LONGEST_END), end)
        if found and not self.builder.block.citations_only and self.builder.block.size:
            self.builder.block.write(".", *found.span("stop"))

    # -- front matter -------------------------------------------------------------------------------------------------

    def _preamble(self, end: int) -> None:
        """The title, the authors and the bibliography, which may stand before the document begins."""
        for found in tex_front.COMMAND.finditer(self.text, 0, end):
            name = found[1]
            if name == "author":
                self._authors(found.end())
            elif name == "title":
                at = self._brackets.options(found.end())
                if (close := self._brackets.braces.get(at, -1)) > 0:
                    self.builder.draft.title = self.builder.draft.title or tex_front.said(self.text[at + 1 : close])
            elif name == "abstract":
                self._abstract += filter(None, [tex_front.said(self._brackets.inside(self._brackets.options(found.end())))])
            else:
                self.resources += _keys_of(self._brackets.inside(self._brackets.options(found.end())))

    def _authors(self, at: int) -> int:
        at = self._brackets.options(at)
        close = self._brackets.braces.get(at, -1)
        if close < 0:
            return at
        self.builder.draft.authors += tex_front.people(self.text[at + 1 : close])
        return close + 1


def _keys_of(inside: str) -> Sequence[str]:
    return [found[0] for found in _KEY.finditer(inside)]


def _said(inside: str) -> str:
    """What a note says, its citations by their keys."""
    return to_text(_CITATION.sub(r"[\1]", inside))
