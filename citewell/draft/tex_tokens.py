"""The tokens of LaTeX: commands, accents, signs and text, with babel's shorthands of German where they are in force."""

from __future__ import annotations

import re

from citewell.text.accents import LETTER_ACCENTS

_TOKENS = r"""\\(?P<word>[A-Za-z@]+)(?P<star>\*?)
      | \\(?P<accent>["'`^~=.](?:\s*\{\s*(?:\\[ij]|[^\W\d_])\s*\}|\s*(?:\\[ij](?![A-Za-z])|[^\W\d_])))
      | \\(?P<symbol>.)
      | (?P<paragraph>\n[ \t\r]*\n\s*)
      | (?P<text>(?:[^\\${}~&`'\-\nQUOTE]++|-(?!-)|'(?!')|`(?!`)|\n(?![ \t\r]*\n))++)
      | (?P<sign>---?|``|''|~)
      | (?P<other>.)"""
TOKEN = re.compile(_TOKENS.replace("QUOTE", ""), re.VERBOSE | re.DOTALL)
GERMAN_TOKEN = re.compile(rf"""(?P<shorthand>"[aouAOUsS`'=~|<>-]) | {_TOKENS.replace("QUOTE", '"')}""", re.VERBOSE | re.DOTALL)
"""A token where babel's shorthands of German are in force: ``"a`` is ä."""
GERMAN = re.compile(r"(?<![A-Za-z])n?(?:german|austrian|swissgerman)(?![A-Za-z])")
SHORTHANDS = dict(
    zip("aouAOUsS`'=~|<>-", ("ä", "ö", "ü", "Ä", "Ö", "Ü", "ß", "SS", "„", "“", "-", "-", "", "«", "»", ""), strict=True)
)
SHORTHAND = re.compile(r"\"([aouAOUsS])")
ACCENT_NAME = re.compile(f"[{LETTER_ACCENTS}]")
ACCENTED = re.compile(r"\s*\{?\s*(?:\\[ij](?![A-Za-z])|[^\W\d_])\s*\}?")
SIGNS = {"---": "—", "--": "–", "``": "“", "''": "”", "~": " "}
SYMBOLS = {"\\": " ", ",": " ", ";": " ", ":": " ", "-": "", "/": "", "@": "", "!": "", "(": "", ")": ""}
