"""Hashes that are the same in every process."""

from __future__ import annotations

from hashlib import blake2b


def hash64(*parts: str) -> int:
    """A signed 64-bit number for some text, the same in every process; fits a SQLite integer."""
    return int.from_bytes(blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True)
