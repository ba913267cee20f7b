"""A LaTeX document as TeX sees it after its eyes and mouth: comments gone, files put in, the author's own macros expanded.

What comes out is one text, each character of which knows the stretch of which file it comes from: a character of a macro's body
comes from the whole call, one of its arguments from where the author wrote it. So a citation that hides in a macro has the call
for its place, and one in an argument its own.

pylatexenc parses LaTeX too. It expands no macros and takes in no files, and what is broken costs it more than the place: a
stray ``$`` or an ``\\end`` of the wrong name swallows all citations behind it, and a few hundred open braces end in a
RecursionError. So this is written by hand; nothing here recurses but into files and macros, both to a limit.
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
_GROWTH = 500_000
"""So many characters more than the files have may come from macros; behind that none is expanded."""
_STEP = 20
"""A call, and each argument that is put in, counts as so many characters beside its own."""

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
    r"(?:\[\s*+(\d)\s*+\]\s*+)?(?:\[([^\]\n]*)\]\s*+)?(?=\{)"
)
_DEF = re.compile(r"\\[gex]?def\s*+\\([A-Za-z@]+)\s*+((?:#\d)*)\s*+(?=\{)")
_DOCUMENT_COMMAND = re.compile(
    r"\\(?:New|Renew|Provide|Declare)DocumentCommand\s*+\{?\s*+\\([A-Za-z@]+)\s*+\}?\s*+"
    r"\{\s*+([mosO\s]*(?:\{[^{}]*\}[mosO\s]*)*)\}\s*+(?=\{)"
)
_LET = re.compile(r"\\let\s*+\\([A-Za-z@]+)\s*+=?\s*+(\\[A-Za-z@]+)")
_INPUT = re.compile(r"\\(?:input|include|subfile|subfileinclude)(?![A-Za-z@])\s*+(?:\{([^{}\n]{1,300})\}|([^\s{}\\%]{1,300}))")
_IMPORT = re.compile(r"\\(?:sub)?(?:import|includefrom|inputfrom)\s*+\{([^{}\n]{0,300})\}\s*+\{([^{}\n]{1,300})\}")
_PARAMETER = re.compile(r"##|#(\d)")
_CITATION = re.compile(r"\\([A-Za-z@]+)\*?\s*(?:\[[^\]]*\]\s*)*\{([^{}]*)\}")
_COLOUR = re.compile(r"\\(?:text|page|f)?color(?:box)?\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}")
_PLAINLY = re.compile(r"\\[A-Za-z@]+\*?\s*|\\.|[{}]")
_LABELLED = re.compile(r"[\[(<]?\s*([A-Z][\w .'-]{0,24}):\s*#1\s*[\])>]?")
"""What a macro for notes to oneself and one's co-authors says, once its colours are gone: ``[JD: #1]``."""
_BEGIN_DOCUMENT = re.compile(r"\\begin\s*\{document\}")


def braces(text: str) -> dict[int, int]:
    """For each opening brace the place of the one that closes it; one that nothing closes is absent."""
    pairs, waiting = {}, []
    for found in _BRACE.finditer(text):
        if found[1] == "{":
            waiting.append(found.start())
        elif found[1] and waiting:
            pairs[waiting.pop()] = found.start()
    return pairs


@dataclass(slots=True)
class _Macro:
    body: str
    optional: list[str | None]
    """The default of each leading argument in brackets."""
    mandatory: int


@dataclass(slots=True)
class _Expander:
    folder: Folder
    is_known: Callable[[str], bool]
    """Whether the reader knows what a command means better than its definition does."""
    names: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    macros: dict[str, _Macro] = field(default_factory=dict)
    room: int = _GROWTH

    def file(self, name: str, text: str, depth: int) -> MappedText:
        self.names.append(name)
        self.sources[name] = text
        piece = _bared(MappedText.of(text, len(self.names) - 1))
        if depth and (begin := _BEGIN_DOCUMENT.search(piece.text)):
            self.expanded(piece.cut(0, begin.start()), depth)  # a subfile's own preamble: only what it defines counts
            piece = piece.cut(begin.end(), len(piece.text))
        return self.expanded(piece, depth)

    def expanded(self, piece: MappedText, depth: int) -> MappedText:
        text, pairs = piece.text, braces(piece.text)
        done: list[MappedText] = []
        at = last = 0
        while found := _WORD.search(text, at):
            at = found.end()
            if not (name := found[1]):
                continue
            begin, end, instead = found.start(), -1, None
            if (behind := self._defined(text, begin, pairs)) > 0:
                end = behind
            elif name in ("input", "include", "subfile", "subfileinclude") or "import" in name or name.endswith("from"):
                end, instead = self._taken_in(piece, begin, depth)
            elif name in self.macros:
                end, instead = self._called(piece, found, pairs, depth)
            if end > 0:
                done.append(piece.cut(last, begin))
                if instead is not None:
                    done.append(instead)
                at = last = end
        done.append(piece.cut(last, len(text)))
        return concatenate(done)

    def _defined(self, text: str, begin: int, pairs: dict[int, int]) -> int:
        """Learn the macro that is defined here; where its definition ends, or -1 where none begins."""
        optional: list[str | None] = []
        if found := _DEFINES.match(text, begin):
            count = int(found[2] or 0)
            optional = [found[3]] if found[3] is not None else []
        elif found := _DEF.match(text, begin):
            count = len(found[2]) // 2
        elif found := _DOCUMENT_COMMAND.match(text, begin):
            kinds = re.findall(r"[mos]|O\s*\{([^{}]*)\}|O", found[2])
            letters = re.findall(r"[mosO]", re.sub(r"\{[^{}]*\}", "", found[2]))
            leading = next((at for at, letter in enumerate(letters) if letter == "m"), len(letters))
            if "s" in letters or any(letter != "m" for letter in letters[leading:]):
                return -1
            optional, count = list(kinds[:leading]), len(letters)
        elif found := _LET.match(text, begin):
            self._learn(found[1], _Macro(found[2], [], 0))
            return found.end()
        if not found or (close := pairs.get(found.end(), -1)) < 0:
            return -1
        self._learn(found[1], _Macro(text[found.end() + 1 : close], optional, max(0, count - len(optional))))
        return close + 1

    def _learn(self, name: str, macro: _Macro) -> None:
        if label := _label(macro):
            macro = _Macro(r"\citationneeded{#1}" if asks_for_citation(label) else r"\todo{#1}", [], 1)
        if not self.is_known(name) or _hides_keys(name, macro):
            self.macros[name] = macro

    def _taken_in(self, piece: MappedText, begin: int, depth: int) -> tuple[int, MappedText | None]:
        """The file that is named here, as a paragraph of its own."""
        if found := _INPUT.match(piece.text, begin):
            name = (found[1] or found[2]).strip().strip('"')
        elif found := _IMPORT.match(piece.text, begin):
            name = f"{found[1].strip().rstrip('/')}/{found[2].strip()}".lstrip("/") if found[1].strip() else found[2].strip()
        else:
            return -1, None
        if depth >= _MAX_DEPTH:
            return -1, None
        opened = self.folder.text(name, ".tex", ".ltx")
        if opened is None or opened[0] in (*self.sources, self.folder.main):
            return found.end(), piece.substitute(begin, found.end(), "\n\n")
        rift = piece.substitute(begin, found.end(), "\n\n")
        return found.end(), concatenate([rift, self.file(*opened, depth + 1), rift])

    def _called(
        self, piece: MappedText, found: re.Match[str], pairs: dict[int, int], depth: int
    ) -> tuple[int, MappedText | None]:
        """What a call of a macro stands for; nothing where its arguments are not there."""
        text, macro, begin, end = piece.text, self.macros[found[1]], found.start(), found.end()
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
        if depth >= _MAX_DEPTH or self.room <= 0:
            return -1, None
        places = [(found.span(), int(found[1] or 0) - 1) for found in _PARAMETER.finditer(macro.body)]
        chosen = [arguments[number] if 0 <= number < len(arguments) else "" for _, number in places]
        # Reckoned before any of it is written: a short body may name a long argument very often.
        size = len(macro.body) + sum(len(each if isinstance(each, str) else each.text) + _STEP for each in chosen) + _STEP
        if size - (end - begin) > self.room:
            return -1, None
        self.room -= size
        pieces, at = [], 0
        for ((start, stop), _), given in zip(places, chosen, strict=True):
            pieces.append(piece.substitute(begin, end, macro.body[at:start]))
            pieces.append(given if isinstance(given, MappedText) else piece.substitute(begin, end, given))
            at = stop
        pieces.append(piece.substitute(begin, end, macro.body[at:]))
        return end, self.expanded(concatenate(pieces), depth + 1)


def _label(macro: _Macro) -> str:
    """The name behind which a macro shows its argument in colour: what co-authors write to each other; empty for others."""
    if macro.optional or macro.mandatory != 1 or not _COLOUR.search(macro.body):
        return ""
    found = _LABELLED.fullmatch(_PLAINLY.sub("", _COLOUR.sub("", macro.body)).strip())
    return found[1] if found else ""


def _hides_keys(name: str, macro: _Macro) -> bool:
    """Whether a macro with the name of a citation command has its keys elsewhere than such a command: not in one argument."""
    if not tex_commands.is_citation(name) or tex_commands.is_gap(name):
        return False
    last = f"#{len(macro.optional) + macro.mandatory}"
    keys = [
        found[2].strip() for found in _CITATION.finditer(macro.body) if tex_commands.is_citation(found[1]) and found[1] != name
    ]
    return bool(keys) and (macro.mandatory != 1 or keys != [last])


def expand(text: str, folder: Folder, is_known: Callable[[str], bool]) -> SourceText:
    """A LaTeX document and the files that it takes in as one text."""
    expander = _Expander(folder, is_known)
    whole = expander.file("", text, 0)
    return SourceText(whole.text, whole.files, whole.begins, whole.ends, expander.names, expander.sources)


def _bared(piece: MappedText) -> MappedText:
    """Without comments, without what is printed as it is typed, and without what stands behind the end."""
    text = piece.text
    kept: list[MappedText] = []
    last = at = 0
    unending: set[str] = set()
    while found := _HIDDEN.search(text, at):
        begin, at = found.span()
        if found["verb"] or found["typed"]:
            inside = "inside" if found["verb"] else "braced"
            kept.append(piece.cut(last, begin))
            if not _SPECIAL.search(found[inside]):
                kept.append(piece.cut(*found.span(inside)))
        elif found["comment"]:
            kept.append(piece.cut(last, begin))
        elif found["env"]:
            close = -1 if found["name"] in unending else text.find(f"\\end{{{found['name']}}}", at)
            if close < 0:
                unending.add(found["name"])
                continue
            kept.append(piece.cut(last, begin))
            at = close + len(found["name"]) + 6
        elif found["off"]:
            behind = at if "iffalse" in unending else _switched_off(text, at)
            if behind == at:
                unending.add("iffalse")
            kept.append(piece.cut(last, begin))
            at = behind
        elif found["end"]:
            return concatenate([*kept, piece.cut(last, begin)])
        else:
            continue
        last = at
    return concatenate([*kept, piece.cut(last, len(text))])


def _switched_off(text: str, at: int) -> int:
    """Where the condition that began before `at` ends; `at` where it never does."""
    depth = 1
    for found in _CONDITION.finditer(text, at):
        depth += 1 if found["begin"] else -1
        if not depth:
            return found.end()
    return at
