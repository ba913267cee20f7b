"""The authors and citation years of a pack's papers, for re-rankers that read more than text.

The sidecar file has one row per paper of the pack: its authors (hashed names, see
`citewell.models.enhanced_context.author_number`) and the years of the papers that cite it, ascending. Citations of papers newer
than the citing one are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import goes_back, when
from citewell.models.enhanced_context import author_number
from citewell.train.packs import Arrays, load, save
from citewell.train.sidecars import AUTHORS, pack_fingerprint, sidecar_path


def write(pack: Path, folders: Sequence[Path], table_size: int) -> Path:
    """Write the sidecar of a pack, from the sets that it was made of."""
    path = sidecar_path(pack, AUTHORS)
    save(collect(load(pack), folders, table_size), path)
    return path


def collect(arrays: Arrays, folders: Sequence[Path], table_size: int) -> Arrays:
    """The arrays: hashed authors below `table_size`, and the years of citing papers, by paper."""
    authors: list[list[int]] = [[] for _ in arrays["paper_date"]]
    years: list[list[int]] = [[] for _ in arrays["paper_date"]]
    for place, name in enumerate(arrays["sets"].tolist()):
        dataset = next((opened for folder in folders if (opened := DataSet.open(folder)).name == name), None)
        if dataset is None:
            raise CitewellError(f"the pack also contains the set {name!r}; name its folder too")
        _collect_set(arrays, place, dataset, table_size, authors, years)
    return {
        "pack": np.array(pack_fingerprint(arrays)),
        "people": np.array(table_size, np.int32),
        "author_at": np.cumsum([0, *map(len, authors)]),
        "authors": np.array([item for group in authors for item in group], np.int32),
        "cited_at": np.cumsum([0, *map(len, years)]),
        "cited_year": np.array([item for group in years for item in sorted(group)], np.int32),
    }


def _collect_set(
    arrays: Arrays, place: int, dataset: DataSet, table_size: int, authors: list[list[int]], years: list[list[int]]
) -> None:
    rows = np.flatnonzero((arrays["paper_set"] == place) & (arrays["paper_sentence"] == 0)).tolist()
    papers = list(dataset.papers())
    dates = [when(paper) for paper in papers]
    if dates != arrays["paper_date"][rows].tolist():
        raise CitewellError(f"the pack was made from a different version of {dataset.name} than {dataset.folder}; pack again")
    number = {name: at for at, paper in enumerate(papers) for name in paper.ids}
    for at, paper in enumerate(papers):
        authors[rows[at]] = [
            number_of_author for name in paper.authors if (number_of_author := author_number(str(name), table_size))
        ]
        cited = {number[name] for reference in paper.references for name in reference.ids if name in number} - {at}
        for other in cited:
            if dates[at] and goes_back(dates[at], dates[other]):
                years[rows[other]].append(dates[at] // 10_000)
