"""Vectors of all sentences of a library, in one mapped file, computed again when papers or weights have changed.

The title of a paper counts as a sentence, as in the study, which splits documents of title and abstract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from citewell.arrays import map_arrays, write_arrays
from citewell.library.library import Library
from citewell.models import weights
from citewell.progress import SILENT, Progress
from citewell.types import Float32Array

FOLDER = "sentence-vectors"
_PAPERS_AT_ONCE = 200

Encode = Callable[[Sequence[str]], Float32Array]


class SentenceVectors(NamedTuple):
    """The vectors of titles and sentences, each by its paper."""

    papers: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.float16]


def make(library: Library, model: str, encode: Encode, progress: Progress = SILENT) -> None:
    """Compute the vectors of every sentence that the library has now, unless they exist."""
    path = path_of(library, model)
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    papers, vectors = zip(*_encoded(library, encode, progress), strict=True)
    write_arrays(path, {"papers": np.concatenate(papers), "vectors": np.concatenate(vectors)})
    for other in path.parent.glob(f"{model}.*.arrays"):
        if other != path:
            other.unlink()


def open_vectors(library: Library, model: str) -> SentenceVectors | None:
    """The sentence vectors of the library as it is now; None if they were not computed."""
    path = path_of(library, model)
    place = (path.name, FOLDER)
    if place not in library.index.opened_vectors and path.exists():
        library.index.opened_vectors[place] = SentenceVectors(**map_arrays(path, path.stat().st_size))
    vectors: SentenceVectors | None = library.index.opened_vectors.get(place)
    return vectors


def _encoded(
    library: Library, encode: Encode, progress: Progress
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float16]]]:
    listed = library.index.listed("own").tolist()
    progress.start("encoding sentences", len(listed), "papers")
    yield np.zeros(0, np.int64), encode([]).astype(np.float16)
    for start in range(0, len(listed), _PAPERS_AT_ONCE):
        nums = listed[start : start + _PAPERS_AT_ONCE]
        papers, sentences = library.store.papers(nums), library.store.quotable(nums)
        texts = {
            num: [*([papers[num].title] if num in papers else []), *(sentence.text for sentence in here)]
            for num, here in sentences.items()
        }
        owners = np.repeat(np.array(list(texts), np.int64), [len(here) for here in texts.values()])
        yield owners, encode([text for here in texts.values() for text in here]).astype(np.float16)
        progress.advance(len(nums))


def path_of(library: Library, model: str) -> Path:
    """The file of the vectors of a model. Files whose name lacks ``titles`` are of a version without titles."""
    return library.folder / FOLDER / f"{model}.titles.{weights.fingerprint(model)}.{library.index.generation}.arrays"
