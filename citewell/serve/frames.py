"""Messages between the server and its processes: a head in JSON and a body of bytes, each behind its length."""

from __future__ import annotations

import asyncio
import struct
from typing import BinaryIO

_LENGTHS = struct.Struct(">II")


def packed(head: bytes, body: bytes = b"") -> bytes:
    return _LENGTHS.pack(len(head), len(body)) + head + body


def read(stream: BinaryIO) -> tuple[bytes, bytes] | None:
    """The next message; None where the other side is gone."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, body = _LENGTHS.unpack(lengths)
    return stream.read(head), stream.read(body)


async def receive(stream: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next message; raises `asyncio.IncompleteReadError` where the other side is gone."""
    head, body = _LENGTHS.unpack(await stream.readexactly(_LENGTHS.size))
    return await stream.readexactly(head), await stream.readexactly(body)
