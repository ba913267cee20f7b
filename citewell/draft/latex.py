"""Reads LaTeX.

`tex_expand` makes one text of the document, its files and its macros. This module walks through that text once, command by
command: readable text goes into paragraphs, citations and gaps are marked, and what is not running text (mathematics, tables,
verbatim text) is left out, apart from captions and citations. Broken LaTeX is read as far as possible: an unmatched brace is
skipped, and an environment without an end is ignored.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citewell.draft import markdown, tex_commands, tex_front
from citewell.draft import tex_tokens as tokens
from citewell.draft.bibliography import read_bibliography
from citewell.draft.builder import Block, DraftBuilder, without_marks
from citewell.draft.files import DraftSource
from citewell.draft.gaps import GAP, asks_for_citation, is_key, placeholder_note
from citewell.draft.plain import copy_with_gaps
from citewell.draft.sections import (
    continues_abstract,
    is_abstract,
    is_abstract_command,
    is_title,
    is_uncited_section,
    part_begun,
    part_of_command,
)
from citewell.draft.source_text import SourceText
from citewell.draft.tex_acronyms import AcronymUses, read_acronyms
from citewell.draft.tex_brackets import BLANK_LINE, Brackets, environments
from citewell.draft.tex_expand import expand
from citewell.papers import Draft
from citewell.sources.latex import to_text

_KEY = re.compile(r"[^,\s](?:[^,]*[^,\s])?")
_CITED_KEY = re.compile(r"(?:\*?(?:\[[^\[\]]{0,300}\]){1,2}|\*(?=\w))?([^,\s](?:[^,]*[^,\s])?)")
"""A key, which REVTeX allows notes in front of: ``*[see][and others]key``."""
_LENGTH = re.compile(
    r"[ \t]*=?[ \t]*[+-]?[ \t]*(?:\d+\.?\d*|\.\d+)?[ \t]*(?:pt|pc|in|bp|cm|mm|dd|cc|sp|ex|em|mu|\\[A-Za-z@]+)[ \t]?"
)
_NOT_KEYS = re.compile(r"[\\{}$]|\n\s*\n")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}\\\n]{1,60})\}")
_CITATION = re.compile(r"\\(?=[A-Za-z]*?[Cc]ite)[A-Za-z]++\*?\s*+(?:\[[^\[\]]{0,600}\]\s*+)*+\{([^{}]*)\}")
_CITATION_INSIDE = re.compile(r"\\(?:[A-Za-z]*(?:[Cc]ite|cquote)|bibentry)")
_BEGIN_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
_FIRST_HEADING = re.compile(r"\\(?:part|chapter|section|subsection|addchap|addsec)\*?\s*[\[{]|\\begin\s*\{abstract\}")
_FORMULA_ENDS = {
    "$": re.compile(r"(?<!\\)\$"),
    "$$": re.compile(r"(?<!\\)\$(?=\$)"),
    "\\]": re.compile(r"\\\]"),
    "\\)": re.compile(r"\\\)"),
}
_RAISED = re.compile(r"[ ^]*")
_MAX_GAP = 60
_MAX_LABEL = 200
"""The longest label of an acronym."""
_MAX_HIDDEN_WORDS = 40
"""A longer text in a macro that prints nothing is hidden text, not a note."""
_MAX_FORMULA_END = 200
_FORMULA_END = re.compile(
    r"(?P<stop>\.)(?:[\s~}]|\\[,;!\\ ]|\\(?:label|tag)\*?\{[^{}]*\}|\\(?:nonumber|notag|quad|qquad)(?![A-Za-z])"
    r"|\\end\{(?:split|aligned|cases|array|gathered)\})*$"
)
_LATEX = re.compile(
    r"\\(?:documentclass|usepackage|maketitle|begin\s*\{|end\s*\{|(?:sub)*section\*?\s*\{|chapter\*?\s*\{"
    r"|(?=[A-Za-z]*?cite)[A-Za-z]++\*?\s*+[\[{]|input\s*\{)"
)


PRIORITY = 30
SUFFIXES = (".tex", ".ltx", ".latex")


def matches(source: DraftSource) -> bool:
    """Whether a manuscript is LaTeX: by its suffix, or by its commands unless it is a Markdown file, which may contain some."""
    return source.suffix in SUFFIXES or (source.suffix not in markdown.SUFFIXES and bool(_LATEX.search(source.text)))


def read(source: DraftSource) -> Draft:
    """The draft in a LaTeX document, with the files that it includes and its bibliography."""
    folder = source.folder
    expansion = expand(source.text, folder, tex_commands.is_known)
    reader = _Reader(expansion.source, expansion.title)
    reader.walk()
    draft = reader.builder.build()
    read_bibliography(draft, [*reader.resources, *expansion.resources], folder)
    if not draft.bibliography and (formatted := folder.formatted_bibliography()) is not None:
        draft.sources[formatted[0]] = formatted[1]
        tex_front.read_items(draft, SourceText.of(formatted[1], formatted[0]), 0, len(formatted[1]))
    return draft


@dataclass(slots=True)
class _Frame:
    """A span of the text that is read into a separate block."""

    end: int
    outer: Block
    """The block that continues after the span."""
    done: Callable[[Block], object]
    """What to do with the finished block."""


class _Reader:
    """Walks through the source text, always forward and without recursion."""

    def __init__(self, source: SourceText, title: str = "") -> None:
        """`title` is what the preamble defines as a title, for a document without ``\\title``."""
        self.source = source
        self.text = source.text
        self.builder = DraftBuilder(source, Draft(format="latex"))
        self.resources: list[str] = []
        self._brackets = Brackets(source.text)
        self._environments = environments(source.text)
        self._blank_lines = [match.start() for match in BLANK_LINE.finditer(source.text)]
        self._citations = [match.start() for match in _CITATION_INSIDE.finditer(source.text)]
        self._frames: list[_Frame] = []
        self._skipped_dollars: set[int] = set()
        self._formula_ends: dict[str, list[int]] = {}
        self._abstract: list[str] = []
        self._title_macro = title
        self._first_heading: str | None = None
        self._in_abstract = self._in_body = False
        self._abstract_level = 0
        self._acronyms = AcronymUses(read_acronyms(source.text, self._brackets))
        self._token = tokens.TOKEN
        self._file = source.files[0] if len(source.files) else 0

    def walk(self) -> None:
        """Read the whole text."""
        text, at = self.text, 0
        begin = _BEGIN_DOCUMENT.search(text)
        if begin:
            if tokens.GERMAN.search(text, 0, begin.start()):
                self._token = tokens.GERMAN_TOKEN
            self._preamble(begin.start())
            at = begin.end()
        body = at
        while at < len(text) or self._frames:
            while self._frames and at >= self._frames[-1].end:
                self._leave()
            if at >= len(text):
                continue
            token = self._token.match(text, at)
            assert token is not None, "the last alternative matches any character"
            at = max(self._step(token), token.end())
        self._close()
        draft = self.builder.draft
        draft.title = draft.title or self._other_title(body)
        draft.abstract = " ".join(self._abstract)

    # -- one token ----------------------------------------------------------------------------------------------------

    def _step(self, token: re.Match[str]) -> int:
        """Process one token; returns the offset to continue at."""
        begin, end = token.span()
        block = self.builder.block
        match token.lastgroup:
            case "word" | "star":
                return self._word(token["word"], begin, end)
            case "text":
                copy_with_gaps(block, self.source, begin, end)
            case "paragraph":
                self._close()
            case "sign":
                block.write(tokens.SIGNS[token[0]], begin, end)
            case "shorthand":
                block.write(tokens.SHORTHANDS[token[0][1]], begin, end)
            case "accent":
                block.write(to_text(token[0]), begin, end)
            case "symbol":
                if token["symbol"] in "[(":
                    return self._formula(begin, end, "\\]" if token["symbol"] == "[" else "\\)")
                block.write(tokens.SYMBOLS.get(token["symbol"], token["symbol"]), begin, end)
            case _:
                if token[0] == "$" and begin in self._skipped_dollars:
                    return end
                if token[0] == "$":
                    double = self.text.startswith("$$", begin)
                    return self._formula(begin, end + double, "$$" if double else "$")
                if token[0] not in "{}":
                    block.write(" " if token[0] == "&" else token[0], begin, end)
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
                self._brackets.options(end),
                (lambda block: self._end_heading(block, name)) if name in known.HEADINGS else self._add_citations,
                citations_only=True,
            )
        if name in known.SEPARATE:
            return self._enter(
                self._brackets.arguments(end, 1) if name == "captionof" else self._brackets.options(end), self.builder.add
            )
        if name == "title":
            return self._enter(self._brackets.options(end), self._end_title, citations_only=True)
        if name == "author":
            return self._authors(end)
        if name == "abstract" or (self._announces_abstract(name) and self._is_argument(end)):
            return self._enter(self._brackets.options(end), self._end_abstract, citations_only=True)
        if name in ("nocite", "bstctlcite"):  # the latter gives options of IEEEtran
            self.builder.draft.listed += _keys_of(self._brackets.inside(end))
        if name in ("bibliography", "addbibresource", "addglobalbib", "addsectionbib"):
            self.resources += _keys_of(self._brackets.inside(self._brackets.options(end)))
        if name in known.BREAKS:
            self._close()
            self._in_abstract = self._in_abstract and not name.endswith("page")
            return self._skip_options(end, self._brackets.options(end))
        if known.ACKNOWLEDGEMENTS.fullmatch(name):
            self._begin_acknowledgements()
            return end
        if name in known.LOGOS:
            self.builder.block.write(known.LOGOS[name], begin, end)
            return end
        if name in known.LENGTHS:
            length = _LENGTH.match(self.text, end)
            return length.end() if length else end
        if name in known.LAST_ARGUMENT:
            return self._brackets.arguments(end, 2 if name in ("multicolumn", "resizebox") else 1)
        if self._in_abstract and name in ("tableofcontents", "mainmatter"):
            self._close()
            self._in_abstract = False
        if name in known.SKIPPED or name == "nocite":
            return self._skip(name, end, self._brackets.arguments(end, known.SKIPPED.get(name, 1)))
        return self._unknown(name, begin, end)

    def _skip(self, name: str, at: int, end: int) -> int:
        """Skip a command that prints no running text, apart from the citations in it."""
        cited = self._has_citation(at, end)
        if name in tex_commands.RAISED and (cited or GAP.search(self.text, at, min(end, at + _MAX_GAP))):
            return at
        return self._read_separately(at, end, self._add_citations, citations_only=True) if cited else end

    def _skip_options(self, at: int, end: int) -> int:
        """Skip the options between `at` and `end`, unless they contain a citation: then they are read as text."""
        return at if self._has_citation(at, end) else end

    def _has_citation(self, begin: int, end: int) -> bool:
        return bisect_left(self._citations, begin) < bisect_left(self._citations, end)

    def _unknown(self, name: str, begin: int, end: int) -> int:
        """A letter, a symbol, an acronym, or an unknown command, whose arguments are read as text."""
        if self._acronyms.is_use(name):
            opening = self._brackets.options(end)
            close = self._brackets.braces.get(opening, -1)
            if opening < close <= opening + _MAX_LABEL and (
                printed := self._acronyms.printed(name, self.text[opening + 1 : close])
            ):
                self.builder.block.write(printed, begin, close + 1)
                return close + 1
        if part_of_command(name) and self._is_argument(end):
            section = self.builder.section
            self._close()
            self.builder.section = name
            return self._enter(self._brackets.options(end), lambda block: self._end_part(block, section))
        if tokens.ACCENT_NAME.fullmatch(name) and (accented := tokens.ACCENTED.match(self.text, end)):
            self.builder.block.write(to_text(self.text[begin : accented.end()]), begin, accented.end())
            return accented.end()
        if symbol := to_text(f"\\{name}"):
            self.builder.block.write(symbol, begin, end)
            return end
        return self._skip_options(end, self._brackets.options(end)) if self.text.startswith("[", end) else end

    # -- citations and gaps -------------------------------------------------------------------------------------------

    def _citation(self, name: str, begin: int, end: int) -> int:
        """A citation command with options and keys; ``\\cites`` and similar commands have several of both."""
        several = name.endswith("cites")
        is_foreign = name.startswith(("foreign", "hyphen")) and "cquote" in name
        at = self._brackets.arguments(end, 1) if "volcite" in name or is_foreign else end
        groups: list[tuple[int, int]] = []
        while True:
            opening = self._brackets.options(at, cited=True)
            close = self._brackets.braces.get(opening, -1)
            if close < 0 or (groups and not several) or _NOT_KEYS.search(self.text, opening + 1, close):
                break
            groups.append((opening + 1, close))
            at = close + 1
        if not groups:
            return end
        names = [(match.span(1), match[1]) for group in groups for match in _CITED_KEY.finditer(self.text, *group)]
        keys = [name for _, name in names if is_key(name)]
        block = self.builder.block
        note = "" if keys else placeholder_note(" ".join(name for _, name in names))
        block.mark(begin, at, keys, note, tex_commands.is_textual(name))
        if keys:
            for span, name in names:
                if not is_key(name):  # a gap next to keys, as in \cite{one, ?}
                    block.mark(*span, [])
        return at

    def _gap(self, begin: int, end: int) -> int:
        """A command whose name says that a citation is missing; its argument may say which."""
        opening = self._brackets.options(end) if self.text.startswith("[", end) else end
        close = self._brackets.braces.get(opening, -1)
        note = _note_text(self.text[opening + 1 : close]) if close > 0 else ""
        end = close + 1 if close > 0 else end
        self.builder.block.mark(begin, end, [], note)
        return end

    def _note(self, name: str, begin: int, end: int) -> int:
        """A note of the authors to themselves: a gap if it asks for a citation, else nothing."""
        opening = self._brackets.options(end)
        close = self._brackets.braces.get(opening, -1)
        if close < 0:
            return end
        cited = self._has_citation(opening, close)
        if cited and name in tex_commands.MARGIN:
            return self._enter(opening, self.builder.add)
        note = _note_text(self.text[opening + 1 : close])
        if name == "hiddennote" and (cited or len(note.split()) > _MAX_HIDDEN_WORDS):
            return close + 1
        if asks_for_citation(note) or cited:
            self.builder.block.mark(begin, close + 1, [], note)
        return close + 1

    # -- spans that are read separately -------------------------------------------------------------------------------

    def _enter(self, at: int, done: Callable[[Block], object], citations_only: bool = False) -> int:
        """Read the argument that begins at `at` into a separate block, which is passed to `done` at its end."""
        close = self._brackets.braces.get(at, -1)
        if close < 0:
            return at
        return self._read_separately(at + 1, close, done, citations_only)

    def _read_separately(self, at: int, end: int, done: Callable[[Block], object], citations_only: bool) -> int:
        self._frames.append(_Frame(end, self.builder.block, done))
        self.builder.block = Block(citations_only=citations_only)
        return at

    def _leave(self) -> None:
        frame = self._frames.pop()
        block, self.builder.block = self.builder.block, frame.outer
        frame.done(block)

    def _add_citations(self, block: Block) -> None:
        self.builder.add_citations(block)

    def _end_heading(self, block: Block, name: str) -> None:
        heading = without_marks(block.readable())
        level = tex_commands.LEVELS.get(name, 0)
        if (
            self._in_abstract and level > self._abstract_level and continues_abstract(heading)
        ):  # a part of a structured abstract
            self._add_citations(block)
            return
        self._abstract_level = level
        self.builder.section = heading or self.builder.section  # \ackname and similar macros have no text here
        # "Zusammenfassung" is the abstract at the beginning, and a conclusion at the end.
        self._in_abstract = not self._in_body and is_abstract(heading)
        if heading and not self._in_abstract and not is_uncited_section(heading):
            self._in_body = True
            if self._first_heading is None:
                self._first_heading = heading
        self._add_citations(block)

    def _end_part(self, block: Block, section: str) -> None:
        """End the argument of a command such as ``\\funding``; `section` is what it is in."""
        self.builder.add(block)
        self.builder.section = section

    def _end_title(self, block: Block) -> None:
        self.builder.draft.title = self.builder.draft.title or without_marks(block.readable())
        self._add_citations(block)

    def _end_abstract(self, block: Block) -> None:
        text = without_marks(block.readable())
        if text and part_begun(text) != "lists":  # keywords
            self._abstract.append(text)
        self._add_citations(block)

    def _begin_acknowledgements(self) -> None:
        self._close()
        self.builder.section = "Acknowledgements"

    def _close(self) -> None:
        """End a paragraph; inside a separate span only where that is running text."""
        if not self._frames and self._in_abstract:
            block, self.builder.block = self.builder.block, Block()
            self._end_abstract(block)
        elif not self._frames or not self.builder.block.citations_only:
            self.builder.end_paragraph()
        else:
            self.builder.block.write(" ", 0, 0)

    def _environment(self, begin: int, end: int) -> int:
        match = _ENVIRONMENT.match(self.text, begin)
        if not match:
            return end
        full_name, name = match[2], match[2].rstrip("*")
        separate = name in tex_commands.NO_TEXT or name in tex_commands.MATH
        if match[1] == "end" or begin not in self._environments:
            if not separate:
                self._close()
            return match.end()
        close = self._environments[begin]
        at = match.end()
        if name.endswith("cquote"):
            self._close()
            return self._citation(name, begin, at)
        if full_name != "document":
            at = self._skip_options(at, self._brackets.arguments(at, tex_commands.ARGUMENTS.get(name, 0)))
        if tex_commands.ACKNOWLEDGEMENTS.fullmatch(name):
            self._begin_acknowledgements()
            return at
        if part_of_command(name) and name not in tex_commands.UNREAD:
            section = self.builder.section
            self._close()
            self.builder.section = name
            return self._read_separately(at, close, lambda block: self._end_part(block, section), citations_only=False)
        if name in tex_commands.UNREAD:
            if name == "thebibliography":
                tex_front.read_items(self.builder.draft, self.source, at, close)
            return close
        if name == "abstract" or self._announces_abstract(name):
            self._close()
            return self._read_separately(at, close, self._end_abstract, citations_only=True)
        if separate:
            if name in tex_commands.MATH:
                self._end_sentence(at, close)
            return self._read_separately(min(at, close), close, self._add_citations, citations_only=True)
        self._close()
        return at

    def _formula(self, begin: int, end: int, closing: str) -> int:
        """Mathematics: an inline formula is read, a displayed one is not; an unmatched dollar sign is text."""
        limit = self._frames[-1].end if self._frames else len(self.text)
        at = bisect_left(self._blank_lines, end)
        if at < len(self._blank_lines):
            limit = min(limit, self._blank_lines[at])
        close = self._formula_end(closing, end, limit)
        if close < 0:
            if closing in "$$":
                self.builder.block.write("$", begin, end)
            return end
        if self._has_citation(end, close):
            if closing in ("$$", "\\]"):
                return self._read_separately(end, close, self._add_citations, citations_only=True)
            self._skipped_dollars.add(close)  # a superscript citation, as in $^{\cite{a}}$, is read as text
            raised = _RAISED.match(self.text, end, close)
            return raised.end() if raised else end
        if closing in ("$", "\\)"):
            self.builder.block.write(to_text(self.text[end:close]), begin, close + len(closing))
        else:
            self._end_sentence(end, close)
        return close + len(closing)

    def _formula_end(self, closing: str, begin: int, limit: int) -> int:
        """The offset of the sign that closes a formula; -1 where there is none before `limit`."""
        if closing not in self._formula_ends:
            self._formula_ends[closing] = [match.start() for match in _FORMULA_ENDS[closing].finditer(self.text)]
        ends = self._formula_ends[closing]
        at = bisect_left(ends, begin)
        return ends[at] if at < len(ends) and ends[at] + len(closing) <= limit else -1

    def _end_sentence(self, begin: int, end: int) -> None:
        """End the sentence where a displayed formula ends with a full stop."""
        match = _FORMULA_END.search(self.text, max(begin, end - _MAX_FORMULA_END), end)
        if match and not self.builder.block.citations_only and self.builder.block.size:
            self.builder.block.write(".", *match.span("stop"))

    # -- front matter -------------------------------------------------------------------------------------------------

    def _preamble(self, end: int) -> None:
        """Title, authors and bibliography, which may come before ``\\begin{document}``."""
        for command in tex_front.COMMAND.finditer(self.text, 0, end):
            name = command[1]
            if name == "author":
                self._authors(command.end())
            elif name == "title":
                at = self._brackets.options(command.end())
                if (close := self._brackets.braces.get(at, -1)) > 0:
                    self.builder.draft.title = self.builder.draft.title or self._plain_text(self.text[at + 1 : close])
            elif name == "abstract":
                self._read_abstract(command.end())
            else:
                self.resources += _keys_of(self._brackets.inside(self._brackets.options(command.end())))

    def _read_abstract(self, at: int) -> None:
        """Read an abstract in the preamble, with its citations and gaps."""
        at = end = self._enter(self._brackets.options(at), self._end_abstract, citations_only=True)
        while self._frames:
            end = self._frames[-1].end
            if at >= end:
                self._leave()
                continue
            token = self._token.match(self.text, at)
            assert token is not None, "the last alternative matches any character"
            at = max(self._step(token), token.end())

    def _plain_text(self, inside: str) -> str:
        """The text of an argument of the front matter, with babel's shorthands where they are in force."""
        if self._token is tokens.GERMAN_TOKEN:
            inside = tokens.SHORTHAND.sub(lambda match: tokens.SHORTHANDS[match[1]], inside)
        return tex_front.plain_text(inside)

    def _other_title(self, begin: int) -> str:
        """The title of a document without ``\\title``: a macro, large letters, the title of the PDF, or the first heading."""
        if title := self._plain_text(self._title_macro):
            return title
        first = _FIRST_HEADING.search(self.text, begin)
        if title := self._plain_text(
            tex_front.named_title(self.text, self._brackets, first.start() if first else len(self.text))
        ):
            return title
        if title := tex_front.displayed_title(self.text, begin, first.start() if first else len(self.text)):
            return title
        if (pdf := tex_front.PDF_TITLE.search(self.text)) and (title := self._plain_text(self._brackets.inside(pdf.end()))):
            return title
        return self._first_heading if self._first_heading and is_title(self._first_heading) else ""

    def _announces_abstract(self, name: str) -> bool:
        """Whether a command or an environment is for the abstract; after the text, "resume" is the author's life."""
        return is_abstract_command(name) and not (self._in_body and self._abstract)

    def _is_argument(self, at: int) -> bool:
        """Whether an argument in braces begins at `at`, after options."""
        return self._brackets.braces.get(self._brackets.options(at), -1) > 0

    def _authors(self, at: int) -> int:
        at = self._brackets.options(at)
        close = self._brackets.braces.get(at, -1)
        if close < 0:
            return at
        self.builder.draft.authors += tex_front.people(self.text[at + 1 : close])
        return close + 1


def _keys_of(inside: str) -> Sequence[str]:
    return [match[0] for match in _KEY.finditer(inside)]


def _note_text(inside: str) -> str:
    """The text of a note; citations appear as their keys."""
    return to_text(_CITATION.sub(r"[\1]", inside))
