"""Results that are kept: a reproduced study that was interrupted continues with the rows that are not measured yet.

The key of a result is everything that determines it: the stages and their parameters, the fingerprints of weights and of the
library's models, the queries with their relevant papers, the rules, and the code. If any of these changes, so does the key, and
the result is measured again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from citewell import __version__
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.set_libraries import cache_folder
from citewell.files import write_atomically

_CODE = (
    *("collection", "library", "text", "sources", "ranking", "retrieve", "expand", "fuse", "rerank", "models", "pipeline"),
    *(f"evaluate/{name}.py" for name in ("by_date", "measures", "outcomes", "queries", "runner", "sentences")),
    *(f"evaluate/{name}.py" for name in ("set_libraries", "sets", "strict", "term_overlap")),
    *("papers.py", "kernels.py", "identifiers.py"),
)
"""The code that determines a ranking and its measures."""


class Value(msgspec.Struct, frozen=True):
    """The mean of a measure and its 95% interval."""

    mean: float | None
    """None where the measure applies to no query."""
    low: float | None = None
    high: float | None = None


class Result(msgspec.Struct, frozen=True):
    """The figures of one pipeline on the queries of one set, under one rule."""

    queries: int
    """How many queries ran."""
    values: dict[str, Value]
    """Measure to its value."""


def results_folder() -> Path:
    """The folder of the results, next to the libraries of sets."""
    return cache_folder().parent / "results"


class ResultsCache:
    """Results in a folder, one file for each."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or results_folder()

    def get(self, key: str, measures: Sequence[str]) -> Result | None:
        """The result with this key, if it has all these measures; a damaged file counts as none."""
        try:
            result = msgspec.json.decode((self._folder / f"{key}.json").read_bytes(), type=Result)
        except (OSError, msgspec.DecodeError):
            return None
        return result if set(measures) <= set(result.values) else None

    def put(self, key: str, result: Result) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._folder / f"{key}.json", msgspec.json.encode(result), durable=False)


def result_key(
    pipeline: str, weights: Mapping[str, str], models: Sequence[str], queries: str, rule: Sequence[object], seed: int
) -> str:
    """The key of a result: `pipeline` is the key of the stages, `queries` the fingerprint of the queries and their set."""
    parts = [pipeline, sorted(weights.items()), sorted(models), queries, [str(each) for each in rule], seed, _code()]
    return blake2b(msgspec.json.encode(parts), digest_size=12).hexdigest()


def queries_fingerprint(digest: str, queries: Sequence[JudgedQuery]) -> str:
    """Fingerprint of the queries with their relevant papers, and of the set (`digest`) that they run against."""
    state = blake2b(digest.encode(), digest_size=12)
    for judged in queries:
        state.update(repr((judged.id, judged.query, judged.relevant, judged.date, judged.sentences)).encode())
    return state.hexdigest()


@lru_cache(maxsize=1)
def _code() -> str:
    """Fingerprint of the code that makes results."""
    state = blake2b(__version__.encode(), digest_size=8)
    for name in _CODE:
        for path in _sources(files("citewell").joinpath(name)):
            state.update(path.read_bytes())
    return state.hexdigest()


def _sources(place: Traversable) -> list[Traversable]:
    """The Python files of a place, in order."""
    if place.is_file():
        return [place]
    below = sorted(place.iterdir(), key=lambda path: path.name)
    return [
        source
        for path in below
        if path.name != "__pycache__"
        for source in (_sources(path) if path.is_dir() else [path])
        if source.name.endswith(".py")
    ]
