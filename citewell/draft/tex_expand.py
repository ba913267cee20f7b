"""Expands a LaTeX document: comments removed, included files inserted, the author's own macros expanded.

The result is one text in which each character knows the file and span it comes from. A character of a macro's body comes from
the whole call, a character of an argument from the place where the author wrote it. So a citation inside a macro has the call
as its place, and a citation in an argument its own place.

pylatexenc also parses LaTeX, but it expands no macros and includes no files, and one mistake costs it more than one place:
after a stray ``$`` or an ``\\end`` with the wrong name it loses all further citations, and a few hundred open braces end in
a RecursionError. Nothing here recurses except into files and macros, both up to a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from citewell.draft import tex_commands
from citewell.draft.files import Folder
from citewell.draft.gaps import asks_for_citation
from citewell.draft.source_text import MappedText, SourceText, concatenate

_MAX_DEPTH = 8
_MAX_GROWTH = 500_000
"""The most characters that macros may add; after that none is expanded."""
_STEP = 20
"""The cost of a macro call and of each inserted argument, in characters, in addition to their length."""

_HIDDEN = re.compile(
    r"(?P<verb>\\(?:verb|lstinline)\*?(?P<delimiter>[^A-Za-z0-9*\s{\[\\])(?P<inside>[^\n]{0,500}?)(?P=delimiter))"
    r"|(?P<typed>\\(?:lstinline|mintinline\s*(?:\[[^\]\n]{0,200}\]\s*)?\{[^{}\n]{0,50}\}|Verb)\*?(?:\[[^\]\n]{0,200}\])?"
    r"\{(?P<braced>(?:[^{}\n]|\{[^{}\n]{0,200}\}){0,500})\})"
    r"|(?P<env>\\begin\s*\{"
    r"(?P<name>verbatim\*?|Verbatim\*?|BVerbatim|lstlisting|minted|comment|filecontents\*?|alltt|code|sagesilent)\})"
    r"|(?P<address>\\(?:url|href|path|nolinkurl)\s*\{[^{}\n]*\})"
    r"|(?P<off>\\iffalse(?![A-Za-z@]))"
    r"|(?P<end>\\(?:endinput(?![A-Za-z@])|end\s*\{document\}))"
    r"|\\."
    r"|(?P<comment>%[^\n]*(?:\n(?![ \t\r]*\n)[ \t]*)?)",
    re.DOTALL,
)
_CONDITION = re.compile(r"\\(?P<begin>if(?!thenelse|f(?![a-z]))[A-Za-z@]*)|\\(?P<end>fi)(?![A-Za-z@])")
_BRACE = re.compile(r"\\.|([{}])", re.DOTALL)
_SPECIAL = re.compile(r"[\\%{}$&#~^_]")
_WORD = re.compile(r"\\(?:([A-Za-z@]+)|.)", re.DOTALL)
_DEFINES = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand|newrobustcmd|renewrobustcmd)\*?"
    r"\s*+\{?\s*+\\([A-Za-z@]+)\s*+\}?\s*+"
    r"(?:\[\s*+(\d)\s*+\]\s*+)?(?:\[([^\]\n]{0,500})\]\s*+)?(?=\{)"
)
_DEF = re.compile(r"\\[gex]?def\s*+\\([A-Za-z@]+)\s*+((?:#\d)*)\s*+(?=\{)")
_DOCUMENT_COMMAND = re.compile(
    r"\\(?:New|Renew|Provide|Declare)DocumentCommand\s*+\{?\s*+\\([A-Za-z@]+)\s*+\}?\s*+"
    r"\{\s*+([mosO\s]*(?:\{[^{}]*\}[mosO\s]*)*)\}\s*+(?=\{)"
)
_LET = re.compile(r"\\let\s*+\\([A-Za-z@]+)\s*+=?\s*+(\\[A-Za-z@]+)")
_INPUT = re.compile(
    r"\\(?:input|include|subfile|subfileinclude|loadglsentries)(?![A-Za-z@])\s*+(?:\{([^{}\n]{1,300})\}|([^\s{}\\%]{1,300}))"
)
_IMPORT = re.compile(r"\\(?:sub)?(?:import|includefrom|inputfrom)\s*+\{([^{}\n]{0,300})\}\s*+\{([^{}\n]{1,300})\}")
_PACKAGES = re.compile(
    r"\\(usepackage|RequirePackage(?:WithOptions)?|documentclass|LoadClass(?:WithOptions)?)\s*+"
    r"(?:\[[^\[\]]{0,2000}\]\s*+)?\{([^{}]{1,1000})\}"
)
_RESOURCE = re.compile(r"\\(?:addbibresource|addglobalbib|bibliography)\s*+(?:\[[^\[\]]{0,300}\]\s*+)?\{([^{}]{1,300})\}")
_PARAMETER = re.compile(r"##|#(\d)")
_CITATION = re.compile(r"\\([A-Za-z@]++)\*?\s*+(?:\[[^\[\]]{0,300}\]\s*+)*+\{([^{}]*)\}")
_COLOUR = re.compile(r"\\(?:text|page|f)?color(?:box)?\s*+(?:\[[^\[\]]{0,200}\])?\s*+\{[^{}]*\}")
_PLAINLY = re.compile(r"\\[A-Za-z@]+\*?\s*|\\.|[{}]")
_LABELLED = re.compile(r"[\[(<]?\s*([A-Z][\w .'-]{0,24}):\s*#1\s*[\])>]?")
"""The body of a macro for notes between co-authors, without colours: ``[JD: #1]``."""
_BRACKETED = re.compile(r"\[\s*#1\s*\]|<+\s*#1\s*>+")
"""The body of a macro for the author's own notes, without colours: ``[#1]``."""
_TITLE_MACRO = re.compile(
    r"(?:my|the|thesis|doc|document|paper|work|arbeit|diss)?(?:title|titel|titre|titulo|titolo|thema)(?:thesis|paper|work)?",
    re.IGNORECASE,
)
_BEGIN_DOCUMENT = re.compile(r"\\begin\s*\{document\}")


def braces(text: str) -> dict[int, int]:
    """For each opening brace, the offset of its closing brace; unmatched braces are absent."""
    pairs, unmatched = {}, []
    for match in _BRACE.finditer(text):
        if match[1] == "{":
            unmatched.append(match.start())
        elif match[1] and unmatched:
            pairs[unmatched.pop()] = match.start()
    return pairs


@dataclass(slots=True)
class _Macro:
    body: str
    optional: list[str | None]
    """The default of each optional argument; optional arguments come first."""
    mandatory: int


@dataclass(slots=True)
class _Expander:
    folder: Folder
    is_known: Callable[[str], bool]
    """Whether the reader's meaning of a command overrides its definition in the draft."""
    names: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    macros: dict[str, _Macro] = field(default_factory=dict)
    resources: list[str] = field(default_factory=list)
    """The bibliographies that classes and packages next to the draft name."""
    _packages: set[str] = field(default_factory=set)
    budget: int = _MAX_GROWTH
    """Characters that macros may still add."""

    def file(self, name: str, text: str, depth: int) -> MappedText:
        self.names.append(name)
        self.sources[name] = text
        piece = _without_hidden(MappedText.of(text, len(self.names) - 1))
        if depth and (begin := _BEGIN_DOCUMENT.search(piece.text)):
            self.expanded(piece.cut(0, begin.start()), depth)  # the preamble of a subfile: only its definitions count
            piece = piece.cut(begin.end(), len(piece.text))
        return self.expanded(piece, depth)

    def expanded(self, piece: MappedText, depth: int) -> MappedText:
        text, pairs = piece.text, braces(piece.text)
        done: list[MappedText] = []
        at = last = 0
        while command := _WORD.search(text, at):
            at = command.end()
            if not (name := command[1]):
                continue
            begin, end, replacement = command.start(), -1, None
            if (definition_end := self._defined(text, begin, pairs)) > 0:
                end = definition_end
            elif package := _PACKAGES.match(text, begin):
                self._load(package, depth)
            elif (
                name in ("input", "include", "subfile", "subfileinclude", "loadglsentries")
                or "import" in name
                or name.endswith("from")
            ):
                end, replacement = self._included(piece, begin, depth)
            elif name in self.macros:
                end, replacement = self._called(piece, command, pairs, depth)
            if end > 0:
                done.append(piece.cut(last, begin))
                if replacement is not None:
                    done.append(replacement)
                at = last = end
        done.append(piece.cut(last, len(text)))
        return concatenate(done)

    def _load(self, packages: re.Match[str], depth: int) -> None:
        """Read the classes and packages next to the draft: the bibliographies that they name and the macros they define."""
        suffix = ".cls" if packages[1].startswith(("documentclass", "LoadClass")) else ".sty"
        for name in packages[2].split(","):
            full_name = f"{name.strip()}{suffix}"
            if depth >= _MAX_DEPTH or full_name in self._packages:
                continue
            self._packages.add(full_name)
            text = _without_hidden(MappedText.of(self.folder.package(full_name), 0)).text
            pairs = braces(text)
            self.resources += [each.strip() for match in _RESOURCE.finditer(text) for each in match[1].split(",")]
            for command in _WORD.finditer(text):
                if further := _PACKAGES.match(text, command.start()):
                    self._load(further, depth + 1)
                elif command[1] and "@" not in command[1]:
                    self._defined(text, command.start(), pairs, of_package=True)

    def _defined(self, text: str, begin: int, pairs: dict[int, int], of_package: bool = False) -> int:
        """Store the macro that is defined here; returns the end of its definition, or -1 where there is none."""
        optional: list[str | None] = []
        if match := _DEFINES.match(text, begin):
            count = int(match[2] or 0)
            optional = [match[3]] if match[3] is not None else []
        elif match := _DEF.match(text, begin):
            count = len(match[2]) // 2
        elif match := _DOCUMENT_COMMAND.match(text, begin):
            kinds = re.findall(r"[mos]|O\s*\{([^{}]*)\}|O", match[2])
            letters = re.findall(r"[mosO]", re.sub(r"\{[^{}]*\}", "", match[2]))
            leading = next((at for at, letter in enumerate(letters) if letter == "m"), len(letters))
            if "s" in letters or any(letter != "m" for letter in letters[leading:]):
                return -1
            optional, count = list(kinds[:leading]), len(letters)
        elif (match := _LET.match(text, begin)) and not of_package:
            self._learn(match[1], _Macro(match[2], [], 0))
            return match.end()
        if not match or (close := pairs.get(match.end(), -1)) < 0:
            return -1
        body = text[match.end() + 1 : close]
        if not of_package or "@" not in match[1] + body:  # what a package does inside is not for readers
            self._learn(match[1], _Macro(body, optional, max(0, count - len(optional))))
        return close + 1

    def _learn(self, name: str, macro: _Macro) -> None:
        if label := _label(macro):
            macro = _Macro(r"\citationneeded{#1}" if asks_for_citation(label) else r"\todo{#1}", [], 1)
        elif macro.mandatory == 1 and not macro.optional and not macro.body.strip():
            macro = _Macro(r"\hiddennote{#1}", [], 1)  # notes that are switched off
        if not self.is_known(name) or _hides_keys(name, macro):
            self.macros[name] = macro

    def _included(self, piece: MappedText, begin: int, depth: int) -> tuple[int, MappedText | None]:
        """The file that is included here, as separate paragraphs."""
        if match := _INPUT.match(piece.text, begin):
            name = (match[1] or match[2]).strip().strip('"')
        elif match := _IMPORT.match(piece.text, begin):
            name = f"{match[1].strip().rstrip('/')}/{match[2].strip()}".lstrip("/") if match[1].strip() else match[2].strip()
        else:
            return -1, None
        if depth >= _MAX_DEPTH:
            return -1, None
        opened = self.folder.text(name, ".tex", ".ltx")
        if opened is None or opened[0] in (*self.sources, self.folder.main):
            return match.end(), piece.substitute(begin, match.end(), "\n\n")
        paragraph_break = piece.substitute(begin, match.end(), "\n\n")
        return match.end(), concatenate([paragraph_break, self.file(*opened, depth + 1), paragraph_break])

    def _called(
        self, piece: MappedText, match: re.Match[str], pairs: dict[int, int], depth: int
    ) -> tuple[int, MappedText | None]:
        """The expansion of a macro call; -1 and None where arguments are missing."""
        text, macro, begin, end = piece.text, self.macros[match[1]], match.start(), match.end()
        arguments: list[MappedText | str] = []
        for default in macro.optional:
            if text[end : end + 1] == "[" and (close := text.find("]", end, end + 1000)) > 0:
                arguments.append(piece.cut(end + 1, close))
                end = close + 1
            else:
                arguments.append(default or "")
        for _ in range(macro.mandatory):
            while end < len(text) and text[end] in " \t\r\n":
                end += 1
            if (close := pairs.get(end, -1)) > 0:
                arguments.append(piece.cut(end + 1, close))
                end = close + 1
            elif text[end : end + 1].isalnum():
                arguments.append(piece.cut(end, end + 1))
                end += 1
            else:
                return -1, None
        if depth >= _MAX_DEPTH or self.budget <= 0:
            return -1, None
        places = [(match.span(), int(match[1] or 0) - 1) for match in _PARAMETER.finditer(macro.body)]
        chosen = [arguments[number] if 0 <= number < len(arguments) else "" for _, number in places]
        # The size is checked before anything is built: a short body can repeat a long argument many times.
        size = len(macro.body) + sum(len(each if isinstance(each, str) else each.text) + _STEP for each in chosen) + _STEP
        if size - (end - begin) > self.budget:
            return -1, None
        self.budget -= size
        pieces, at = [], 0
        for ((start, stop), _), argument in zip(places, chosen, strict=True):
            pieces.append(piece.substitute(begin, end, macro.body[at:start]))
            pieces.append(argument if isinstance(argument, MappedText) else piece.substitute(begin, end, argument))
            at = stop
        pieces.append(piece.substitute(begin, end, macro.body[at:]))
        return end, self.expanded(concatenate(pieces), depth + 1)


def _label(macro: _Macro) -> str:
    """The label of a macro that prints its argument in colour and brackets, as authors use for notes; empty for others."""
    if macro.optional or macro.mandatory != 1 or not _COLOUR.search(macro.body):
        return ""
    written = _PLAINLY.sub("", _COLOUR.sub("", macro.body)).strip()
    if _BRACKETED.fullmatch(written):
        return "note"
    match = _LABELLED.fullmatch(written)
    return match[1] if match else ""


def _hides_keys(name: str, macro: _Macro) -> bool:
    """Whether a macro named like a citation command takes its keys otherwise than in a single argument."""
    if not tex_commands.is_citation(name) or tex_commands.is_gap(name):
        return False
    last = f"#{len(macro.optional) + macro.mandatory}"
    keys = [
        match[2].strip() for match in _CITATION.finditer(macro.body) if tex_commands.is_citation(match[1]) and match[1] != name
    ]
    return bool(keys) and (macro.mandatory != 1 or keys != [last])


@dataclass(frozen=True, slots=True)
class Expansion:
    """A LaTeX document as one text, and what its preamble and its packages say besides."""

    source: SourceText
    title: str
    """The body of a macro that is named like a title, as theses use; empty where there is none."""
    resources: list[str]
    """The bibliographies that classes and packages next to the draft name."""


def expand(text: str, folder: Folder, is_known: Callable[[str], bool]) -> Expansion:
    """A LaTeX document with the files that it includes and its macros expanded."""
    expander = _Expander(folder, is_known)
    whole = expander.file("", text, 0)
    source = SourceText(whole.text, whole.files, whole.begins, whole.ends, expander.names, expander.sources)
    titles = (
        macro.body
        for name, macro in expander.macros.items()
        if not macro.optional and not macro.mandatory and _TITLE_MACRO.fullmatch(name)
    )
    return Expansion(source, next((each for each in titles if len(each.split()) > 1), ""), expander.resources)


def _without_hidden(piece: MappedText) -> MappedText:
    """A file without comments, verbatim text, switched-off parts, and anything after its end."""
    text = piece.text
    pieces: list[MappedText] = []
    last = at = 0
    without_end: set[str] = set()
    while match := _HIDDEN.search(text, at):
        begin, at = match.span()
        if match["verb"] or match["typed"]:
            inside = "inside" if match["verb"] else "braced"
            pieces.append(piece.cut(last, begin))
            if not _SPECIAL.search(match[inside]):
                pieces.append(piece.cut(*match.span(inside)))
        elif match["comment"]:
            pieces.append(piece.cut(last, begin))
        elif match["env"]:
            close = -1 if match["name"] in without_end else text.find(f"\\end{{{match['name']}}}", at)
            if close < 0:
                without_end.add(match["name"])
                continue
            pieces.append(piece.cut(last, begin))
            at = close + len(match["name"]) + 6
        elif match["off"]:
            end = at if "iffalse" in without_end else _condition_end(text, at)
            if end == at:
                without_end.add("iffalse")
            pieces.append(piece.cut(last, begin))
            at = end
        elif match["end"]:
            return concatenate([*pieces, piece.cut(last, begin)])
        else:
            continue
        last = at
    return concatenate([*pieces, piece.cut(last, len(text))])


def _condition_end(text: str, at: int) -> int:
    """The end of the condition that begins before `at`; `at` where it has no end."""
    depth = 1
    for match in _CONDITION.finditer(text, at):
        depth += 1 if match["begin"] else -1
        if not depth:
            return match.end()
    return at
