"""Damaged files: a good file goes in, one that is nearly the same comes out.

The edits and the tokens are those of the fuzz tests in ``tests/sources``; `mutated` draws them with a seeded generator, so that
a case of a campaign can be made again from its seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable

Edit = Callable[[bytes], bytes]

TOKENS = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xc3",
    b"\r",
    b"\n\n",
    b"\x1a",
    b"<",
    b">",
    b"</",
    b"/>",
    b"&",
    b"&amp",
    b"&#0;",
    b"&#x110000;",
    b"&nosuch;",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"-->",
    b"<?x ?>",
    b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b'\\"',
    b"\\u",
    b"\\ud800",
    b"\\",
    b",",
    b":",
    b"null",
    b"NaN",
    b"1e999",
    b"9" * 400,
    b"-1",
    b"true",
    b'"a":',
    b"@article{",
    b"@string{",
    b"#",
    b"$",
    b"=",
    b"%",
    b"TY  - JOUR\n",
    b"ER  - \n",
    b"[" * 2000,
    b"{" * 2000,
    b"<a>" * 400,
)
"""Pieces that mean something to one parser or another."""


def mutated(seed: bytes, chance: random.Random) -> bytes:
    """A file that is nearly `seed`; one in six shares little or nothing with it."""
    match chance.randrange(12):
        case 0:
            return seed[: chance.randint(0, len(seed))]
        case 1:
            return b"".join(chance.choices(TOKENS, k=chance.randint(0, 12)))
        case _:
            for _ in range(chance.randint(1, 6)):
                seed = _drawn_edit(len(seed), chance)(seed)
            return seed


def _drawn_edit(size: int, chance: random.Random) -> Edit:
    at, length = chance.randint(0, size), chance.randint(1, 200)
    match chance.randrange(7):
        case 0:
            return flip(at, chance.randint(1, 255))
        case 1:
            return insert(at, chance.choice(TOKENS))
        case 2:
            return overwrite(at, chance.choice(TOKENS))
        case 3:
            return remove(at, length)
        case 4:
            return repeat(at, length, chance.randint(1, 5))
        case 5:
            return move(at, length, chance.randint(0, size))
        case _:
            return insert(at, _any_text(chance).encode("utf-8", "surrogatepass"))


def _any_text(chance: random.Random) -> str:
    """A few characters from all of Unicode, surrogates included."""
    highest = chance.choice((0x7F, 0x7FF, 0xFFFF, 0x10FFFF))
    return "".join(chr(chance.randint(0, highest)) for _ in range(chance.randint(1, 20)))


def flip(at: int, bits: int) -> Edit:
    """Flip bits of one byte."""

    def edit(data: bytes) -> bytes:
        if not data:
            return data
        here = at % len(data)
        return data[:here] + bytes([data[here] ^ bits]) + data[here + 1 :]

    return edit


def insert(at: int, token: bytes) -> Edit:
    """Insert a token."""
    return lambda data: data[:at] + token + data[at:]


def overwrite(at: int, token: bytes) -> Edit:
    """Write a token over what is there."""
    return lambda data: data[:at] + token + data[at + len(token) :]


def remove(at: int, length: int) -> Edit:
    """Take a piece out."""
    return lambda data: data[:at] + data[at + length :]


def repeat(at: int, length: int, times: int) -> Edit:
    """Put copies of a piece before it."""
    return lambda data: data[:at] + data[at : at + length] * times + data[at:]


def move(at: int, length: int, to: int) -> Edit:
    """Move a piece."""

    def edit(data: bytes) -> bytes:
        piece = data[at : at + length]
        rest = data[:at] + data[at + length :]
        return rest[:to] + piece + rest[to:]

    return edit
