"""Acronyms and glossary entries of LaTeX: what they are defined as, and what the commands that use them print.

The packages acronym, acro, glossaries and glossaries-extra are known. As in print, the first use of an acronym gives its long
form with the short one in brackets, and later ones the short form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.draft.tex_brackets import Brackets
from citewell.sources.latex import to_text

_DEFINITION = re.compile(
    r"\\(newacronym|newabbreviation|acrodef|acro|newacro|DeclareAcronym|newglossaryentry|longnewglossaryentry)(?![A-Za-z@])"
)
_PAIR = re.compile(r"(?<![A-Za-z])(short|long|name|text)\s*=\s*")
_VALUE = re.compile(r"[^,{}]{0,300}")
_FOREIGN = re.compile(r"\\acroforeign\s*\{[^{}]*\}|\\acroextra\s*\{[^{}]*\}|\\glsadd\s*\{[^{}]*\}")
_COMMAND = re.compile(r"(?:gls|GLS|Gls|acr|Acr|ACR|ac|Ac|iac|Iac|glsxtr|Glsxtr|glsentry|Glsentry)([a-z]*)")
_FORMS = {
    "": "first",
    "pl": "first",
    "p": "first",
    "short": "short",
    "shortpl": "short",
    "s": "short",
    "sp": "short",
    "text": "short",
    "name": "short",
    "long": "long",
    "longpl": "long",
    "l": "long",
    "lp": "long",
    "full": "full",
    "fullpl": "full",
    "f": "full",
    "fp": "full",
}
"""The form that each command prints, by the end of its name: ``\\acrlong`` and ``\\acl`` print the long one."""


@dataclass(frozen=True, slots=True)
class Acronym:
    """The short and the long form of an acronym; a glossary entry has only a short one."""

    short: str
    long: str = ""


def read_acronyms(text: str, brackets: Brackets) -> dict[str, Acronym]:
    """The acronyms that a document defines, by their labels."""
    acronyms: dict[str, Acronym] = {}
    for match in _DEFINITION.finditer(text):
        arguments, option = _arguments(text, brackets, match.end())
        if len(arguments) < 2 or not arguments[0].strip():
            continue
        label = arguments[0].strip()
        if match[1] in ("newacronym", "newabbreviation"):
            acronym = Acronym(_plain(arguments[1]), _plain(arguments[2]) if len(arguments) > 2 else "")
        elif match[1] in ("acrodef", "acro", "newacro"):
            acronym = Acronym(_plain(option or label), _plain(arguments[1]))
        else:
            fields = _fields(arguments[1])
            acronym = Acronym(fields.get("short") or fields.get("text") or fields.get("name") or label, fields.get("long", ""))
        acronyms.setdefault(label, acronym)
    return acronyms


class AcronymUses:
    """What the uses of acronyms print, in reading order."""

    def __init__(self, acronyms: dict[str, Acronym]) -> None:
        self._acronyms = acronyms
        self._used: set[str] = set()

    def is_use(self, command: str) -> bool:
        """Whether a command prints an acronym, in a document that defines some."""
        return bool(self._acronyms) and _COMMAND.fullmatch(command) is not None

    def printed(self, command: str, label: str) -> str:
        """What a command prints for a label; empty where the command or the label is not one of an acronym."""
        known = _COMMAND.fullmatch(command)
        form = _FORMS.get(known[1]) if known else None
        acronym = self._acronyms.get(label.strip())
        if form is None or acronym is None:
            return ""
        if form == "first":
            form = "short" if label in self._used or not acronym.long else "full"
            self._used.add(label)
        plural = "s" if known is not None and known[1].endswith(("pl", "p")) else ""
        if form == "short" or not acronym.long:
            return f"{acronym.short}{plural}"
        return f"{acronym.long}{plural}" if form == "long" else f"{acronym.long}{plural} ({acronym.short}{plural})"


def _arguments(text: str, brackets: Brackets, at: int) -> tuple[list[str], str]:
    """Up to three arguments after `at`, and the option between the first two."""
    arguments: list[str] = []
    option = ""
    at = brackets.options(at)
    while len(arguments) < 3 and (close := brackets.braces.get(at, -1)) > 0:
        arguments.append(text[at + 1 : close])
        at = brackets.after_space(close + 1)
        if len(arguments) == 1 and text.startswith("[", at) and (end := brackets.closing(at + 1, "]")) > 0:
            option, at = text[at + 1 : end], brackets.after_space(end + 1)
    return arguments, option


def _fields(inside: str) -> dict[str, str]:
    """The values of ``name={...}, short=...``."""
    pairs = Brackets(inside)
    fields: dict[str, str] = {}
    for match in _PAIR.finditer(inside):
        value = pairs.inside(match.end())
        if not value and (plain := _VALUE.match(inside, match.end())):
            value = plain[0]
        fields.setdefault(match[1], _plain(value))
    return fields


def _plain(inside: str) -> str:
    return to_text(_FOREIGN.sub("", inside))
