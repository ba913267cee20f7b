"""Runs and qrels in the TREC formats, so that other systems can be scored here, and ours elsewhere.

Ids are those of the set. White space, which the formats cannot represent, and the percent sign are percent-encoded. A file
whose name ends in ``.gz`` is compressed.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO, cast
from urllib.parse import quote, unquote

import numpy as np

from citewell.errors import CitewellError
from citewell.types import Float32Array

_SPECIAL = re.compile(r"[\s%]")


def strictly_falling(scores: Float32Array) -> Float32Array:
    """The scores of a ranking without ties: an equal score becomes the next lower number in single precision.

    trec_eval breaks ties by id, which would change the order of a ranking.
    """
    if len(scores) < 2 or bool((scores[1:] < scores[:-1]).all()):
        return scores
    falling = scores.copy()
    for at in range(1, len(falling)):
        if not falling[at] < falling[at - 1]:
            falling[at] = np.nextafter(falling[at - 1], np.float32(-np.inf))
    return falling


def write_run(stream: TextIO, tag: str, run: Mapping[str, Mapping[str, float]]) -> None:
    """Append rankings, best first, to a run file."""
    for query, ranking in run.items():
        query_id = quoted(query)
        stream.writelines(
            f"{query_id} Q0 {quoted(paper)} {rank} {score:.9g} {tag}\n"
            for rank, (paper, score) in enumerate(ranking.items(), 1)
        )


def write_qrels(stream: TextIO, relevant: Mapping[str, Sequence[str]]) -> None:
    """Append judgements to a qrels file."""
    for query, papers in relevant.items():
        stream.writelines(f"{quoted(query)} 0 {quoted(paper)} 1\n" for paper in papers)


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """A run as trec_eval reads it: by descending score, equal scores by descending id; the ranks in the file do not count."""
    rows: dict[str, dict[str, float]] = {}
    for number, fields in _rows(path):
        try:
            query, _, paper, _, score, _ = fields
            rows.setdefault(unquoted(query), {})[unquoted(paper)] = float(np.float32(score))
        except ValueError:
            raise CitewellError(f"{path}, line {number}: a run has six fields: query Q0 paper rank score tag") from None
    if not rows:
        raise CitewellError(f"{path} is an empty run")
    return {query: _ordered(papers) for query, papers in rows.items()}


def read_qrels(path: Path) -> dict[str, list[str]]:
    """The relevant papers of each query."""
    relevant: dict[str, list[str]] = {}
    for number, fields in _rows(path):
        try:
            query, _, paper, grade = fields
            if int(grade) > 0:
                relevant.setdefault(unquoted(query), []).append(unquoted(paper))
        except ValueError:
            raise CitewellError(f"{path}, line {number}: qrels have four fields: query 0 paper grade") from None
    return relevant


def opened(path: Path, mode: str = "wt") -> TextIO:
    return cast(TextIO, gzip.open(path, mode, encoding="utf-8") if path.suffix == ".gz" else path.open(mode, encoding="utf-8"))


def quoted(name: str) -> str:
    return _SPECIAL.sub(lambda match: quote(match.group()), name)


def unquoted(name: str) -> str:
    return unquote(name) if "%" in name else name


def _ordered(papers: dict[str, float]) -> dict[str, float]:
    names = sorted(papers, reverse=True)
    names.sort(key=lambda name: -papers[name])
    scores = strictly_falling(np.array([papers[name] for name in names], np.float32))
    return dict(zip(names, scores.tolist(), strict=True))


def _rows(path: Path) -> Iterable[tuple[int, list[str]]]:
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream = gzip.GzipFile(fileobj=raw) if zipped else raw
            for number, line in enumerate(io.TextIOWrapper(cast(io.BufferedReader, stream), "utf-8"), 1):
                if fields := line.split():
                    yield number, fields
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise CitewellError(f"{path} cannot be read as a TREC file: {error}") from None
