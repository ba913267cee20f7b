"""Inserts citations into the text of a draft: at a gap, next to existing citations, or at the end of a sentence.

Pure functions on text, so that a person can review the difference before a file is written. The source at a gap decides what
is written: ``\\citep[see][]{}`` gets the keys and keeps the rest, ``[see @?, p. 3]`` likewise; a ``[?]`` or a ``\\todo`` is
replaced by a citation in the style that the draft uses elsewhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citewell.draft import notebook, org_syntax, tex_commands, typst_syntax
from citewell.draft.gaps import asks_for_citation, is_key
from citewell.draft.markdown import at_key
from citewell.errors import CitewellError
from citewell.papers import Citation, Draft, Place

_COMMAND = re.compile(r"\\([A-Za-z@]+)\*?")
_LAST_BRACES = re.compile(r"\{([^{}]*)\}\s*$")
_BRACES = re.compile(r"\{([^{}]*)\}")
_AT = re.compile(r"-?@(?:\{[^{}]*\}|\?+|\w[\w:.#$%&+<>~/-]*|(?=[\];,]|$))")
_MYST = re.compile(r"\{((?:foot)?cite[a-z]?(?::[a-z:]+)?)\}`([^`]*)`")
_HTML = re.compile(r"<cite[ \t]+data-cite=\"([^\"]*)\"")
"""A citation in a notebook that nbconvert turns into LaTeX."""
_SENTENCE_END = re.compile(r"(?:[.!?,;:\u3002\uff01\uff1f\uff0c]+[\"'”’)\]}]*)?\s*$")
_VERBATIM = re.compile(r"\\(?:verb|lstinline)\*?([^A-Za-z0-9*\s{\[\\])[^\n]{0,500}?\1")
_MAX_VERBATIM = 600
_INVALID_IN_KEY = re.compile(r"[\s,{}\\\[\];\"]")

Edit = tuple[int, int, str]
"""Replace the text from the first offset to the second by the string."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Keys to cite at a place: that of a gap or a citation, of a sentence (the keys go to its end), or a point in the text."""

    place: Place
    keys: tuple[str, ...]


def with_citations(draft: Draft, choices: Iterable[Choice]) -> dict[str, str]:
    """The new text of each file of the draft that changes."""
    by_span = {(each.place.file, each.place.begin, each.place.end): each for each in draft.citations}
    edits: dict[str, list[Edit]] = {}
    for choice in choices:
        place, keys = choice.place, list(dict.fromkeys(choice.keys))
        if place.file not in draft.sources or not 0 <= place.begin <= place.end <= len(draft.sources[place.file]):
            name = place.file or "the draft"
            raise CitewellError(f"{name} has no position {place.begin}–{place.end}; read the draft again")
        if invalid := [key for key in keys if not key or _INVALID_IN_KEY.search(key)]:
            raise CitewellError(f"{invalid[0]!r} is not a valid citation key; remove spaces, commas, brackets and braces")
        if keys:
            citation = by_span.get((place.file, place.begin, place.end))
            edits.setdefault(place.file, []).append(_edit(draft, citation, place, keys))
    return {name: _edited(draft.sources[name], changes) for name, changes in edits.items()}


def enclosing_macro(draft: Draft, citation: Citation) -> str:
    """The name of the author's macro whose definition contains a gap; such a gap cannot be filled at the macro's call."""
    if draft.format != "latex" or not citation.is_gap or citation.note:
        return ""
    command = _COMMAND.match(draft.sources[citation.place.file], citation.place.begin, citation.place.end)
    if command is None:
        return ""
    arguments = _BRACES.findall(draft.sources[citation.place.file], command.end(), citation.place.end)
    if len(arguments) == 1 and asks_for_citation(arguments[0]):  # the author's own macro for notes
        return ""
    known = any(test(command[1]) for test in (tex_commands.is_citation, tex_commands.is_gap, tex_commands.is_note))
    return "" if known else command[1]


def _edited(text: str, edits: Sequence[Edit]) -> str:
    last = len(text) + 1
    for begin, end, new in sorted(edits, reverse=True):
        if end > last:
            raise CitewellError("two choices are for the same place; put all papers for one place into one choice")
        text = text[:begin] + new + text[end:]
        last = begin
    return text


def _edit(draft: Draft, citation: Citation | None, place: Place, keys: list[str]) -> Edit:
    source = draft.sources[place.file][place.begin : place.end]
    if citation is None:
        return _at_sentence_end(draft, place, keys)
    nested = citation.is_gap and _is_nested(draft, citation)
    match draft.format:
        case "latex":
            return place.begin, place.end, _latex(draft, citation, source, keys, nested)
        case "typst":
            return place.begin, place.end, typst_syntax.filled(citation, source, keys, _after(draft, place.end, place.file))
        case "org":
            return place.begin, place.end, org_syntax.filled(draft, citation, source, keys, nested)
        case "notebook":
            text, _ = notebook.decoded(source)
            begin, end, new = notebook.edited(source, _pandoc(draft, citation, text, keys, nested))
            return place.begin + begin, place.begin + end, new
    return place.begin, place.end, _pandoc(draft, citation, source, keys, nested)


def sentence_end(draft: Draft, place: Place) -> int:
    """The offset before the full stop of a sentence, or that of a point in the text."""
    source = draft.sources[place.file][place.begin : place.end]
    stop = _SENTENCE_END.search(source) if source else None
    at = place.begin + stop.start() if stop else place.end
    if draft.format == "latex":
        for verbatim in _VERBATIM.finditer(draft.sources[place.file], place.begin, at + _MAX_VERBATIM):
            if verbatim.start() >= at:
                break
            if at < verbatim.end():
                return verbatim.end()
    return at


def _at_sentence_end(draft: Draft, place: Place, keys: list[str]) -> Edit:
    """A citation before the full stop of a sentence, or at a point in the text."""
    at = sentence_end(draft, place)
    before = draft.sources[place.file][max(0, at - 1) : at]
    space = "" if not before or before.isspace() or before in "~(" else "~" if draft.format == "latex" else " "
    return at, at, space + _new_citation(draft, keys, _after(draft, at, place.file))


def _new_citation(draft: Draft, keys: list[str], after: str) -> str:
    """A citation where the source has none; `after` is the character that follows it."""
    match draft.format:
        case "latex":
            return _latex_citation(draft, keys)
        case "typst":
            return typst_syntax.new(keys, after)
        case "org":
            return org_syntax.new(draft, keys)
        case "notebook":
            return json.dumps(_markdown_citation(draft, keys), ensure_ascii=False)[1:-1]
    return _markdown_citation(draft, keys)


def _after(draft: Draft, at: int, file: str) -> str:
    return draft.sources[file][at : at + 1]


def _latex(draft: Draft, citation: Citation, source: str, keys: list[str], nested: bool) -> str:
    if nested:
        return ", ".join(keys)
    if macro := enclosing_macro(draft, citation):
        raise CitewellError(
            f"the gap in line {citation.place.line} comes from the macro \\{macro}; fill it in the definition of \\{macro}"
        )
    if _is_citation_command(_COMMAND.match(source)) and (braces := _key_braces(citation, source)):
        return source[: braces.start(1)] + _keys_in_braces(citation, braces[1], keys) + source[braces.end(1) :]
    return _latex_citation(draft, keys)


def _pandoc(draft: Draft, citation: Citation, source: str, keys: list[str], nested: bool) -> str:
    braces = _LAST_BRACES.search(source)
    if _is_citation_command(_COMMAND.match(source)) and braces:
        return source[: braces.start(1)] + _keys_in_braces(citation, braces[1], keys) + source[braces.end(1) :]
    if nested:
        return "; ".join(map(at_key, keys))
    if role := _MYST.fullmatch(source):
        return f"{{{role[1]}}}`{','.join([*filter(is_key, role[2].split(',')), *_new_keys(citation, keys)])}`"
    if html := _HTML.match(source):
        return source[: html.end(1)] + "".join(f",{key}" for key in _new_keys(citation, keys)) + source[html.end(1) :]
    is_group = source.startswith("[") and source.endswith("]")
    if citation.keys:
        added = "; ".join(map(at_key, _new_keys(citation, keys)))
        if not added:
            return source
        return f"{source[:-1]}; {added}]" if is_group else f"{source} [{added}]"
    if "@" in source and (placeholder := _AT.search(source)):
        first = "; ".join(map(at_key, keys)) if is_group else at_key(keys[0])
        others = f" {_pandoc_group(keys[1:])}" if not is_group and keys[1:] else ""
        return f"{source[: placeholder.start()]}{first}{others}{source[placeholder.end() :]}"
    return _markdown_citation(draft, keys)


def _is_citation_command(command: re.Match[str] | None) -> bool:
    return command is not None and tex_commands.is_citation(command[1]) and not tex_commands.is_gap(command[1])


def _key_braces(citation: Citation, source: str) -> re.Match[str] | None:
    """The braces that take the keys: the last pair, or for a gap the last pair without a key, as an author's macro may have."""
    empty = [braces for braces in _BRACES.finditer(source) if not any(map(is_key, braces[1].split(",")))]
    return empty[-1] if citation.is_gap and empty else _LAST_BRACES.search(source)


def _keys_in_braces(citation: Citation, inside: str, keys: list[str]) -> str:
    """The existing keys of a command, unchanged, and the new ones."""
    existing = [key for key in inside.split(",") if is_key(key)]
    if existing and len(existing) == len(inside.split(",")):
        return ", ".join([inside.rstrip(), *_new_keys(citation, keys)])
    return ", ".join([*(key.strip() for key in existing), *_new_keys(citation, keys)])


def _new_keys(citation: Citation, keys: list[str]) -> list[str]:
    return [key for key in keys if key not in citation.keys]


def _is_nested(draft: Draft, gap: Citation) -> bool:
    """Whether a gap is inside a citation, next to its keys, as in ``\\cite{one, ?}``."""
    place = gap.place
    return any(
        other.keys and other.place.file == place.file and other.place.begin < place.begin and place.end < other.place.end
        for other in draft.citations
    )


def _latex_citation(draft: Draft, keys: list[str]) -> str:
    """A citation by the command that the draft uses most often."""
    used = Counter[str]()
    for citation in draft.citations:
        place = citation.place
        command = _COMMAND.match(draft.sources[place.file], place.begin, place.end)
        if command is not None and _is_citation_command(command) and citation.keys:
            name = command[1]
            if not (tex_commands.is_textual(name) or "foot" in name or "full" in name or "year" in name or name.endswith("s")):
                used[name] += 1
    return f"\\{used.most_common(1)[0][0] if used else 'cite'}{{{', '.join(keys)}}}"


def _markdown_citation(draft: Draft, keys: Sequence[str]) -> str:
    """A citation in pandoc's syntax, or by the role of MyST that the draft uses most."""
    roles = Counter[str]()
    for citation in draft.citations:
        source = draft.sources[citation.place.file][citation.place.begin : citation.place.end]
        if citation.keys:
            role = _MYST.fullmatch(source)
            roles[role[1] if role else ""] += 1
    role_name = roles.most_common(1)[0][0] if roles else ""
    if not role_name:
        return _pandoc_group(keys)
    return f"{{{'cite:p' if role_name.endswith(':t') else role_name}}}`{','.join(keys)}`"


def _pandoc_group(keys: Sequence[str]) -> str:
    return f"[{'; '.join(map(at_key, keys))}]"
