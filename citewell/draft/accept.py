"""Putting citations into the text of a draft: at a gap, beside those that stand there, or behind a sentence.

Pure functions on text, so that a person can look at the difference before a file is written. What stands at a gap says how:
``\\citep[see][]{}`` gets its keys and keeps the rest, ``[see @?, p. 3]`` likewise, and a ``[?]`` or a ``\\todo`` gives way to a
citation in the words that the draft uses elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citewell.draft import tex_commands
from citewell.draft.gaps import is_key
from citewell.draft.markdown import at_key
from citewell.errors import CitewellError
from citewell.papers import Draft, Place, Slot

_COMMAND = re.compile(r"\\([A-Za-z@]+)\*?")
_LAST_BRACES = re.compile(r"\{([^{}]*)\}\s*$")
_BRACES = re.compile(r"\{([^{}]*)\}")
_AT = re.compile(r"-?@(?:\{[^{}]*\}|\?+|\w[\w:.#$%&+<>~/-]*|(?=[\];,]|$))")
_STOP = re.compile(r"(?:[.!?,;:\u3002\uff01\uff1f\uff0c]+[\"'”’)\]}]*)?\s*$")
_NOT_IN_TEXT = re.compile(r"[\s,{}\\\[\];]")


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be cited at a place: that of a slot, a sentence to cite behind, or a mere point in the text."""

    place: Place
    keys: tuple[str, ...]


def accepted(draft: Draft, choices: Iterable[Choice]) -> dict[str, str]:
    """The new text of each file of the draft that changes."""
    slots = {(slot.place.file, slot.place.begin, slot.place.end): slot for slot in draft.slots}
    edits: dict[str, list[tuple[int, int, str]]] = {}
    for choice in choices:
        place, keys = choice.place, list(dict.fromkeys(choice.keys))
        if place.file not in draft.sources or not 0 <= place.begin <= place.end <= len(draft.sources[place.file]):
            raise CitewellError(f"there is no place {place.begin}–{place.end} in {place.file or 'the draft'}; read it anew")
        if bad := [key for key in keys if not key or _NOT_IN_TEXT.search(key)]:
            raise CitewellError(f"{bad[0]!r} cannot be a citation key; give it one without spaces, commas and braces")
        if keys:
            edits.setdefault(place.file, []).append(_edit(draft, slots.get((place.file, place.begin, place.end)), place, keys))
    return {name: _edited(draft.sources[name], found) for name, found in edits.items()}


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """`text` with each stretch replaced; of two that overlap the inner one comes first, and the outer is refused."""
    last = len(text) + 1
    for begin, end, new in sorted(edits, reverse=True):
        if end > last:
            raise CitewellError("two choices are for the same place; give all papers of a place in one")
        text = text[:begin] + new + text[end:]
        last = begin
    return text


def _edit(draft: Draft, slot: Slot | None, place: Place, keys: list[str]) -> tuple[int, int, str]:
    """What to replace by what."""
    written = draft.sources[place.file][place.begin : place.end]
    if slot is None:
        return _behind(draft, place, written, keys)
    beside = slot.gap and _is_nested(draft, slot)
    new = _latex(draft, slot, written, keys, beside) if draft.form == "latex" else _pandoc(slot, written, keys, beside)
    return place.begin, place.end, new


def _behind(draft: Draft, place: Place, written: str, keys: list[str]) -> tuple[int, int, str]:
    """A citation behind a sentence, before its full stop, or at a point in the text."""
    at = place.end
    if written and (stop := _STOP.search(written)):
        at = place.begin + stop.start()
    before = draft.sources[place.file][max(0, at - 1) : at]
    apart = "" if not before or before.isspace() or before in "~(" else "~" if draft.form == "latex" else " "
    new = _command(draft, keys) if draft.form == "latex" else _group(keys)
    return at, at, apart + new


def _latex(draft: Draft, slot: Slot, written: str, keys: list[str], beside: bool) -> str:
    if beside:
        return ", ".join(keys)
    command = _COMMAND.match(written)
    if macro := macro_of(draft, slot):
        raise CitewellError(f"the gap in line {slot.place.line} stands in the macro \\{macro}; fill it where that is defined")
    cites = command and tex_commands.cites(command[1]) and not tex_commands.is_gap(command[1])
    if cites and (braces := _for_keys(slot, written)):
        return written[: braces.start(1)] + _in_braces(slot, braces[1], keys) + written[braces.end(1) :]
    return _command(draft, keys)


def _for_keys(slot: Slot, written: str) -> re.Match[str] | None:
    """The braces of a command that its keys belong in: the last, but where a macro of one's own has an empty one before."""
    empty = [found for found in _BRACES.finditer(written) if not any(map(is_key, found[1].split(",")))]
    return empty[-1] if slot.gap and empty else _LAST_BRACES.search(written)


def macro_of(draft: Draft, slot: Slot) -> str:
    """The macro of the author's own in whose definition a gap stands, which cannot be filled where the macro is called."""
    if draft.form != "latex" or not slot.gap or slot.note:
        return ""
    command = _COMMAND.match(draft.sources[slot.place.file], slot.place.begin, slot.place.end)
    known = command is None or any(said(command[1]) for said in (tex_commands.cites, tex_commands.is_gap, tex_commands.is_note))
    return "" if known or command is None else command[1]


def _pandoc(slot: Slot, written: str, keys: list[str], beside: bool) -> str:
    command, braces = _COMMAND.match(written), _LAST_BRACES.search(written)
    if command and braces and tex_commands.cites(command[1]) and not tex_commands.is_gap(command[1]):
        return written[: braces.start(1)] + _in_braces(slot, braces[1], keys) + written[braces.end(1) :]
    if beside:
        return "; ".join(map(at_key, keys))
    group = written.startswith("[") and written.endswith("]")
    if slot.keys:
        fresh = "; ".join(map(at_key, _new(slot, keys)))
        if not fresh:
            return written
        return f"{written[:-1]}; {fresh}]" if group else f"{written} [{fresh}]"
    if "@" in written and (placeholder := _AT.search(written)):
        found = "; ".join(map(at_key, keys)) if group else at_key(keys[0])
        further = f" {_group(keys[1:])}" if not group and keys[1:] else ""
        return f"{written[: placeholder.start()]}{found}{further}{written[placeholder.end() :]}"
    return _group(keys)


def _in_braces(slot: Slot, inside: str, keys: list[str]) -> str:
    """The keys of a command and the new ones; those that stand there stay as they are written."""
    there = [key for key in inside.split(",") if is_key(key)]
    if there and len(there) == len(inside.split(",")):
        return ", ".join([inside.rstrip(), *_new(slot, keys)])
    return ", ".join([*(key.strip() for key in there), *_new(slot, keys)])


def _new(slot: Slot, keys: list[str]) -> list[str]:
    return [key for key in keys if key not in slot.keys]


def _is_nested(draft: Draft, slot: Slot) -> bool:
    """Whether a gap stands inside a citation, beside its keys."""
    place = slot.place
    return any(
        other.keys and other.place.file == place.file and other.place.begin < place.begin and place.end < other.place.end
        for other in draft.slots
    )


def _command(draft: Draft, keys: list[str]) -> str:
    """A citation by the command that the draft cites with most often."""
    used = Counter[str]()
    for slot in draft.slots:
        place = slot.place
        command = _COMMAND.match(draft.sources[place.file], place.begin, place.end)
        if command and tex_commands.cites(command[1]) and not tex_commands.is_gap(command[1]) and slot.keys:
            name = command[1]
            if not (tex_commands.is_textual(name) or "foot" in name or "full" in name or "year" in name or name.endswith("s")):
                used[name] += 1
    return f"\\{used.most_common(1)[0][0] if used else 'cite'}{{{', '.join(keys)}}}"


def _group(keys: Sequence[str]) -> str:
    return f"[{'; '.join(map(at_key, keys))}]"
