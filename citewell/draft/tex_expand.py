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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from citewell.draft import tex_commands
from citewell.draft.files import Folder
from citewell.draft.gaps import asks_for_citation
from citewell.draft.source_text import MappedText, SourceText, concatenate
from citewell.draft.tex_hidden import verbatim_environments, without_hidden

_MAX_DEPTH = 8
_MAX_GROWTH = 500_000
"""The most characters that macros may add; after that none is expanded."""
_STEP = 20
"""The cost of a macro call and of each inserted argument, in characters, in addition to their length."""

_BRACE = re.compile(r"\\.|([{}])", re.DOTALL)
_WORD = re.compile(r"\\(?:([A-Za-z@]+)|.)", re.DOTALL)
_DEFINES = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand|newrobustcmd|renewrobustcmd)\*?"
    r"\s*+\{?\s*+\\([A-Za-z@]+)\s*+\}?\s*+"
    r"(?:\[\s*+(\d)\s*+\]\s*+)?(?:\[([^\]\n]{0,500})\]\s*+)?(?=\{)"
)
_DEF = re.compile(r"\\[gex]?def\s*+\\([A-Za-z@]+)\s*+((?:#\d)*)\s*+(?=\{)")
_DOCUMENT_COMMAND = re.compile(
    r"\\(?:New|Renew|Provide|Declare)(?:Expandable)?DocumentCommand\s*+\{?\s*+\\([A-Za-z@]+)\s*+\}?\s*+"
    r"\{\s*+((?:[+!>]?(?:[mos]|O\s*\{[^{}]*\})\s*+)*+)\}\s*+(?=\{)"
)
_PARAMETER_KIND = re.compile(r"([mos])|O\s*\{([^{}]*)\}")
_BRANCH = re.compile(r"\\If(Boolean|(?:No)?Value|Blank)(T|F|TF)\s*\{?#(\d)\}?\s*+(?=\{)")
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
class _Parameter:
    """A parameter of a macro: mandatory, optional (in brackets) or a star."""

    kind: str = "m"
    default: str = ""


@dataclass(slots=True)
class _Macro:
    body: str
    parameters: list[_Parameter]

    @property
    def takes_one(self) -> bool:
        """Whether it has one argument, which is mandatory."""
        return [each.kind for each in self.parameters] == ["m"]


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
    verbatim: set[str] = field(default_factory=set)
    """The verbatim environments that the draft and its packages define."""
    budget: int = _MAX_GROWTH
    """Characters that macros may still add."""

    def file(self, name: str, text: str, depth: int) -> MappedText:
        self.names.append(name)
        self.sources[name] = text
        self._learn_verbatim(text, depth)
        piece = without_hidden(MappedText.of(text, len(self.names) - 1), self.verbatim)
        if depth and (begin := _BEGIN_DOCUMENT.search(piece.text)) and "\\documentclass" in piece.text[: begin.start()]:
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

    def _learn_verbatim(self, text: str, depth: int) -> None:
        """Verbatim environments are needed before anything else is read: a program may contain any command."""
        self.verbatim.update(verbatim_environments(text))
        for packages in _PACKAGES.finditer(text) if depth < _MAX_DEPTH else ():
            for name in packages[2].split(","):
                self.verbatim.update(verbatim_environments(self.folder.package(f"{name.strip()}{_suffix(packages)}")))

    def _load(self, packages: re.Match[str], depth: int) -> None:
        """Read the classes and packages next to the draft: the bibliographies that they name and the macros they define."""
        for name in packages[2].split(","):
            full_name = f"{name.strip()}{_suffix(packages)}"
            if depth >= _MAX_DEPTH or full_name in self._packages:
                continue
            self._packages.add(full_name)
            text = without_hidden(MappedText.of(self.folder.package(full_name), 0)).text
            pairs = braces(text)
            self.resources += [each.strip() for match in _RESOURCE.finditer(text) for each in match[1].split(",")]
            for command in _WORD.finditer(text):
                if further := _PACKAGES.match(text, command.start()):
                    self._load(further, depth + 1)
                elif command[1] and "@" not in command[1]:
                    self._defined(text, command.start(), pairs, of_package=True)

    def _defined(self, text: str, begin: int, pairs: dict[int, int], of_package: bool = False) -> int:
        """Store the macro that is defined here; returns the end of its definition, or -1 where there is none."""
        parameters: list[_Parameter] = []
        if match := _DEFINES.match(text, begin):
            parameters = [_Parameter() for _ in range(int(match[2] or 0))]
            if match[3] is not None and parameters:
                parameters[0] = _Parameter("o", match[3])
        elif match := _DEF.match(text, begin):
            parameters = [_Parameter() for _ in range(len(match[2]) // 2)]
        elif match := _DOCUMENT_COMMAND.match(text, begin):
            parameters = [_Parameter(kind[1] or "o", kind[2] or "") for kind in _PARAMETER_KIND.finditer(match[2])]
        elif (match := _LET.match(text, begin)) and not of_package:
            self._learn(match[1], _Macro(match[2], []))
            return match.end()
        if not match or (close := pairs.get(match.end(), -1)) < 0:
            return -1
        body = text[match.end() + 1 : close]
        if not of_package or "@" not in match[1] + body:  # what a package does inside is not for readers
            self._learn(match[1], _Macro(body, parameters))
        return close + 1

    def _learn(self, name: str, macro: _Macro) -> None:
        if label := _label(macro):
            macro = _Macro(r"\citationneeded{#1}" if asks_for_citation(label) else r"\todo{#1}", [_Parameter()])
        elif macro.takes_one and not macro.body.strip():
            macro = _Macro(r"\hiddennote{#1}", [_Parameter()])  # notes that are switched off
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
        for parameter in macro.parameters:
            begins = _next(text, end) if parameter.kind == "m" or arguments else end
            if parameter.kind == "m":
                if (close := pairs.get(begins, -1)) > 0:
                    arguments.append(piece.cut(begins + 1, close))
                    end = close + 1
                elif text[begins : begins + 1].isalnum():
                    arguments.append(piece.cut(begins, begins + 1))
                    end = begins + 1
                else:
                    return -1, None
            elif parameter.kind == "s":
                arguments.append("*" if text[end : end + 1] == "*" else "")
                end += text[end : end + 1] == "*"
            elif text[begins : begins + 1] == "[" and (close := text.find("]", begins, begins + 1000)) > 0:
                arguments.append(piece.cut(begins + 1, close))
                end = close + 1
            else:
                arguments.append(parameter.default)
        if depth >= _MAX_DEPTH or self.budget <= 0:
            return -1, None
        body = _chosen_branches(macro.body, arguments)
        places = [(match.span(), int(match[1] or 0) - 1) for match in _PARAMETER.finditer(body)]
        chosen = [arguments[number] if 0 <= number < len(arguments) else "" for _, number in places]
        # The size is checked before anything is built: a short body can repeat a long argument many times.
        size = len(body) + sum(len(each if isinstance(each, str) else each.text) + _STEP for each in chosen) + _STEP
        if size - (end - begin) > self.budget:
            return -1, None
        self.budget -= size
        pieces, at = [], 0
        for ((start, stop), _), argument in zip(places, chosen, strict=True):
            pieces.append(piece.substitute(begin, end, body[at:start]))
            pieces.append(argument if isinstance(argument, MappedText) else piece.substitute(begin, end, argument))
            at = stop
        pieces.append(piece.substitute(begin, end, body[at:]))
        return end, self.expanded(concatenate(pieces), depth + 1)


def _label(macro: _Macro) -> str:
    """The label of a macro that prints its argument in colour and brackets, as authors use for notes; empty for others."""
    if not macro.takes_one or not _COLOUR.search(macro.body):
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
    names = (match[1] for match in _WORD.finditer(macro.body))
    if not any(each != name and tex_commands.is_citation(each) for each in names if each):
        return False
    if [each.kind for each in macro.parameters].count("m") != 1:
        return bool(macro.parameters) or bool(_CITATION.search(macro.body))
    keys = [
        match[2].strip() for match in _CITATION.finditer(macro.body) if tex_commands.is_citation(match[1]) and match[1] != name
    ]
    return bool(keys) and keys != [f"#{len(macro.parameters)}"]


def _chosen_branches(body: str, arguments: Sequence[MappedText | str]) -> str:
    """The body of a macro with the branches of ``\\IfNoValueTF{#1}{...}{...}`` and similar that its arguments choose."""
    pieces, at = [], 0
    if "\\If" not in body:
        return body
    pairs = braces(body)
    while branch := _BRANCH.search(body, at):
        number = int(branch[3]) - 1
        argument = arguments[number] if number < len(arguments) else ""
        is_given = bool(argument if isinstance(argument, str) else argument.text)
        holds = is_given if branch[1] in ("Boolean", "Value") else not is_given
        pieces.append(body[at : branch.start()])
        at = branch.end()
        for letter in branch[2]:
            at = _next(body, at)
            close = pairs.get(at, -1)
            if close < 0:
                break
            if (letter == "T") == holds:
                pieces.append(body[at + 1 : close])
            at = close + 1
    return "".join([*pieces, body[at:]])


def _next(text: str, at: int) -> int:
    """The offset of the next character that is not space."""
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _suffix(packages: re.Match[str]) -> str:
    return ".cls" if packages[1].startswith(("documentclass", "LoadClass")) else ".sty"


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
    titles = (macro.body for name, macro in expander.macros.items() if not macro.parameters and _TITLE_MACRO.fullmatch(name))
    return Expansion(source, next((each for each in titles if len(each.split()) > 1), ""), expander.resources)
