"""Answers of services, cached on disk, so that requests are not repeated and an interrupted fetch can resume.

Each answer is one compressed file, named by a hash of the request (keys and e-mail addresses are not part of it) and written
atomically. Files that are too old are removed.
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

from citewell.files import write_atomically

DAY = 24 * 3600.0


def cache_folder() -> Path:
    """``$CITEWELL_CACHE``, or the user's cache folder."""
    from platformdirs import user_cache_path

    folder = os.environ.get("CITEWELL_CACHE")
    return (Path(folder) if folder else user_cache_path("citewell", appauthor=False)) / "fetched"


class Cache:
    """The cached answers of one service."""

    def __init__(self, folder: Path, max_age: float = 7 * DAY, refresh: bool = False) -> None:
        """`max_age` is in seconds; with `refresh`, answers from before now are ignored."""
        self.folder = folder
        self._oldest = time.time() - max_age
        self._valid_since = self._oldest
        self.refreshing = False
        if refresh:
            self.refresh()
        folder.mkdir(0o700, parents=True, exist_ok=True)

    def refresh(self) -> None:
        """Ignore all answers from before now."""
        self._valid_since, self.refreshing = time.time(), True

    def name(self, address: str, path: str, parameters: Mapping[str, str | int], content: object = None) -> str:
        """The name under which the answer to a request is stored."""
        request = msgspec.json.encode([address, path, sorted((key, str(value)) for key, value in parameters.items()), content])
        return blake2b(request, digest_size=16).hexdigest()

    def get(self, name: str) -> bytes | None:
        """The stored answer, or None if there is none or it is too old."""
        file = self._file(name)
        try:
            if file.stat().st_mtime < self._valid_since:
                return None
            return gzip.decompress(file.read_bytes())
        except (OSError, EOFError, zlib.error):  # not there, or damaged: it is requested again
            return None

    def put(self, name: str, body: bytes) -> None:
        with suppress(FileNotFoundError):  # another fetch stored the same answer at the same moment
            write_atomically(self._file(name), gzip.compress(body, 3), durable=False)

    def sweep(self) -> int:
        """Remove answers that are too old and files that a killed process left incomplete; returns their number."""
        removed = 0
        for file in [*self.folder.glob("*.gz"), *self.folder.glob("*.part")]:
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < (self._oldest if file.suffix == ".gz" else time.time() - DAY):
                    file.unlink()
                    removed += 1
        return removed

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.gz"
