"""How often a paper that a real manuscript cites is found again in a researcher's own library.

    python -m benchmarks.desk SAMPLES [--pipeline NAME] [--sample N] [--library DIR] [--json]

SAMPLES has the folders ``manuscripts``, ``libraries`` and ``bibtex``. All their ``.bib`` files make one library, which has no
citations and few abstracts. Each citation of a manuscript whose key is cited once becomes a gap, one at a time, and the cited
paper is looked for with the query that `citewell suggest` makes for that gap. Citations whose key is in no ``.bib`` file are
left out and counted.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.masking import MaskedCitation, mask_citations, read_manuscripts
from citewell import threads
from citewell.cli.progress import TerminalProgress
from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.vectors.status import default_vectors, encode_with_progress, follow
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.progress import Progress
from citewell.ranking.request import Request

_BIB_FOLDERS = ("libraries", "bibtex", "manuscripts")
_DEPTHS = (1, 10, 50)
_SEED = 0


@dataclass(frozen=True, slots=True)
class Row:
    """What one pipeline found of the masked citations of one manuscript."""

    manuscript: str
    pipeline: str
    masked: int
    unknown: int
    """Citations left out because no ``.bib`` file has their key."""
    repeated: int
    """Papers left out because the manuscript cites them more than once."""
    found_at_1: int
    found_at_10: int
    found_at_50: int


@dataclass(frozen=True, slots=True)
class Means:
    """The mean shares of a pipeline over the folders, so that several versions of one manuscript count as one."""

    pipeline: str
    folders: int
    found_at_1: float
    found_at_10: float
    found_at_50: float


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--pipeline", action="append", metavar="NAME", help="repeatable; default: best")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N citations of each manuscript, drawn with seed 0")
    parser.add_argument("--library", type=Path, metavar="DIR", help="keep the library here and reuse it")
    parser.add_argument("--json", action="store_true", dest="as_json")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary, TerminalProgress() as progress:
        try:
            library = Library(given.library or Path(temporary) / "library")
            pipelines = [pipeline(name) for name in given.pipeline or ["best"]]
            build_library(library, given.samples, pipelines, progress)
            rows = measure(library, given.samples / "manuscripts", pipelines, given.sample, progress)
        except CitewellError as error:
            sys.exit(f"benchmarks.desk: {error}")
    means = [folder_means(rows, each.name) for each in pipelines]
    rows += [overall(rows, each.name) for each in pipelines]
    if given.as_json:
        report = {"papers": len(library), "rows": [asdict(row) for row in rows], "means": [asdict(each) for each in means]}
        print(json.dumps(report, indent=2))
    else:
        print(f"{len(library):,} papers\n\n{table(rows, means)}")


def build_library(library: Library, samples: Path, pipelines: Sequence[Pipeline], progress: Progress) -> None:
    """Add every ``.bib`` file of the samples and compute the vectors, as `add` and `library encode` do."""
    files = [path for name in _BIB_FOLDERS for path in sorted((samples / name).rglob("*.bib"))]
    if not files:
        raise CitewellError(f"{samples} has no .bib file in {', '.join(_BIB_FOLDERS)}; name the folder with the samples")
    library.add(files, progress)
    for encoder, text in default_vectors():
        follow(library, encoder, text, progress)
        encode_with_progress(library, encoder, text, progress)
    for each in pipelines:
        each.prepare(library, progress=progress)


def measure(library: Library, folder: Path, pipelines: Sequence[Pipeline], sample: int | None, progress: Progress) -> list[Row]:
    """One row for each manuscript and pipeline."""
    manuscripts, problems = read_manuscripts(folder, library)
    for problem in problems:
        progress.message(f"left out: {problem}")
    rows = []
    for name, manuscript in manuscripts.items():
        masking = mask_citations(manuscript)
        masked = masking.masked
        if not masked and not masking.unknown:
            continue
        if sample is not None and sample < len(masked):
            masked = random.Random(f"{_SEED} {name}").sample(masked, sample)
        for each in pipelines:
            begun = time.monotonic()
            progress.start(f"{name} with {each.name}", len(masked), "citations")
            ranks = find_again(library, masked, each, progress)
            found = [sum(rank is not None and rank <= depth for rank in ranks) for depth in _DEPTHS]
            rows.append(Row(name, each.name, len(masked), masking.unknown, masking.repeated, *found))
            progress.message(f"{name}, {each.name}: {found[1]} of {len(masked)} in ten, {time.monotonic() - begun:.0f} s")
    return rows


@threads.one_blas_thread()
def find_again(library: Library, masked: Sequence[MaskedCitation], pipeline: Pipeline, progress: Progress) -> list[int | None]:
    """The rank of each masked paper, from 1; None where the pipeline does not find it."""
    ranks: list[int | None] = []
    for each in masked:
        papers = pipeline.rank(Request(LocalCollection(library), each.query)).papers.tolist()
        number = library.number(each.paper)
        ranks.append(papers.index(number) + 1 if number in papers else None)
        progress.advance()
    return ranks


def overall(rows: Sequence[Row], pipeline: str) -> Row:
    """The sum of a pipeline's rows."""
    counts = [_counts(row) for row in rows if row.pipeline == pipeline] or [(0,) * 6]
    return Row("all", pipeline, *map(sum, zip(*counts, strict=True)))


def folder_means(rows: Sequence[Row], pipeline: str) -> Means:
    """The mean over the folders of the share that a pipeline found."""
    folders: dict[str, list[Row]] = {}
    for row in rows:
        folders.setdefault(row.manuscript.partition("/")[0], []).append(row)
    sums = [each for each in (overall(inside, pipeline) for inside in folders.values()) if each.masked]
    found = [(each.found_at_1 / each.masked, each.found_at_10 / each.masked, each.found_at_50 / each.masked) for each in sums]
    means = [sum(shares) / len(sums) for shares in zip(*found, strict=True)] if sums else [0.0] * len(_DEPTHS)
    return Means(pipeline, len(sums), *means)


def _counts(row: Row) -> tuple[int, ...]:
    return row.masked, row.unknown, row.repeated, row.found_at_1, row.found_at_10, row.found_at_50


def table(rows: Sequence[Row], means: Sequence[Means]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| manuscript | pipeline | masked | in no .bib | first | in ten | in fifty |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        found = " | ".join(_share(count, row.masked) for count in (row.found_at_1, row.found_at_10, row.found_at_50))
        lines.append(f"| {row.manuscript} | {row.pipeline} | {row.masked} | {row.unknown} | {found} |")
    for mean in means:
        found = " | ".join(f"{share:.0%}" for share in (mean.found_at_1, mean.found_at_10, mean.found_at_50))
        lines.append(f"| mean of {mean.folders} folders | {mean.pipeline} | | | {found} |")
    return "\n".join(lines)


def _share(count: int, total: int) -> str:
    return f"{count} ({count / total:.0%})" if total else "0"


if __name__ == "__main__":
    main()
