"""Damaged files for the readers: a good file goes in, mutations of it come out.

`mutations` is a hypothesis strategy over bytes that flips, cuts, doubles and splices a seed or replaces it by noise, and
`survives` states what every reader promises about such a file: records or an `InputError`, nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from benchmarks.mutations import TOKENS, Edit, flip, insert, move, overwrite, remove, repeat
from citewell.papers import Context, Paper, Problem, Remainder
from citewell.sources import InputError, Reader, Source

EXAMPLES = int(os.environ.get("CITEWELL_FUZZ", "200"))

fuzz = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
"""Decorates a fuzz test; the environment variable CITEWELL_FUZZ says how many examples it tries."""


def mutations(seed: bytes) -> st.SearchStrategy[bytes]:
    """Files that are nearly `seed`, with some that share nothing with it."""
    edits = st.lists(_edit(len(seed)), min_size=1, max_size=6)
    return st.one_of(
        edits.map(lambda chosen: _apply(seed, chosen)),
        edits.map(lambda chosen: _apply(seed, chosen)),
        edits.map(lambda chosen: _apply(seed, chosen)),
        st.integers(0, len(seed)).map(lambda end: seed[:end]),
        st.lists(st.sampled_from(TOKENS), max_size=12).map(b"".join),
        st.binary(max_size=400),
        st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    )


def survives(reader: Reader, data: bytes, folder: Path) -> list[Paper | Context | Problem]:
    """What `reader` makes of `data`; anything raised except an `InputError` is a bug and passes through."""
    path = folder / "fuzzed"
    path.write_bytes(data)
    reader.matches(data[: 64 * 1024])
    taken: list[Paper | Context | Problem] = []
    try:
        with Source(path) as source:
            for record in _reading(reader, source):
                assert isinstance(record, Paper | Context | Problem)
                if isinstance(record, Problem):
                    assert record.reason
                taken.append(record)
    except InputError as error:
        assert str(error)
    return taken


def _reading(reader: Reader, source: Source) -> Iterator[Paper | Context | Problem]:
    yield from (record for record in reader.read(source) if not isinstance(record, Remainder))


def _apply(seed: bytes, edits: list[Edit]) -> bytes:
    for edit in edits:
        seed = edit(seed)
    return seed


def _edit(size: int) -> st.SearchStrategy[Edit]:
    """One change at a place of the file; places beyond its end wrap around."""
    at = st.integers(0, max(0, size))
    length = st.integers(1, 200)
    return st.one_of(
        st.builds(flip, at, st.integers(1, 255)),
        st.builds(insert, at, st.sampled_from(TOKENS)),
        st.builds(overwrite, at, st.sampled_from(TOKENS)),
        st.builds(remove, at, length),
        st.builds(repeat, at, length, st.integers(1, 5)),
        st.builds(move, at, length, at),
        st.builds(insert, at, st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass"))),
    )
