"""Atomic writes: complete files, also with several writers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewell.files import replaced, write_atomically


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    with pytest.raises(ValueError, match="stop"), replaced(path) as temporary:
        temporary.write_bytes(b"half")
        raise ValueError("stop")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_writers_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([letter]) * 100_000 for letter in b"abcd"]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda content: write_atomically(path, content, durable=False), contents * 20))
    assert path.read_bytes() in contents and list(tmp_path.iterdir()) == [path]
