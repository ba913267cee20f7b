"""Who wrote the papers of a pack, and when they were cited: what a re-ranker may know of them beside their text.

The file lies beside the pack and has a row for each of its papers: numbers of authors (hashed names, see
`citewell.models.enhanced_context.author_number`) and the years of the papers that cite it, ascending. Links to papers that
came later than the citing one are dropped, as everywhere.
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
from citewell.train.sidecars import PEOPLE, beside, word


def write(pack: Path, folders: Sequence[Path], people: int) -> Path:
    """Make the file of a pack from the sets that it was made of."""
    path = beside(pack, PEOPLE)
    save(collected(load(pack), folders, people), path)
    return path


def collected(arrays: Arrays, folders: Sequence[Path], people: int) -> Arrays:
    """The arrays: authors as numbers below `people`, and years of citing papers, both by the pack's papers."""
    authors: list[list[int]] = [[] for _ in arrays["paper_date"]]
    years: list[list[int]] = [[] for _ in arrays["paper_date"]]
    for place, name in enumerate(arrays["sets"].tolist()):
        dataset = next((found for folder in folders if (found := DataSet.open(folder)).name == name), None)
        if dataset is None:
            raise CitewellError(f"the pack was made of the set {name!r}, too; name its folder")
        _of_set(arrays, place, dataset, people, authors, years)
    return {
        "pack": np.array(word(arrays)),
        "people": np.array(people, np.int32),
        "author_at": np.cumsum([0, *map(len, authors)]),
        "authors": np.array([each for some in authors for each in some], np.int32),
        "cited_at": np.cumsum([0, *map(len, years)]),
        "cited_year": np.array([each for some in years for each in sorted(some)], np.int32),
    }


def _of_set(
    arrays: Arrays, place: int, dataset: DataSet, people: int, authors: list[list[int]], years: list[list[int]]
) -> None:
    rows = np.flatnonzero((arrays["paper_set"] == place) & (arrays["paper_sentence"] == 0)).tolist()
    papers = list(dataset.papers())
    dates = [when(paper) for paper in papers]
    if dates != arrays["paper_date"][rows].tolist():
        raise CitewellError(f"the pack was made of another {dataset.name} than that in {dataset.folder}; pack anew")
    number = {name: at for at, paper in enumerate(papers) for name in paper.ids}
    for at, paper in enumerate(papers):
        authors[rows[at]] = [found for name in paper.authors if (found := author_number(name, people))]
        cited = {number[name] for reference in paper.references for name in reference.ids if name in number} - {at}
        for other in cited:
            if dates[at] and goes_back(dates[at], dates[other]):
                years[rows[other]].append(dates[at] // 10_000)
