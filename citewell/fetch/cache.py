"""Answers of services on disk: what was asked once is not asked again for a while, and a fetch that was killed goes on.

An answer is one file, named by what was asked (never by who asked: keys and e-mail addresses are no part of it), compressed,
and put in its place by a rename, so that a kill leaves whole answers only. What has grown too old is swept away.
"""

from __future__ import annotations

import gzip
import os
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

DAY = 24 * 3600.0


def cache_folder() -> Path:
    """``$CITEWELL_CACHE``, or the user's cache folder."""
    from platformdirs import user_cache_path

    given = os.environ.get("CITEWELL_CACHE")
    return (Path(given) if given else user_cache_path("citewell", appauthor=False)) / "fetched"


class Cache:
    """The answers of one service."""

    def __init__(self, folder: Path, max_age: float = 7 * DAY, refresh: bool = False) -> None:
        """`max_age` is in seconds; with `refresh` only answers that came in since now count."""
        self.folder = folder
        self._oldest = time.time() - max_age
        self._counts_from = self._oldest
        self.refreshing = False
        if refresh:
            self.refresh()
        folder.mkdir(parents=True, exist_ok=True)

    def refresh(self) -> None:
        """From now on, what came in before does not count."""
        self._counts_from, self.refreshing = time.time(), True

    def name(self, address: str, path: str, parameters: Mapping[str, str | int], content: object = None) -> str:
        """What an answer is kept under."""
        asked = msgspec.json.encode([address, path, sorted((key, str(value)) for key, value in parameters.items()), content])
        return blake2b(asked, digest_size=16).hexdigest()

    def get(self, name: str) -> bytes | None:
        """The answer, where there is one that is not too old."""
        file = self._file(name)
        try:
            if file.stat().st_mtime < self._counts_from:
                return None
            return gzip.decompress(file.read_bytes())
        except (OSError, EOFError, zlib.error):  # none there, or damaged by the disk: it is asked for again
            return None

    def put(self, name: str, body: bytes) -> None:
        file = self._file(name)
        draft = file.with_name(f"{file.name}.{os.getpid()}.tmp")
        draft.write_bytes(gzip.compress(body, 3))
        draft.replace(file)

    def sweep(self) -> int:
        """Remove what is too old, and what a killed process left half written; returns how many files."""
        swept = 0
        for file in [*self.folder.glob("*.gz"), *self.folder.glob("*.tmp")]:
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < (self._oldest if file.suffix == ".gz" else time.time() - DAY):
                    file.unlink()
                    swept += 1
        return swept

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.gz"
