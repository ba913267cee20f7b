"""LaTeX in bibliographies as plain Unicode text.

Fields seldom contain more than accents, braces and a little mathematics, so one pass over the commands is enough. It takes time
linear in the length of the field and does not recurse, whatever a file contains. pylatexenc supplies the names of some 800
symbols.
"""

from __future__ import annotations

import re
from functools import lru_cache

from citewell.sources.clean import text
from citewell.text.accents import LETTER_ACCENTS, SIGN_ACCENTS, with_accent

_HREF = re.compile(r"\\href\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_TWO_WAYS = re.compile(r"\\texorpdfstring\s*\{[^{}]*\}\s*\{([^{}]*)\}")
"""What is printed, and the same in plain text."""
_LAYOUT = re.compile(
    r"""\\(?: (?:textcolor|color|colorbox|[vh]space\*?|raisebox|label|selectlanguage|foreignlanguage)\s*
              (?:\[[^][]*\]\s*)?\{[^{}]*\}
      | kern\s*-?[\d.]+\s*[a-z]{2}\s?
      | \\\*?\s?\[\s*-?[\d.]+\s*[a-z]{2}\s*\]
    )""",
    re.VERBOSE,
)
"""Commands with an argument that is not printed."""
_COMMAND = re.compile(
    rf"""\\(?:
        (?P<accent>[{SIGN_ACCENTS}]|[{LETTER_ACCENTS}](?![A-Za-z]))\s*
            (?:\{{\s*(?P<inside>\\[ij](?![A-Za-z])|[^\W\d_]|)\s*\}}|(?P<next>\\[ij](?![A-Za-z])|[^\W\d_]))
      | (?P<word>[A-Za-z]+)\*?[ \t\n]*
      | (?P<symbol>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_MATH = re.compile(r"\$\$?(?=[^\s$])([^$]*?)(?<=[^\s$])\$\$?(?!\d)")
_LIGATURES = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"))

_LITERAL = {"{": "\x01", "}": "\x02", "$": "\x03", "~": "\x04"}
"""Placeholders for escaped characters, while unescaped ones still have their LaTeX meaning."""
_SYMBOLS = _LITERAL | {
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


def _without_argument(command: re.Match[str]) -> str:
    return " " if command[0].startswith("\\\\") else ""  # a line ends


def to_text(value: str) -> str:
    """`value` as it appears in print, on one line."""
    if not value:
        return ""
    value = text(value)
    # Searching for each character is several times faster than one regular expression.
    if "\\" not in value and "{" not in value and "$" not in value and "~" not in value and "}" not in value:
        return _ligatures(value)
    if "\\" in value:
        value = _LAYOUT.sub(_without_argument, _TWO_WAYS.sub(r"\1", _HREF.sub(r"\2 (\1)", value)))
        value = _COMMAND.sub(_command, value)
    if "$" in value:
        value = _MATH.sub(r"\1", value)
    value = _ligatures(value).replace("{", "").replace("}", "").replace("~", " ")
    return text(_restored(value))


def verbatim(value: str) -> str:
    """`value` of a field such as a URL, in which only braces and escapes are LaTeX."""
    if "\\" not in value and "{" not in value:
        return text(value)
    value = _COMMAND.sub(_command, text(value))
    return text(_restored(value.replace("{", "").replace("}", "")))


def _ligatures(value: str) -> str:
    for source, character in _LIGATURES:
        if source in value:
            value = value.replace(source, character)
    return value


def _restored(value: str) -> str:
    for character, placeholder in _LITERAL.items():
        value = value.replace(placeholder, character)
    return value


def _command(match: re.Match[str]) -> str:
    """The text of a command; an unknown command disappears, and its argument stays."""
    accent, word, symbol = match["accent"], match["word"], match["symbol"]
    if accent:
        letter = (match["inside"] or match["next"] or "").removeprefix("\\")
        return with_accent(letter, accent) if letter else _SYMBOLS.get(accent, "^" if accent == "^" else "")
    return _words().get(word, "") if word else _SYMBOLS.get(symbol, symbol)


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    """The text of each command that has one; the table is imported when a file first needs it."""
    from pylatexenc.latex2text import get_default_latex_context_db

    specs = get_default_latex_context_db().iter_macro_specs()
    table = {spec.macroname: spec.simplify_repl for spec in specs if isinstance(spec.simplify_repl, str)}
    return {name: symbol for name, symbol in table.items() if "%" not in symbol and name.isalpha()} | _WORDS
