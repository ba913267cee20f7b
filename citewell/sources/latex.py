"""What LaTeX in a bibliography means, as plain Unicode text.

Fields seldom hold more than accents, braces and a little mathematics, so one pass over the commands does it: it is linear in
the length of the field and cannot recurse, whatever a file says. The names of some 800 symbols come from pylatexenc.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from citewell.sources.clean import text

_HREF = re.compile(r"\\href\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_COMMAND = re.compile(
    r"""\\(?:
        (?P<mark>["'`^~=.]|[uvHcdbkr](?![A-Za-z]))\s*
            (?:\{\s*(?P<inside>\\[ij](?![A-Za-z])|[^\W\d_]|)\s*\}|(?P<next>\\[ij](?![A-Za-z])|[^\W\d_]))
      | (?P<word>[A-Za-z]+)\*?[ \t\n]*
      | (?P<symbol>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_MATH = re.compile(r"\$\$?(?=[^\s$])([^$]*?)(?<=[^\s$])\$\$?(?!\d)")
_LIGATURES = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"))

_MARKS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "u": "\u0306",
    "v": "\u030c",
    "H": "\u030b",
    "c": "\u0327",
    "d": "\u0323",
    "b": "\u0331",
    "k": "\u0328",
    "r": "\u030a",
}
_KEPT = {"{": "\x01", "}": "\x02", "$": "\x03", "~": "\x04"}
"""Characters that are meant as themselves, while those written plainly still have their meaning for LaTeX."""
_SYMBOLS = _KEPT | {
    "\\": " ",
    ",": " ",
    ";": " ",
    ":": " ",
    "!": "",
    "-": "",
    "/": "",
    "\n": " ",
    "(": "",
    ")": "",
    "[": "",
    "]": "",
}
_WORDS = {
    "textasciitilde": "\x04",
    "textasciicircum": "^",
    "textbraceleft": "\x01",
    "textbraceright": "\x02",
    "textdollar": "\x03",
    "textunderscore": "_",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textquotedbl": '"',
    "textquotesingle": "'",
    "LaTeX": "LaTeX",
    "TeX": "TeX",
    "BibTeX": "BibTeX",
    "newline": " ",
    "par": " ",
    "quad": " ",
    "qquad": " ",
    "slash": "/",
    "today": "",
}


def to_text(value: str) -> str:
    """`value` as a reader sees it in print, on one line."""
    if not value:
        return ""
    value = text(value)
    # A search for each is several times as fast as a regular expression for all of them.
    if "\\" not in value and "{" not in value and "$" not in value and "~" not in value and "}" not in value:
        return _ligatures(value)
    if "\\" in value:
        value = _COMMAND.sub(_command, _HREF.sub(r"\2 (\1)", value))
    if "$" in value:
        value = _MATH.sub(r"\1", value)
    value = _ligatures(value).replace("{", "").replace("}", "").replace("~", " ")
    return text(_restored(value))


def verbatim(value: str) -> str:
    """`value` for fields such as URLs, where only braces and escapes are LaTeX."""
    if "\\" not in value and "{" not in value:
        return text(value)
    value = _COMMAND.sub(_command, text(value))
    return text(_restored(value.replace("{", "").replace("}", "")))


def _ligatures(value: str) -> str:
    for written, meant in _LIGATURES:
        if written in value:
            value = value.replace(written, meant)
    return value


def _restored(value: str) -> str:
    for character, placeholder in _KEPT.items():
        value = value.replace(placeholder, character)
    return value


def _command(found: re.Match[str]) -> str:
    """What a command stands for; one that nobody knows vanishes, and its argument stays."""
    mark, word, symbol = found["mark"], found["word"], found["symbol"]
    if mark:
        letter = (found["inside"] or found["next"] or "").removeprefix("\\")
        return unicodedata.normalize("NFC", letter + _MARKS[mark]) if letter else _SYMBOLS.get(mark, "^" if mark == "^" else "")
    return _words().get(word, "") if word else _SYMBOLS.get(symbol, symbol)


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    """The text of each command that stands for one; importing the table is put off until a file needs it."""
    from pylatexenc.latex2text import get_default_latex_context_db

    specs = get_default_latex_context_db().iter_macro_specs()
    table = {spec.macroname: spec.simplify_repl for spec in specs if isinstance(spec.simplify_repl, str)}
    return {name: symbol for name, symbol in table.items() if "%" not in symbol and name.isalpha()} | _WORDS
