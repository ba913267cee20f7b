"""What a LaTeX file has but does not print as text: comments, verbatim text, parts that are switched off, what follows its end.

The author's own listing environments are verbatim too. They are known by their definitions, or by a name such as ``LaTeXCode``:
the definition may be in a package that is not next to the draft.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from citewell.draft.source_text import MappedText, concatenate

_ENVIRONMENTS = (
    r"verbatim\*?|Verbatim\*?|BVerbatim|LVerbatim|lstlisting|minted|comment|filecontents\*?|alltt|sagesilent|tcblisting|dispListing"
    r"|code|[A-Z][A-Za-z]*Code|[A-Za-z]*[vV]erbatim"
)
_PERHAPS = re.compile(r"[A-Za-z]*(?:code|listing|example)\*?")
_WHOLE_DOCUMENT = re.compile(
    r"\\(?:documentclass|endinput|iffalse|usepackage|newcommand|(?:begin|end)\s*\{(?:document|verbatim)\})"
)
"""What makes an environment with such a name verbatim: text does not have it, as the availability of code in a journal."""
_HIDDEN = re.compile(
    r"(?P<verb>\\(?:verb|lstinline)\*?(?P<delimiter>[^A-Za-z0-9*\s{\[\\])(?P<inside>[^\n]{0,500}?)(?P=delimiter))"
    r"|(?P<typed>\\(?:lstinline|mintinline\s*(?:\[[^\]\n]{0,200}\]\s*)?\{[^{}\n]{0,50}\}|Verb)\*?(?:\[[^\]\n]{0,200}\])?"
    r"\{(?P<braced>(?:[^{}\n]|\{[^{}\n]{0,200}\}){0,500})\})"
    r"|(?P<env>\\begin\s*\{(?P<name>[A-Za-z]+\*?)\})"
    r"|(?P<address>\\(?:url|href|path|nolinkurl)\s*\{[^{}\n]*\})"
    r"|(?P<off>\\iffalse(?![A-Za-z@]))|(?P<code>\\ExplSyntaxOn(?![A-Za-z@]))"
    r"|(?P<end>\\(?:endinput(?![A-Za-z@])|end\s*\{document\}))"
    r"|\\."
    r"|(?P<comment>%[^\n]*(?:\n(?![ \t\r]*\n)[ \t]*)?)",
    re.DOTALL,
)
_VERBATIM = re.compile(_ENVIRONMENTS)
_DEFINED = re.compile(
    r"\\(?:lstnewenvironment|newverbatim|(?:Re|C)?(?:DefineVerbatimEnvironment)|newtcblisting|NewTCBListing|newtcbinputlisting"
    r"|newminted|newcomment|excludecomment)(?:\[[^\[\]\n]{0,200}\])?\s*\{([A-Za-z]+\*?)\}"
)
_CODE_END = "\\ExplSyntaxOff"
_CONDITION = re.compile(r"\\(?P<begin>if(?!thenelse|f(?![a-z]))[A-Za-z@]*)|\\(?P<end>fi)(?![A-Za-z@])")
_SPECIAL = re.compile(r"[\\%{}$&#~^_]")


def verbatim_environments(text: str) -> Iterator[str]:
    """The names of the verbatim environments that a file defines."""
    return (match[1] for match in _DEFINED.finditer(text))


def without_hidden(piece: MappedText, defined: Collection[str] = ()) -> MappedText:
    """A file as it is printed; `defined` are the author's own verbatim environments."""
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
            name = match["name"]
            is_verbatim = name in defined or bool(_VERBATIM.fullmatch(name))
            is_candidate = is_verbatim or bool(_PERHAPS.fullmatch(name))
            close = text.find(f"\\end{{{name}}}", at) if is_candidate and name not in without_end else -1
            if close < 0:
                without_end.add(name)
            if close < 0 or not (is_verbatim or _WHOLE_DOCUMENT.search(text, at, close)):
                continue
            pieces.append(piece.cut(last, begin))
            at = close + len(name) + 6
        elif match["off"] or match["code"]:
            end = at
            if match[0] not in without_end:
                end = _condition_end(text, at) if match["off"] else _code_end(text, at)
                if end == at:
                    without_end.add(match[0])
            pieces.append(piece.cut(last, begin))
            at = end
        elif match["end"]:
            return concatenate([*pieces, piece.cut(last, begin)])
        else:
            continue
        last = at
    return concatenate([*pieces, piece.cut(last, len(text))])


def _code_end(text: str, at: int) -> int:
    """The end of the code in the syntax of LaTeX3 that begins before `at`; `at` where it has no end."""
    end = text.find(_CODE_END, at)
    return end + len(_CODE_END) if end >= 0 else at


def _condition_end(text: str, at: int) -> int:
    """The end of the condition that begins before `at`; `at` where it has no end."""
    depth = 1
    for match in _CONDITION.finditer(text, at):
        depth += 1 if match["begin"] else -1
        if not depth:
            return match.end()
    return at
