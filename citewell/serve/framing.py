"""The wire format between the server and its processes: a JSON head and a binary body, preceded by their lengths."""

from __future__ import annotations

import asyncio
import struct
from typing import BinaryIO

_LENGTHS = struct.Struct(">II")


def encode(head: bytes, body: bytes = b"") -> bytes:
    """One message."""
    return _LENGTHS.pack(len(head), len(body)) + head + body


def read(stream: BinaryIO) -> tuple[bytes, bytes] | None:
    """The next message; None if the other side has closed the stream."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, body = _LENGTHS.unpack(lengths)
    return stream.read(head), stream.read(body)


async def receive(stream: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next message; raises `asyncio.IncompleteReadError` if the other side has closed the stream."""
    head, body = _LENGTHS.unpack(await stream.readexactly(_LENGTHS.size))
    return await stream.readexactly(head), await stream.readexactly(body)
